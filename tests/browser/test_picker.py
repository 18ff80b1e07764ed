from __future__ import annotations

import json
import statistics

import pytest

FAKE = r"""
import json, time
from types import SimpleNamespace
from mewcode_nb.errors import SessionLocked
from mewcode_nb.events import Usage
from mewcode_nb.messages import text_block
from mewcode_nb.notebook.picker import SearchHit, SearchStep, show_picker
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.records import MessageRecord, Parent
from mewcode_nb.session.turns import turns
from dataclasses import replace

BAD = "<img src=x onerror='window.pwn=1'>\u202e\x1b[31m"
NOW = 1_790_000_000.0
WORDS = ["clean the sales table", "plot rainfall by month", "why is the join slow",
         "fit a mixed model", "把表格按月份汇总", "tidy the survey answers"]

def info(number, **more):
    facts = dict(id=f"20260{number % 9}-{number:05d}", first_prompt=f"{WORDS[number % 6]} {number}",
                 active=NOW - 3000 * number, created=NOW - 4000 * number, model="claude-sonnet-5-5",
                 turns=number % 37 + 1, usage=Usage(input_tokens=900 * number, output_tokens=40),
                 size=2_000 * number + 500, notebook=f"/home/ada/work/analysis{number % 4}.ipynb",
                 branch="main" if number % 3 else "rain")
    return SessionInfo(**{**facts, **more})

class Fake:
    def __init__(self, count):
        self.infos = {i.id: i for i in map(info, range(count))}
        self.log, self.trash = [], {}
        if count >= 6:
            ids = list(self.infos)
            self.change(ids[1], title="Rainfall, final", pinned=True)
            self.change(ids[2], live=True, title=BAD)
            self.change(ids[3], parent=Parent(ids[1], "m7"), damage="2 damaged lines")
            self.change(ids[4], readable=False, damage="not a session log")
    def change(self, identity, **facts):
        self.infos[identity] = replace(self.infos[identity], **facts)
        return self.infos[identity]
    def rows(self, scope):
        self.log.append(["rows", scope])
        return [i for i in self.infos.values() if scope != "notebook" or "s0.ip" in i.notebook]
    def preview(self, identity):
        self.log.append(["preview", identity])
        said = [("user", "what is in here? " + BAD), ("assistant", "Forty columns.")]
        records = [MessageRecord(id=f"m{n}", ts=NOW, role=role, turn=1, origin="user" if
                   role == "user" else "model", content=(text_block(text),)) for n, (role, text)
                   in enumerate(said)]
        return turns(records)
    def search(self, query):
        self.log.append(["search", query])
        infos = list(self.infos.values())
        for at, i in enumerate(infos, 1):
            hits = (SearchHit(i, f"… the {query} was {BAD} in it"),) if at % 50 == 7 else ()
            yield SearchStep(at, len(infos), hits)
    def resume(self, identity, fork=False):
        self.log.append(["resume", identity, fork])
        if self.infos[identity].live and not fork:
            raise SessionLocked("another kernel holds it\x1b", remedy="resume a copy")
        return dict.fromkeys(("text/plain", "text/markdown"), f"RESUMED {identity} {fork}")
    def rename(self, identity, title):
        self.log.append(["rename", identity, title])
        return self.change(identity, title=title)
    def pin(self, identity, on):
        self.log.append(["pin", identity, on])
        return self.change(identity, pinned=on)
    def delete(self, identity):
        self.log.append(["delete", identity])
        self.trash[identity] = self.infos.pop(identity)
    def restore(self, identity):
        self.log.append(["restore", identity])
        self.infos[identity] = self.trash.pop(identity)
        return self.infos[identity]
"""
SHOW = """fake = Fake({count})
show_picker(get_ipython(), fake, scope={scope!r}, language={language!r},
            clock=lambda: NOW + 60, patience={patience})
"""
LOG = "import json\nprint('LOG', json.dumps(fake.log))"
VIEW = "application/vnd.jupyter.widget-view+json"
PICKER = 2
"""The cell with the picker; the next ones tell what was asked of the fake, and the like."""
LATENCY = """() => {
    window.times = [];
    let down = 0;
    window.addEventListener('keydown', () => { down = performance.now(); }, true);
    const rows = document.querySelector('.mewcode-picker-rows');
    new MutationObserver(() => {
        if (down) window.times.push(performance.now() - down);
        down = 0;
    }).observe(rows, { childList: true });
}"""


def show(count=12, scope="project", language="en", patience=60):
    return SHOW.format(count=count, scope=scope, language=language, patience=patience)


