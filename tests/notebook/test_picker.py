from __future__ import annotations

import asyncio
import contextlib
import queue
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from mewcode_nb.errors import SessionError, SessionLocked
from mewcode_nb.notebook.picker import SearchHit, SearchStep, sessions_bundle, show_picker
from mewcode_nb.notebook.picker_desk import PickerDesk
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.widgets.picker import SessionPicker

VIEW = "application/vnd.jupyter.widget-view+json"
NOW = 1_000_000.0
BAD = "<script>\x1b\u202e"


class Actions:
    """Sessions a, b (damaged beyond reading) and c; c is outside this notebook."""

    def __init__(self):
        a = SessionInfo(id="a", title="first", active=NOW - 60, turns=1)
        b = SessionInfo(id="b", readable=False, damage="no header\x1b")
        c = SessionInfo(id="c", title="third", active=NOW - 7_200, turns=2)
        self.infos = {info.id: info for info in (a, b, c)}
        self.log, self.fails, self.steps = [], None, 3
        self.result = {"text/plain": "resumed"}

    def _did(self, *call):
        self.log.append(call)
        if self.fails is not None:
            raise self.fails

    def rows(self, scope):
        self._did("rows", scope)
        return [info for info in self.infos.values() if scope != "notebook" or info.id != "c"]

    def preview(self, identity):
        self._did("preview", identity)
        return ()

    def search(self, query):
        for at in range(1, self.steps + 1):
            self._did("step", query, at)
            yield SearchStep(at, self.steps, (SearchHit(self.infos["c"], f"… {query}{BAD}"),))

    def resume(self, identity, fork=False):
        self._did("resume", identity, fork)
        return self.result

    def rename(self, identity, title):
        self._did("rename", identity, title)
        self.infos[identity] = replace(self.infos[identity], title=title)
        return self.infos[identity]

    def pin(self, identity, on):
        self._did("pin", identity, on)
        return replace(self.infos[identity], pinned=on)

    def delete(self, identity):
        self._did("delete", identity)

    def restore(self, identity):
        self._did("restore", identity)
        return self.infos[identity]


class Recorder(SessionPicker):
    """A picker without a page: what it was told is kept."""

    def __init__(self, *arguments, **options):
        self.told = []
        super().__init__(*arguments, **options)

    def send(self, content, buffers=None):
        self.told.append(content)


class Events:
    def __init__(self):
        self.callbacks = {"pre_run_cell": []}

    def register(self, event, callback):
        self.callbacks[event].append(callback)

    def unregister(self, event, callback):
        self.callbacks[event].remove(callback)


class Shell:
    def __init__(self):
        self.sent, self.events = [], Events()
        self.display_pub = SimpleNamespace(publish=self.publish)

    def publish(self, data, metadata=None, *, transient=None, update=False):
        self.sent.append(data)

    def run_cell(self):
        for callback in list(self.events.callbacks["pre_run_cell"]):
            callback(None)

    @property
    def last(self):
        return self.sent[-1].get("text/plain", "")


class Scene:
    """An open picker and the page's side of it."""

    def __init__(self, actions, patience):
        self.shell, self.actions = Shell(), actions
        loop = asyncio.get_running_loop()
        self.desk = PickerDesk(actions, "en", lambda: NOW, loop, widget=Recorder)
        self.desk.open(self.shell, actions.rows("notebook"), "notebook", patience)
        actions.log.clear()
        self.picker = self.desk._picker

    async def page(self, kind, identity="", **content):
        self.post(kind, identity, **content)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def post(self, kind, identity="", **content):
        nonce = self.picker.view["nonce"]
        message = {"kind": kind, "nonce": nonce, "id": identity, **content}
        self.picker._receive(self.picker, message, [])

    @property
    def told(self):
        return self.picker.told[-1]

    @property
    def ended(self):
        return self.picker.settled


def play(scene, *, actions=None, patience=60.0):
    async def run():
        opened = Scene(actions or Actions(), patience)
        try:
            await asyncio.wait_for(scene(opened), 20)
        finally:
            opened.desk._live.end()
            opened.picker.close()

    asyncio.run(run())


def test_resume_leaves_its_bundle_in_the_pickers_place():
    async def scene(s):
        await s.page("resume", "a", on=False)
        assert s.actions.log == [("resume", "a", False)]
        assert s.shell.last == "resumed"
        assert s.ended

    play(scene)


