"""The front end inside a kernel. Start at `extension` (loading), then `magics` and `runtime`."""

__all__: list[str] = []
