from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace

import pytest

from mewcode_nb.widgets.live import LiveOutput, LiveWidget, live_script

VIEW = "application/vnd.jupyter.widget-view+json"


class Events:
    def __init__(self):
        self.callbacks = {"pre_run_cell": []}

    def register(self, event, callback):
        self.callbacks[event].append(callback)

    def unregister(self, event, callback):
        self.callbacks[event].remove(callback)

    def run_cell(self):
        for callback in list(self.callbacks["pre_run_cell"]):
            callback(None)


class Shell:
    """What a page got: data, display id, whether it was an update."""

    def __init__(self):
        self.sent, self.events = [], Events()
        self.display_pub = SimpleNamespace(publish=self.publish)

    def publish(self, data, metadata=None, *, transient=None, update=False):
        self.sent.append((data, transient["display_id"], update))

    @property
    def texts(self):
        return [data["text/plain"] for data, _, _ in self.sent]


@contextlib.contextmanager
def shown(idle_seconds=60.0, static=lambda: {"text/plain": "table"}):
    shell = Shell()
    widget = LiveWidget()
    live = LiveOutput(shell, widget, static, asyncio.get_running_loop(), idle_seconds=idle_seconds)
    live.show()
    try:
        yield shell, widget, live
    finally:
        live.end()
        widget.close()


def test_it_is_shown_as_a_widget_with_its_text_and_ended_in_the_same_place():
    async def scene():
        with shown() as (shell, widget, live):
            live.end({"text/plain": "resumed"})
            live.end({"text/plain": "again"})
            (first, display, new), (last, same, update) = shell.sent
            assert first[VIEW]["model_id"] == widget.identity
            assert first["text/plain"] == "table"
            assert last == {"text/plain": "resumed"}
            assert (display == same, new, update) == (True, False, True)
            assert widget.settled
            assert widget.static == {"text/plain": "resumed"}

    asyncio.run(scene())


def test_the_next_cell_ends_it_after_what_had_been_asked_before():
    async def scene():
        told = []
        with shown(static=lambda: {"text/plain": f"table {told}"}) as (shell, _, live):
            live.before_cell = lambda: told.append("renamed")
            shell.events.run_cell()
            assert shell.texts == ["table []", "table ['renamed']"]
            assert shell.events.callbacks["pre_run_cell"] == []

    asyncio.run(scene())


def test_a_cell_does_not_end_it_while_an_action_is_under_way():
    async def scene():
        with shown() as (shell, _, live):
            live.held = True
            shell.events.run_cell()
            assert not live.ended
            live.end({"text/plain": "resumed"})
            assert shell.texts == ["table", "resumed"]

    asyncio.run(scene())


@pytest.mark.parametrize("touched", [False, True])
def test_idle_time_ends_it_and_what_the_user_does_begins_it_anew(touched):
    async def scene():
        loop = asyncio.get_running_loop()
        with shown(idle_seconds=0.2) as (_, _, live):
            begun, ended = loop.time(), 0.0
            if touched:
                loop.call_later(0.15, live.touch)
            while not ended:
                await asyncio.sleep(0.005)
                ended = loop.time() - begun if live.ended else 0.0
            assert ended >= (0.35 if touched else 0.2) - 0.02

    asyncio.run(scene())


def test_an_ended_one_leaves_no_callback_behind():
    async def scene():
        with shown() as (shell, _, live):
            live.end()
            assert shell.events.callbacks["pre_run_cell"] == []
            assert live._timer.cancelled()

    asyncio.run(scene())


def test_what_a_page_puts_in_place_by_itself_follows_the_data():
    async def scene():
        with shown() as (_, widget, live):
            assert widget.static == {"text/plain": "table"}
            live.keep({"text/plain": "new table"})
            assert widget.static == {"text/plain": "new table"}
            assert not widget.settled

    asyncio.run(scene())


def test_a_live_script_begins_with_the_shared_part():
    script = live_script("picker.js")
    assert script.index("function watchEnd(") < script.index("export default")
