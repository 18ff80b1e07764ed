"""Everything drawn for a person: cards, buttons and inert Markdown. No engine logic here."""

__all__: list[str] = []
