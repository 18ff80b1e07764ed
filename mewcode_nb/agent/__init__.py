"""The engine. Start at `loop`: `Agent.run()` turns one prompt into a stream of events."""

__all__: list[str] = []
