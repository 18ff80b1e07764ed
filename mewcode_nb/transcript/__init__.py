"""A session as a document to read, to share and to load again."""

__all__: list[str] = []