def test_a_resume_that_takes_time_is_awaited_even_over_the_next_cell():
    async def scene(s):
        s.actions.result = asyncio.get_running_loop().create_future()
        await s.page("resume", "a", on=True)
        await s.page("resume", "a", on=True)
        s.shell.run_cell()
        assert not s.ended
        s.actions.result.set_result({"text/plain": "resumed late"})
        while not s.ended:
            await asyncio.sleep(0)
        assert s.shell.last == "resumed late"
        assert s.actions.log == [("resume", "a", True)]

    play(scene)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("resume", {"on": False}),
        ("preview", {}),
        ("rename", {"title": "new"}),
        ("pin", {"on": True}),
        ("delete", {}),
        ("rows", {"scope": "project"}),
        ("search", {"query": "x", "number": 1}),
    ],
)
def test_an_error_of_any_action_is_a_line_and_the_picker_stays(kind, content):
    async def scene(s):
        s.actions.fails = SessionLocked("held by 7\x1b", remedy="fork it")
        await s.page(kind, "a", **content)
        while s.actions.log == [] or not s.picker.told:
            await asyncio.sleep(0.001)
        assert s.told == {"kind": "line", "text": "held by 7␛ — fork it"}
        assert not s.ended
        s.actions.fails = None
        await s.page("pin", "a", on=True)
        assert s.told["row"]["pinned"] is True

    play(scene)


def test_a_failed_awaited_resume_is_a_line_and_can_be_tried_again():
    async def scene(s):
        s.actions.result = asyncio.get_running_loop().create_future()
        await s.page("resume", "a", on=False)
        s.actions.result.set_exception(SessionError("disk full"))
        while not s.picker.told:
            await asyncio.sleep(0)
        assert s.told == {"kind": "line", "text": "disk full"}
        await asyncio.sleep(0)
        s.actions.result = {"text/plain": "resumed"}
        await s.page("resume", "a", on=False)
        assert s.shell.last == "resumed"

    play(scene)


def test_a_fault_of_ours_reaches_the_loops_handler_and_the_picker_says_so():
    async def scene(s):
        seen = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: seen.append(context))
        s.actions.fails = ZeroDivisionError("1/0")
        await s.page("pin", "a", on=True)
        assert isinstance(seen[0]["exception"], ZeroDivisionError)
        assert s.told["kind"] == "line"
        assert "1/0" not in s.told["text"]

    play(scene)


def test_delete_takes_the_row_away_and_undo_brings_it_back_once():
    async def scene(s):
        await s.page("delete", "a")
        assert s.told == {"kind": "deleted", "id": "a"}
        assert "first" not in s.picker.static["text/plain"]
        await s.page("delete", "a")
        await s.page("restore", "a")
        assert (s.told["kind"], s.told["row"]["id"], s.told["restored"]) == ("row", "a", True)
        await s.page("restore", "a")
        assert s.actions.log == [("delete", "a"), ("restore", "a")]
        assert "first" in s.picker.static["text/plain"]

    play(scene)


def test_i_05_a_session_that_cannot_be_read_is_refused_but_may_be_deleted():
    async def scene(s):
        for kind, content in (("resume", {"on": False}), ("preview", {}), ("pin", {"on": True})):
            await s.page(kind, "b", **content)
            assert s.told["text"] == "This session cannot be resumed: no header␛"
        await s.page("delete", "b")
        assert s.actions.log == [("delete", "b")]

    play(scene)


def test_another_scope_replaces_the_rows_and_the_table_that_stays():
    async def scene(s):
        await s.page("resume", "c", on=False)
        assert s.actions.log == []
        await s.page("rows", scope="project")
        assert [row["id"] for row in s.told["rows"]] == ["a", "b", "c"]
        assert "third" in s.picker.static["text/plain"]
        await s.page("resume", "c", on=False)
        assert s.ended

    play(scene)


def test_a_search_tells_how_far_it_is_and_its_hits_can_be_resumed():
    async def scene(s):
        await s.page("search", query="rain", number=4)
        while not (s.picker.told and s.told.get("finished")):
            await asyncio.sleep(0.001)
        rows = [row for told in s.picker.told for row in told["rows"]]
        assert (s.told["done"], s.told["total"], s.told["number"]) == (3, 3, 4)
        assert rows[0]["snippet"] == "… rain<script>␛\\u202E"
        await s.page("resume", "c", on=False)
        assert s.shell.last == "resumed"

    play(scene)


def test_a_long_search_shows_progress_and_another_query_ends_it():
    class Slow(Actions):
        def search(self, query):
            try:
                for step in super().search(query):
                    time.sleep(0.03)
                    yield step
            finally:
                self.log.append(("closed", query))

    async def scene(s):
        s.actions.steps = 1_000
        await s.page("search", query="rain", number=1)
        while len(s.picker.told) < 2:
            await asyncio.sleep(0.001)
        assert 0 < s.told["done"] < 1_000
        assert not s.told["finished"]
        await s.page("search", query="", number=2)
        assert s.actions.log[-1] == ("closed", "rain")
        heard = len(s.picker.told)
        await asyncio.sleep(0.1)
        assert len(s.picker.told) == heard

    play(scene, actions=Slow())


def test_what_was_clicked_before_a_cell_ran_is_done_before_it():
    async def scene(s):
        s.post("rename", "a", title="renamed")
        s.post("resume", "a", on=False)
        s.shell.run_cell()
        assert s.actions.log == [("rename", "a", "renamed"), ("resume", "a", False)]
        assert s.shell.last == "resumed"

    play(scene)


