"""The line under a stored answer, with a button that runs the cell again.

Imported only when one is about to be shown, since it needs anywidget. A message from the page
counts when it names the line's nonce, which only this line's own view was given.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import traitlets

from mewcode_nb.widgets.live import LiveWidget, live_script

__all__ = ["AgainLine", "AgainMessage", "parse_message"]

AgainMessage: TypeAlias = Literal["rendered", "again"]


def parse_message(content: object, *, nonce: str) -> AgainMessage | None:
    """What the page said, or None for anything that this line's own button could not have sent."""
    if not isinstance(content, dict) or content.get("nonce") != nonce:
        return None
    match content.get("kind"):
        case "rendered":
            return "rendered"
        case "again":
            return "again"
        case _:
            return None


class AgainLine(LiveWidget):
    """The line on the page; `on_message` may be called on any thread."""

    _esm = live_script("again.js")
    _css = Path(__file__).parent / "static" / "again.css"
    view = traitlets.Dict().tag(sync=True)

    def __init__(self, on_message: Callable[[AgainMessage], None], **view: str) -> None:
        """`view` has `nonce`, `text`, and the button's `label` and `hint`."""
        self._nonce = view["nonce"]
        self._on_message = on_message
        super().__init__(view=view)
        self.on_msg(self._receive)

    def refuse(self, reason: str) -> None:
        """Tell the page why nothing was run; the button can be pressed again."""
        self.send({"kind": "refused", "text": reason})
        self.unpin()

    def _receive(self, widget: object, content: object, buffers: object) -> None:
        message = parse_message(content, nonce=self._nonce)
        if message is not None and not self.settled:
            self._on_message(message)
