"""Sessions, append-only JSONL: `records` is the format, `log` writes, `replay` reads."""

__all__: list[str] = []
