"""Shows a cell's stored answer in place of a turn: nothing is sent, and nothing is held for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mewcode_nb.notebook.recorded import offer_recorded
from mewcode_nb.notebook.replay_card import replay_bundles
from mewcode_nb.notebook.stored import turn_result
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
    for bundle in replay_bundles(stored, language, time.time()):
        publish(bundle)
    result = turn_result(stored.turn, stored.session)
    if runtime.conversation is None:
        runtime.last = result
    await offer_recorded(runtime, stored, options, prompt=prompt, language=language, clicks=clicks)
    return result
