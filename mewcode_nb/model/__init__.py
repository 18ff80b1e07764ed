"""The way to the model. Start at `protocol`; `client` is the only module that imports the SDK."""

__all__: list[str] = []
