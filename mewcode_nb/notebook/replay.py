"""Shows a cell's stored answer in place of a turn: nothing is sent, and nothing is held for it.

Where clicks work, the line that says so has a button to run the cell again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mewcode_nb.notebook.locate import runs_one_prompt
from mewcode_nb.notebook.recorded import offer_recorded
from mewcode_nb.notebook.replay_card import replay_bundles, stored_line
from mewcode_nb.notebook.stored import Asked, Stored, turn_result
from mewcode_nb.notebook.surroundings import choose_route, surroundings
from mewcode_nb.session.replayed import note_replay
from mewcode_nb.widgets import cards
from mewcode_nb.widgets.words import choose_language

if TYPE_CHECKING:
    from mewcode_nb.events import TurnResult
    from mewcode_nb.notebook.options import TurnOptions
    from mewcode_nb.notebook.rerun import Plan
    from mewcode_nb.notebook.runtime import Runtime

__all__ = ["show_stored"]


async def show_stored(
    runtime: Runtime, plan: Plan, prompt: str, options: TurnOptions, *, clicks: bool
) -> TurnResult:
    """Show the stored turn, then offer to run its code again where variables are missing.

    Raises:
        Interrupted: the user stopped the question or the code; the answer is shown already.
    """
    stored = plan.replay
    assert stored is not None
    settings = runtime.project().settings
    language = choose_language(settings.language, runtime.environ, prompt)
    publish = runtime.shell.display_pub.publish
    for notice in plan.notices:
        words = f"{notice.text} — {notice.remedy}" if notice.remedy else notice.text
        publish(cards.line(words, tone="quiet" if notice.level == "info" else notice.level))
    for bundle in replay_bundles(stored, language):
        publish(bundle)
    asked = Asked(prompt, options, language, clicks)
    _show_line(runtime, stored, asked)
    if stored.folder is not None:
        note_replay(stored.folder, time.time())
    result = turn_result(stored.turn, stored.session)
    if runtime.conversation is None:
        runtime.last = result
    await offer_recorded(runtime, stored, asked)
    return result


def _show_line(runtime: Runtime, stored: Stored, asked: Asked) -> None:
    line = stored_line(stored, asked.language, time.time())
    if not _has_button(runtime, asked):
        runtime.shell.display_pub.publish(cards.line(line, tone="quiet"))
        return
    from mewcode_nb.notebook.again import show_line

    show_line(runtime, stored, asked, line)


def _has_button(runtime: Runtime, asked: Asked) -> bool:
    """Whether a click would be heard, and would run nothing but this prompt again."""
    way = choose_route(surroundings(runtime.shell), runtime.project().settings.approval)
    return asked.clicks and way == "buttons" and runs_one_prompt(runtime.shell)
