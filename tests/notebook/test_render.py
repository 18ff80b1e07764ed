from __future__ import annotations

import asyncio

import pytest

from mewcode_nb.events import (
    ApprovalAsked,
    ApprovalGiven,
    AssistantMessage,
    Decision,
    Effect,
    Notice,
    Proposal,
    Retrying,
    SdkLoading,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolInputDelta,
    ToolStarted,
    TurnFinished,
    TurnResult,
    TurnStarted,
    Usage,
)
from mewcode_nb.notebook.render import NotebookRenderer
from mewcode_nb.widgets.words import Words


class Page:
    """What a front end would hold: displays in order, updated in place; and the traffic."""

    def __init__(self):
        self.order = []
        self.shown = {}
        self.sent = []

    def publish(self, data, metadata=None, *, transient=None, update=False):
        self.sent.append((dict(data), update))
        key = (transient or {}).get("display_id", f"anonymous {len(self.sent)}")
        if update:
            assert key in self.shown, "an update of a display that was never shown"
        else:
            assert key not in self.shown
            self.order.append(key)
        self.shown[key] = dict(data)

    def plain(self):
        return [str(self.shown[key].get("text/plain", "")) for key in self.order]


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Stage:
    def __init__(self, language="en"):
        self.page, self.clock = Page(), Clock()
        ids = iter(range(10_000))
        self.renderer = NotebookRenderer(
            self.page, Words(language), clock=self.clock, new_id=lambda: f"d{next(ids)}"
        )

    def show(self, *events, step=0.0):
        for event in events:
            self.renderer.show(event)
            self.clock.now += step


@pytest.fixture
def stage():
    return Stage()


STARTED = TurnStarted(1, "s", "sonnet", "ask")
USAGE = Usage(100, 0, 900, 50)
RESULT = TurnResult("hi", (), USAGE, "end_turn", 2, 3.25, "s", 1, tools=("shell",))
PROPOSAL = Proposal("t1", "shell", Effect.EXECUTE, "run ls", code="ls -l", language="bash")


def finished(**changes):
    values = {"tool_use_id": "t1", "name": "shell", "title": "run ls", "is_error": False}
    values |= {"summary": "exit 0", "seconds": 0.5, "output": "a\nb"}
    return ToolFinished(**(values | changes))


def test_text_tool_text_stays_in_order_and_the_status_line_becomes_the_last_line(stage):
    stage.show(
        STARTED,
        TextDelta("Let me "),
        TextDelta("look."),
        AssistantMessage((), USAGE, "tool_use"),
        ApprovalAsked(PROPOSAL),
        ApprovalGiven(PROPOSAL, Decision(True, "user")),
        ToolStarted("t1", "shell", "run ls"),
        finished(),
        TextDelta("Two files."),
        AssistantMessage((), USAGE, "end_turn"),
        TurnFinished(RESULT),
    )
    status, first, tool, second = stage.page.plain()
    assert status == (
        "sonnet · ask · 1,000 in (90% cached), 50 out · 2 steps · 1 tool call · 3.2 s"
    )
    assert (first, second) == ("Let me look.", "Two files.")
    assert tool.startswith(
        "run ls · allowed by you · done · exit 0 (0.5 s)\n  what it does:\n    ls -l"
    )
    assert "output (3 B)" in tool


def test_a_tool_passes_through_its_states_in_place(stage):
    states = []
    for event in (
        ApprovalAsked(PROPOSAL),
        ApprovalGiven(PROPOSAL, Decision(True, "user")),
        ToolStarted("t1", "shell", "run ls"),
        finished(is_error=True, summary="exit 1"),
    ):
        stage.show(event)
        states.append(next(t for t in stage.page.plain() if t.startswith("run ls")).split("\n")[0])
    assert states == [
        "run ls · asked",
        "run ls · allowed by you",
        "run ls · allowed by you · running",
        "run ls · allowed by you · error · exit 1 (0.5 s)",
    ]


def test_a_denied_call_says_why_and_is_not_shown_as_a_failure(stage):
    denied = Decision(False, "policy", "nobody can be asked here")
    stage.show(ApprovalAsked(PROPOSAL), ApprovalGiven(PROPOSAL, denied), finished(is_error=True))
    assert stage.page.plain()[-1].startswith("run ls · denied by policy · nobody can be asked here")


def test_display_sends_at_most_twelve_updates_a_second_and_bytes_in_proportion(stage):
    text = "Some words of an answer that go on and on.\n\n" * 455
    deltas = [text[start : start + 20] for start in range(0, len(text), 20)]
    stage.show(STARTED)
    stage.show(*map(TextDelta, deltas), step=8 / len(deltas))
    sent = [data for data, _ in stage.page.sent]
    assert len(sent) <= 12 * 8
    assert sum(len(str(value)) for data in sent for value in data.values()) < 12 * len(text)
    stage.show(TurnFinished(RESULT))
    assert "".join(stage.page.plain()[1:]) == text


def test_a_long_fence_is_shown_again_less_often(stage):
    stage.show(STARTED, TextDelta("```\n"))
    lines = ["x = 1234567890\n"] * 4_000
    stage.show(*map(TextDelta, lines), step=8 / len(lines))
    sent = sum(len(str(data.get("text/markdown"))) for data, _ in stage.page.sent)
    assert sent < 8 * 45_000


