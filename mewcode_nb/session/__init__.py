"""Sessions: append-only JSONL files. Start at `records` (the format), then `log` (writing), `replay`."""

__all__: list[str] = []