def test_the_next_cell_leaves_the_table_as_things_are_now():
    async def scene(s):
        await s.page("rename", "a", title="renamed")
        s.shell.run_cell()
        assert "renamed" in s.shell.last
        await s.page("delete", "a")
        assert s.actions.log == [("rename", "a", "renamed")]

    play(scene)


def test_messages_of_another_thread_wait_for_the_loop_of_the_cells():
    async def scene(s):
        nonce = s.picker.view["nonce"]
        content = {"kind": "pin", "nonce": nonce, "id": "a", "on": True}
        await asyncio.to_thread(s.picker._receive, s.picker, content, [])
        while not s.picker.told:
            await asyncio.sleep(0)
        assert s.actions.log == [("pin", "a", True)]

    play(scene)


@pytest.mark.parametrize("drawn", [True, False])
def test_a_page_that_never_draws_it_gets_the_table(drawn):
    async def scene(s):
        if drawn:
            await s.page("rendered")
        await asyncio.sleep(0.1)
        assert s.ended is not drawn

    play(scene, patience=0.05)


def test_a_page_that_draws_it_again_is_told_the_rows_of_now():
    async def scene(s):
        await s.page("rendered")
        assert s.picker.told == []
        assert s.picker.seen
        await s.page("rename", "a", title="renamed")
        await s.page("rendered")
        assert s.told["kind"] == "rows"
        assert s.told["rows"][0]["title"] == "renamed"

    play(scene)


def test_esc_says_that_nothing_was_chosen():
    async def scene(s):
        await s.page("close")
        assert s.shell.last.startswith("No session was chosen. %resume")

    play(scene)


def test_t_06_the_table_that_stays_is_escaped_in_every_form_and_bounded():
    infos = [SessionInfo(id=f"s{number}", title=f"n{number} | {BAD}") for number in range(30)]
    bundle = sessions_bundle(infos, now=NOW, language="zh")
    assert bundle["text/html"].count("<li") == 20
    for form in bundle.values():
        assert "\x1b" not in form
        assert "\u202e" not in form
        assert "s19" in form
        assert "s20" not in form
        assert "另有 10 个" in form
    assert "&lt;script&gt;" in bundle["text/html"]
    assert "<script" not in bundle["text/html"]


def test_no_sessions_are_one_line():
    bundle = sessions_bundle([], now=NOW, language="en")
    assert bundle["text/plain"].startswith("No sessions yet.")


def test_a_terminal_shows_the_table(ipython_shell, capsys):
    actions = Actions()
    show_picker(ipython_shell, actions, clock=lambda: NOW)
    shown = capsys.readouterr().out
    assert "first" in shown
    assert "third" not in shown
    assert actions.log == [("rows", "notebook")]


def test_a_notebook_without_sessions_shows_those_of_the_project(ipython_shell, capsys):
    actions = Actions()
    actions.infos = {"c": actions.infos["c"]}
    show_picker(ipython_shell, actions, clock=lambda: NOW)
    assert "third" in capsys.readouterr().out
    assert actions.log == [("rows", "notebook"), ("rows", "project")]


def test_an_error_of_the_first_rows_is_the_cells(ipython_shell):
    actions = Actions()
    actions.fails = SessionError("no folder")
    with pytest.raises(SessionError, match="no folder"):
        show_picker(ipython_shell, actions)


IN_KERNEL = """
from mewcode_nb.notebook.picker import show_picker
from mewcode_nb.session.info import SessionInfo
class Actions:
    def rows(self, scope):
        return [SessionInfo(id="s1", title="rainfall")]
show_picker(get_ipython(), Actions(), patience=60)
"""


@pytest.mark.kernel
def test_a_headless_front_end_gets_the_table_and_no_widget(start_kernel):
    ran = start_kernel().run(IN_KERNEL, allow_stdin=False)
    data = [m["content"]["data"] for m in ran.messages if m["msg_type"] == "display_data"]
    assert [VIEW in bundle for bundle in data] == [False]
    assert "rainfall" in data[0]["text/plain"]


@pytest.mark.kernel
@pytest.mark.parametrize("end", ["cell", "shutdown"])
def test_a_kernel_that_goes_on_or_away_leaves_the_table(start_kernel, end):
    kernel = start_kernel()
    ran = kernel.run(IN_KERNEL, allow_stdin=True)
    (first,) = [m for m in ran.messages if m["msg_type"] == "display_data"]
    assert VIEW in first["content"]["data"]
    if end == "cell":
        kernel.client.execute("1")
    else:
        kernel.client.shutdown()
    update = _update(kernel)
    assert update["transient"] == first["content"]["transient"]
    assert VIEW not in update["data"]
    assert "rainfall" in update["data"]["text/plain"]


def _update(kernel):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(queue.Empty):
            message = kernel.client.get_iopub_msg(timeout=0.5)
            if message["msg_type"] == "update_display_data":
                return message["content"]
    raise AssertionError("no update came")