def test_only_what_is_pending_is_shown_when_the_time_comes(stage):
    stage.show(STARTED, TextDelta("one"))
    stage.show(TextDelta(" two"))
    assert stage.page.plain()[-1] == "one"
    stage.clock.now += 0.2
    stage.renderer.flush()
    assert stage.page.plain()[-1] == "one two"


def test_the_ticker_shows_pending_text_while_nothing_arrives():
    async def turn():
        page = Page()
        shown = asyncio.Event()
        publish = page.publish

        def watch(data, metadata=None, *, transient=None, update=False):
            publish(data, metadata, transient=transient, update=update)
            if data.get("text/plain") == "one two":
                shown.set()

        page.publish = watch
        renderer = NotebookRenderer(page, Words())
        renderer.show(TextDelta("one"))
        renderer.show(TextDelta(" two"))
        await asyncio.wait_for(shown.wait(), 5)
        renderer.close()
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(turn())


@pytest.mark.parametrize(
    ("event", "later", "words"),
    [
        (SdkLoading(done=False), 0, "loading the model client (first time)…"),
        (STARTED, 3.2, "sonnet · ask · waiting 3 s…"),
        (ThinkingDelta("hm"), 0, "thinking"),
        (ToolInputDelta(0, "write_file", 12_300), 0, "writing write_file input, 12.3 KB"),
        (Retrying(2, 5, 8.0, "overloaded"), 5, "overloaded; attempt 2 of 5 in 3 s"),
        (ApprovalAsked(PROPOSAL), 0, "asking you"),
    ],
)
def test_the_status_line_says_what_is_going_on(stage, event, later, words):
    stage.show(event)
    stage.clock.now += later + 1e-6 if later else 1
    stage.renderer.flush()
    assert words in stage.page.plain()


def test_an_interrupt_settles_every_part(stage):
    stage.show(STARTED, TextDelta("half a"), ToolStarted("t1", "shell", "run ls"))
    stage.clock.now += 2
    stage.renderer.close(interrupted=True)
    stage.renderer.close()
    status, text, tool = stage.page.plain()
    assert status == "sonnet · ask · interrupted · 0 in (0% cached), 0 out · 2.0 s"
    assert (text, tool) == ("half a", "run ls · interrupted")


def test_thinking_is_folded_and_rich_output_is_published_as_it_is(stage):
    image = {"image/png": "iVBOR", "text/plain": "<Figure>"}
    both = {"data": {"text/html": "<table>", "text/plain": "t"}, "metadata": {"a": 1}}
    stage.show(ThinkingDelta("deep <b>"), finished(display=(image, both)))
    shown = [stage.page.shown[key] for key in stage.page.order]
    assert "<details" in shown[1]["text/html"]
    assert "<b>" not in shown[1]["text/html"]
    assert shown[-2:] == [image, both["data"]]


def test_a_rich_output_that_would_swell_the_notebook_is_left_out_in_words(stage):
    stage.show(finished(display=({"text/html": "x" * 6_000_000},)))
    assert stage.page.plain()[-1] == "an output of 6 MB was not shown here"


def test_notices_take_one_line_with_their_remedy(stage):
    stage.show(Notice("no key\nfound", "error", "set ANTHROPIC_API_KEY"))
    assert stage.page.plain()[1] == "no key found — set ANTHROPIC_API_KEY"


def test_n_05_nothing_the_model_wrote_is_markup(stage):
    bad = "<img src=x onerror=alert(1)>"
    proposal = Proposal("t1", bad, Effect.EXECUTE, bad, code=bad)
    stage.show(
        TextDelta(bad),
        ThinkingDelta(bad),
        ApprovalAsked(proposal),
        finished(title=bad, summary=bad, output=bad),
        Notice(bad),
        TurnFinished(RESULT),
    )
    for data, _ in stage.page.sent:
        assert "<img" not in str(data.get("text/html", ""))
        assert "<img" not in str(data.get("text/markdown", "")).replace(f"```\n{bad}", "")


def test_no_live_widget_is_published(stage):
    stage.show(STARTED, ApprovalAsked(PROPOSAL), finished(), TurnFinished(RESULT))
    kinds = {kind for data, _ in stage.page.sent for kind in data}
    assert kinds == {"text/plain", "text/markdown", "text/html"}


def test_chinese_words():
    stage = Stage("zh")
    stage.show(STARTED, ToolStarted("t1", "shell", "run ls"), TurnFinished(RESULT))
    assert stage.page.plain() == [
        "sonnet · ask · 输入 1,000（90% 来自缓存），输出 50 · 2 步 · 1 次工具调用 · 3.2 秒",
        "run ls · 未得到回答就结束了",
    ]


def test_a_long_run_counts_its_seconds(stage):
    stage.show(STARTED, ApprovalGiven(PROPOSAL, Decision(True, "mode open")))
    stage.show(ToolStarted("t1", "shell", "run ls"))
    stage.clock.now += 7.4
    stage.renderer.flush()
    assert stage.page.plain()[0] == "sonnet · ask · running · 7 s"
