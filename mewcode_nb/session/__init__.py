"""Sessions, append-only JSONL: `records` is the format, `log` writes, `load` reads."""

__all__: list[str] = []
