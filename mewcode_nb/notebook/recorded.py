"""Variables that a replayed answer made and this kernel lacks, and their code run again.

The recorded code is put as one question, judged by the mode like any call, and nothing of it is
sent to the model. It runs piece by piece in the user's namespace and stops at the first failure.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from mewcode_nb.agent.approval import Mode, judge
from mewcode_nb.errors import Interrupted
from mewcode_nb.events import Decision, Effect, Proposal
from mewcode_nb.messages import Json, ToolUseBlock, tool_result
from mewcode_nb.messages import block_text as words_of
from mewcode_nb.notebook.approver import Grants, choose_approver
from mewcode_nb.notebook.parts import LiveRedactor
from mewcode_nb.notebook.replay_card import call_title
from mewcode_nb.notebook.session_words import SessionWords
from mewcode_nb.notebook.stored import Asked, Stored, names_made, recorded_calls
from mewcode_nb.widgets import cards
from mewcode_nb.widgets.cards import Bundle
from mewcode_nb.widgets.words import Words

if TYPE_CHECKING:
    from mewcode_nb.notebook.runtime import Runtime
    from mewcode_nb.tools.base import ToolResult

__all__ = ["offer_recorded", "recorded_proposal"]

_NAMES_SHOWN = 20
_DISPLAY_LIMIT = 5_000_000
"""Characters of one rich output that the code may add to the notebook."""


async def offer_recorded(runtime: Runtime, stored: Stored, asked: Asked) -> None:
    """Say which variables are missing, ask once, and run the code where that is allowed.

    Raises:
        Interrupted: the user stopped it, while asked or while the code ran.
    """
    missing = [name for name in names_made(stored) if name not in runtime.shell.user_ns]
    if not missing:
        return
    said, shown = SessionWords(asked.language), _listed(missing)
    _show(runtime, cards.line(said("missing", names=shown), tone="warning"))
    calls = recorded_calls(stored)
    if not calls:
        _show(runtime, cards.line(said("missing_unknown"), tone="warning"))
        return
    proposal = recorded_proposal(stored, calls, shown, said)
    display = secrets.token_hex(16)
    _show(runtime, cards.line(proposal.title, tone="quiet"), display)
    decision = await _decided(runtime, asked, proposal)
    _show(runtime, _decision_bundle(proposal, decision, asked.language), display, update=True)
    if decision.allow:
        await _run_all(runtime, stored, calls, asked.language)
    elif decision.by != "user":
        _show(runtime, cards.line(said("recorded_how"), tone="quiet"))


def recorded_proposal(
    stored: Stored, calls: Sequence[ToolUseBlock], names: str, said: SessionWords
) -> Proposal:
    """All pieces as one proposal, in order."""
    from mewcode_nb.tools.hints import python_hints

    codes = [str(call["input"].get("code", "")) for call in calls]
    parts = [
        f"# {said('recorded_part', number=number, count=len(codes))}\n{code}"
        for number, code in enumerate(codes, start=1)
    ]
    risks = tuple(dict.fromkeys(risk for code in codes for risk in python_hints(code)))
    return Proposal(
        f"recorded-{stored.turn.last_id}",
        "run_python",
        Effect.EXECUTE,
        said("recorded_title", count=len(codes), names=names),
        code="\n\n".join(parts),
        language="python",
        risks=risks,
    )


async def _decided(runtime: Runtime, asked: Asked, proposal: Proposal) -> Decision:
    settings = runtime.project().settings
    mode = asked.options.mode or Mode(settings.mode)
    if asked.options.no_tools:
        return Decision(allow=False, by="policy", reason="--no-tools")
    verdict, why = judge(mode, proposal)
    if verdict != "ask":
        return Decision(allow=verdict == "allow", by=f"mode {mode}", reason=why)
    if not asked.clicks and settings.approval in {"auto", "buttons"}:
        settings = replace(settings, approval="input")
    live = runtime.conversation
    approver = choose_approver(
        runtime.shell,
        settings,
        prompt=asked.prompt,
        grants=live.grants if live is not None else Grants(),
        environment=runtime.environ,
    )
    return await approver.ask(proposal)


async def _run_all(
    runtime: Runtime, stored: Stored, calls: Sequence[ToolUseBlock], language: str
) -> None:
    said = SessionWords(language)
    redactor = LiveRedactor()
    redactor.renew(runtime.project(), runtime.environ)
    displays = [secrets.token_hex(16) for _ in calls]
    for call, display in zip(calls, displays, strict=True):
        _show(runtime, cards.line(f"{call_title(call)} · {said('recorded_left')}"), display)
    for call, display in zip(calls, displays, strict=True):
        result = await _run(runtime, call)
        _note(runtime, stored, result)
        _show(runtime, _outcome(call, result, redactor, language), display, update=True)
        for bundle in cast("list[Json]", redactor.mask_json(cast("Json", list(result.display)))):
            _show_rich(runtime, cast("Mapping[str, object]", bundle))
        if result.interrupted:
            raise Interrupted("the recorded code was stopped", remedy="run the cell again")
        if result.is_error:
            return


async def _run(runtime: Runtime, call: ToolUseBlock) -> ToolResult:
    from mewcode_nb.notebook.cells import kept_cells
    from mewcode_nb.notebook.namespace import UserNamespace
    from mewcode_nb.paths import real_path
    from mewcode_nb.tools.base import FileReads, ToolContext
    from mewcode_nb.tools.run_python import RunPython, RunPythonInput

    project = runtime.project()
    context = ToolContext(
        root=real_path(project.root),
        cwd=real_path(project.place.folder),
        reads=FileReads(),
        namespace=UserNamespace(runtime.shell, kept_cells(runtime.shell)),
    )
    return await RunPython().run(RunPythonInput.model_validate(call["input"]), context)


def _note(runtime: Runtime, stored: Stored, result: ToolResult) -> None:
    """Record what became of the namespace, where the session is at hand."""
    live = runtime.conversation
    if live is not None and live.session_id == stored.session and live.agent.history:
        live.journal.note(result, live.agent.history[-1].turn)
        live.journal.flush_quietly()


def _outcome(
    call: ToolUseBlock, result: ToolResult, redactor: LiveRedactor, language: str
) -> Bundle:
    words = Words(language)
    state = words("failed" if result.is_error else "done")
    line = " · ".join(
        part for part in (call_title(call), state, redactor.mask(result.summary)) if part
    )
    content = words_of(tool_result(call["id"], redactor.mask_json(result.content)))
    tone = "error" if result.is_error else "good"
    return cards.entry(line, cards.output_fold(words, content), tone=tone)


def _decision_bundle(proposal: Proposal, decision: Decision, language: str) -> Bundle:
    words = Words(language)
    given = words("allowed" if decision.allow else "denied", by=words.giver(decision.by))
    line = " · ".join(part for part in (proposal.title, given, decision.reason) if part)
    tone = "quiet" if decision.allow else "warning"
    return cards.entry(line, cards.proposal_fold(words, proposal), tone=tone)


def _show_rich(runtime: Runtime, bundle: Mapping[str, object]) -> None:
    data = {key: value for key, value in bundle.items() if "/" in key}
    if data and cards.bundle_size(data) <= _DISPLAY_LIMIT:
        runtime.shell.display_pub.publish(data)


def _show(runtime: Runtime, bundle: Bundle, display: str = "", *, update: bool = False) -> None:
    transient = {"display_id": display} if display else {}
    runtime.shell.display_pub.publish(bundle, {}, transient=transient, update=update)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" (+{more})" if more > 0 else "")