@pytest.fixture
def picker(notebook):
    """A notebook whose third cell shows a picker that a page has drawn."""

    def make(*more, **options):
        page = notebook([], [FAKE, show(**options), LOG, *more])
        page.run(1)
        page.run(PICKER)
        page.page.locator(".mewcode-picker").wait_for(timeout=60_000)
        return page

    return make


def asked(page, index=PICKER + 1):
    page.run(index)
    page.wait_text(index, "LOG")
    return json.loads(page.output(index).split("LOG", 1)[1])


def names(page):
    return page.page.locator(".mewcode-picker-name").all_inner_texts()


def count(page):
    return page.page.locator(".mewcode-picker-count").inner_text()


def wait_count(page, text):
    page.page.locator(".mewcode-picker-count", has_text=text).wait_for()


def press(page, name):
    page.page.locator(".mewcode-picker").get_by_role("button", name=name, exact=True).click()


def cells(page):
    return page.page.evaluate(
        "() => (window.jupyterapp || window.jupyterlab).shell.currentWidget.content.widgets.length"
    )


def selected(page):
    return page.page.evaluate(
        """() => {
            const filter = document.querySelector('.mewcode-picker-filter');
            const node = document.getElementById(filter.getAttribute('aria-activedescendant'));
            return node.querySelector('.mewcode-picker-name').textContent;
        }"""
    )


def stored(page, index=PICKER):
    return page.save().cells[index].outputs


def test_typing_filters_and_no_key_reaches_the_notebook(picker):
    page = picker()
    keys = page.page.keyboard
    page.page.wait_for_function(
        "() => document.activeElement.classList.contains('mewcode-picker-filter')"
    )
    before = cells(page)
    keys.type("dd ab")
    assert count(page) == "0 of 12 sessions"
    assert "Nothing matches “dd ab”." in page.output(PICKER)
    for _ in range(5):
        keys.press("Backspace")
    keys.type("RAIN 7")
    assert names(page) == ["plot rainfall by month 7"]
    keys.press("Control+a")
    keys.press("Backspace")
    assert count(page) == "12 sessions"
    keys.press("End")
    assert selected(page) == "tidy the survey answers 11"
    page.page.locator(".mewcode-picker button").first.focus()
    for key in ("d", "d", "a", "b", "Shift+a", "x", "c", "v"):
        keys.press(key)
    assert cells(page) == before


def test_by_keyboard_alone_from_preview_to_fork(picker):
    page = picker("1")
    keys = page.page.keyboard
    keys.press("ArrowDown")
    assert selected(page) == "clean the sales table 0"
    keys.press("Space")
    preview = page.page.locator(".mewcode-picker-preview")
    preview.get_by_text("Forty columns.").wait_for()
    assert "what is in here? <img src=x onerror='window.pwn=1'>" in preview.inner_text()
    keys.press("Escape")
    assert not preview.is_visible()
    keys.press("F2")
    keys.type("daily sales")
    keys.press("Enter")
    page.page.get_by_text("daily sales").wait_for()
    keys.press("Alt+p")
    page.page.locator(".mewcode-picker-row[aria-selected=true]", has_text="pinned").wait_for()
    keys.press("ArrowDown")
    victim = selected(page)
    keys.press("Alt+Delete")
    wait_count(page, "11 sessions")
    assert f"“{victim}” moved to the trash." in page.output(PICKER)
    keys.press("Alt+z")
    wait_count(page, "12 sessions")
    keys.press("Home")
    keys.press("Shift+Enter")
    page.wait_text(PICKER, "RESUMED 202600-00000 True")
    assert page.page.locator(".mewcode-picker").count() == 0
    assert page.page.evaluate("() => window.pwn") is None
    assert asked(page) == [
        ["rows", "project"],
        ["preview", "202600-00000"],
        ["rename", "202600-00000", "daily sales"],
        ["pin", "202600-00000", True],
        ["delete", "202601-00001"],
        ["restore", "202601-00001"],
        ["resume", "202600-00000", True],
    ]


def test_the_focus_is_in_the_filter_also_after_shift_enter(notebook):
    page = notebook([], [FAKE, show(), "1"])
    page.run(1)
    editor = page.page.locator(".jp-CodeCell").nth(PICKER).locator(".cm-content")
    editor.click()
    page.page.keyboard.press("Shift+Enter")
    page.page.wait_for_function(
        "() => document.activeElement.classList.contains('mewcode-picker-filter')"
    )
    page.page.wait_for_timeout(1_000)
    page.page.keyboard.type("join")
    assert count(page) == "2 of 12 sessions"


