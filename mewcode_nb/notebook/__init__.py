"""The front end inside a kernel. Start at `extension` (what loading does), then `magics`, `runtime`."""

__all__: list[str] = []
