"""The agent's tools, one module each. Start at `base`; `catalog.default_tools()` is the list."""

__all__: list[str] = []