def test_after_it_the_keyboard_is_the_notebooks_again(picker):
    page = picker()
    before = cells(page)
    page.page.keyboard.press("Enter")
    page.wait_text(PICKER, "RESUMED")
    page.page.keyboard.press("b")
    page.page.wait_for_function(
        f"() => document.querySelectorAll('.jp-Notebook .jp-Cell').length > {before}"
    )


def test_by_mouse_with_errors_scope_sort_search_and_undo(picker):
    page = picker(scope="notebook")
    wait_count(page, "3 sessions")
    box = page.page.locator(".mewcode-picker")
    box.get_by_label("Where").select_option("project")
    wait_count(page, "12 sessions")
    box.get_by_label("Sort by").select_option("bytes")
    assert names(page)[1] == "tidy the survey answers 11"
    box.get_by_text("in use elsewhere").click()
    box.locator("button.mewcode-picker-main").click()
    alert = box.get_by_role("alert")
    alert.get_by_text("another kernel holds it␛ — resume a copy").wait_for()
    box.get_by_text("cannot be read: not a session log").click()
    assert box.locator("button.mewcode-picker-main").get_attribute("aria-disabled") == "true"
    page.page.keyboard.press("Home")
    box.get_by_text("Rainfall, final").click()
    press(page, "Unpin")
    press(page, "Pin")
    press(page, "Delete")
    wait_count(page, "11 sessions")
    page.picture("picker-undo")
    press(page, "Undo")
    wait_count(page, "12 sessions")
    assert "“Rainfall, final” is back." in page.output(PICKER)
    press(page, "Preview")
    box.get_by_text("Forty columns.").wait_for()
    box.get_by_role("combobox", name="Filter").fill("Quartal")
    box.get_by_text("Nothing matches “Quartal”.").wait_for()
    box.locator(".mewcode-picker-empty").get_by_role("button", name="Search inside").click()
    box.get_by_text("… the Quartal was <img").wait_for()
    wait_count(page, "1 of 12 sessions holds “Quartal”")
    assert box.locator("mark").all_inner_texts() == ["Quartal"]
    page.picture("picker-search")
    box.locator(".mewcode-picker-row").dblclick()
    page.wait_text(PICKER, "RESUMED")
    log = asked(page)
    assert ["rows", "notebook"] in log
    assert ["search", "Quartal"] in log
    assert log[-1] == ["resume", "202607-00007", False]
    assert page.page.evaluate("() => window.pwn") is None


def test_a_thousand_sessions_are_filtered_in_under_100_ms(picker):
    page = picker(count=1000)
    assert count(page) == "1,000 sessions"
    assert page.page.locator(".mewcode-picker-row").count() < 25
    page.page.evaluate(LATENCY)
    keys = page.page.keyboard
    for word in ("rain month", "join slow 9", "claude-s", "analysis2 main", "月份", "20260"):
        keys.type(word, delay=5)
        for _ in word:
            keys.press("Backspace")
    times = page.page.evaluate("() => window.times")
    assert len(times) >= 80
    p95 = statistics.quantiles(times, n=20)[-1]
    times = {"keys": len(times), "p50_ms": statistics.median(times), "p95_ms": p95}
    page.picture("picker-thousand").with_suffix(".json").write_text(json.dumps(times))
    assert p95 < 100
    keys.press("End")
    assert selected(page).endswith(" 999")
    keys.press("PageUp")
    assert selected(page).endswith(" 993")


