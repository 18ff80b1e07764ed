"""The context engine: what leaves the window, what stays, and how a person can check and undo it.

Layer 1 (`spill`) moves big results and inputs to files before they are first sent. Layer 2
(`compactor`) puts a summary in the place of old messages. Everything that decides is pure; `limits`
has the numbers.
"""

__all__: list[str] = []