def test_chinese_is_found_while_the_input_method_is_composing(picker):
    page = picker(language="zh")
    page.page.locator(".mewcode-picker-filter").focus()
    remote = page.page.context.new_cdp_session(page.page)
    remote.send("Input.imeSetComposition", {"text": "表格", "selectionStart": 2, "selectionEnd": 2})
    wait_count(page, "2 / 12 个会话")
    assert names(page) == ["把表格按月份汇总 4", "把表格按月份汇总 10"]
    enter = {"type": "rawKeyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
    remote.send("Input.dispatchKeyEvent", enter)
    remote.send("Input.insertText", {"text": "表格"})
    page.picture("picker-zh")
    assert page.page.locator(".mewcode-picker").count() == 1
    assert names(page) == ["把表格按月份汇总 4", "把表格按月份汇总 10"]


@pytest.mark.parametrize("end", ["resume", "cell", "shutdown", "restart", "escape"])
def test_a_saved_notebook_opened_without_its_kernel_shows_no_widget_error(picker, end):
    page = picker("1")
    if end == "resume":
        page.page.keyboard.press("Enter")
        page.wait_text(PICKER, "RESUMED")
    elif end == "cell":
        page.run(PICKER + 2)
    elif end == "escape":
        page.page.keyboard.press("Escape")
    elif end == "restart":
        _kernel(page, "restartKernel")
    else:
        _kernel(page, "shutdown")
    page.page.locator(".mewcode-picker").wait_for(state="detached")
    outputs = stored(page)
    assert len(outputs) == 1
    assert VIEW not in outputs[0].data
    expected = {"resume": "RESUMED", "escape": "No session was chosen."}.get(end, "Rainfall, final")
    assert expected in outputs[0].data["text/plain"]
    page.jupyter.stop_kernels()
    page.page.reload()
    page.open(kernel=False)
    page.wait_text(PICKER, expected)
    assert "Error displaying widget" not in page.output(PICKER)
    if end == "cell":
        page.page.locator(".jp-OutputArea-output ul").scroll_into_view_if_needed()
        page.picture("picker-table")


def _kernel(page, method):
    call = {
        "restartKernel": "session.kernel.restart()",
        "shutdown": "shutdown()",
    }[method]
    page.page.evaluate(
        f"() => (window.jupyterapp || window.jupyterlab).shell.currentWidget.sessionContext.{call}"
    )


def test_a_notebook_saved_with_an_open_picker_holds_the_table(picker):
    page = picker("1", SHOW.format(count=3, scope="project", language="en", patience=60))
    press(page, "Delete")
    wait_count(page, "11 sessions")
    (output,) = stored(page)
    assert VIEW not in output.data
    assert "Rainfall, final" not in output.data["text/plain"]
    assert "clean the sales table" in output.data["text/plain"]
    press(page, "Undo")
    wait_count(page, "12 sessions")
    # The page is loaded again while the kernel lives: a table, and no dead widget beside it.
    page.page.reload()
    page.open()
    page.wait_text(PICKER, "%resume shows the picker again")
    assert "Error displaying widget" not in page.output(PICKER)
    page.run(PICKER + 3)
    wait_count(page, "3 sessions")
    page.page.keyboard.press("Enter")
    page.wait_text(PICKER + 3, "RESUMED")


def test_no_page_that_draws_it_in_time_means_the_table(notebook):
    page = notebook([], [FAKE, show(patience=0)])
    page.run(1)
    page.run(PICKER)
    page.wait_text(PICKER, "%resume ID or %resume last goes on directly.")
    page.page.locator(".mewcode-picker").wait_for(state="detached")
    assert VIEW not in stored(page)[0].data


def test_no_sessions_yet_says_how_to_get_one_and_shows_no_empty_picker(notebook):
    page = notebook([], [FAKE, show(count=0)])
    page.run(1)
    page.run(PICKER)
    page.wait_text(PICKER, "No sessions yet.")
    assert page.page.locator(".mewcode-picker").count() == 0
    assert VIEW not in json.dumps(page.save().cells[PICKER].outputs)


@pytest.mark.parametrize(("look", "width"), [("light", 1100), ("dark", 1100), ("narrow", 0)])
def test_it_fits_and_is_legible(picker, look, width):
    page = picker("1", count=60)
    theme = "JupyterLab Dark" if look == "dark" else "JupyterLab Light"
    page.page.evaluate(
        """(theme) => (window.jupyterapp || window.jupyterlab).commands
            .execute('apputils:change-theme', { theme })""",
        theme,
    )
    page.page.wait_for_function(
        "(theme) => document.body.dataset.jpThemeName === theme", arg=theme, timeout=60_000
    )
    if look == "narrow":
        width = {"lab": 480, "notebook": 398}[page.jupyter.app]
    if look == "narrow" and page.jupyter.app == "lab":
        page.command("application:toggle-left-area")
    page.page.set_viewport_size({"width": width, "height": 900})
    keys = page.page.keyboard
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    if look == "dark":
        keys.press("Space")
        page.page.get_by_text("Forty columns.").wait_for()
    page.page.wait_for_timeout(300)
    page.page.locator(".mewcode-picker").scroll_into_view_if_needed()
    page.picture(f"picker-{look}")
    overflow = page.page.evaluate(
        """() => [...document.querySelectorAll('.mewcode-picker, .mewcode-picker > *')]
            .filter((node) => node.scrollWidth > node.clientWidth + 1)
            .map((node) => node.className)"""
    )
    if look == "dark":  # the next test's notebook would begin with it
        page.page.evaluate(
            """() => (window.jupyterapp || window.jupyterlab).commands
                .execute('apputils:change-theme', { theme: 'JupyterLab Light' })"""
        )
    assert overflow == []
    if look == "narrow":
        width = page.page.locator(".mewcode-picker").bounding_box()["width"]
        assert width <= 365
