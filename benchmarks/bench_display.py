"""Twenty kilobytes of Markdown over eight seconds in JupyterLab: our renderer and the usual way."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from benchmarks.report import Budget, Report, main

SECONDS = 8.0
DELTAS = 1_000
TOKEN = "benchmark"
PATIENCE = 120_000
NOTEBOOK = "(window.jupyterapp || window.jupyterlab).shell.currentWidget"
END = "The end of the stream."

SETUP = f"""
import asyncio, time
from mewcode_nb.events import TextDelta
from mewcode_nb.notebook.render import NotebookRenderer
from mewcode_nb.widgets.words import Words
from IPython.display import Markdown, display
paragraph = "Words with **bold**, `code`, a [link](#x) and $x^2 + y^2$, as answers have.\\n\\n"
listing = "- one item\\n- another, with `code`\\n\\n"
listing += "```python\\nfor x in range(10):\\n    print(x)\\n```\\n\\n"
table = "| a | b |\\n| --- | --- |\\n" + "| 1 | 2 |\\n" * 2 + "\\n"
text = ""
while len(text) < 20_000:
    text += f"## Part {{len(text)}}\\n\\n" + paragraph + listing + table
text += {END!r}
size = len(text) // {DELTAS} + 1
deltas = [text[at:at + size] for at in range(0, len(text), size)]
pause = {SECONDS} / len(deltas)

class Counting:
    messages = characters = 0
    def __init__(self, inner): self.inner = inner
    def publish(self, data, metadata=None, **options):
        Counting.messages += 1
        Counting.characters += sum(len(v) for v in data.values() if isinstance(v, str))
        self.inner.publish(data, metadata, **options)

async def stream(show):
    Counting.messages = Counting.characters = 0
    start = time.perf_counter()
    for number, delta in enumerate(deltas):
        show(delta)
        await asyncio.sleep(max(0, start + (number + 1) * pause - time.perf_counter()))
"""

OURS = """
renderer = NotebookRenderer(Counting(get_ipython().display_pub), Words("en"))
await stream(lambda delta: renderer.show(TextDelta(delta)))
renderer.close()
print("COUNTED", Counting.messages, Counting.characters, len(text))
"""

USUAL = """
handle, grown, shown = display(Markdown(""), display_id=True), [], [0.0]
def whole(delta):
    grown.append(delta)
    if time.perf_counter() - shown[0] >= 0.1 or len(grown) == len(deltas):
        shown[0] = time.perf_counter()
        body = "".join(grown)
        Counting.messages += 1
        Counting.characters += len(body)
        handle.update(Markdown(body))
await stream(whole)
print("COUNTED", Counting.messages, Counting.characters, len(text))
"""

FRAMES = """() => { window.__frames = 0; window.__worst = 0; let last = performance.now();
    const tick = (now) => { window.__frames += 1;
        window.__worst = Math.max(window.__worst, now - last); last = now;
        window.__raf = requestAnimationFrame(tick); };
    window.__raf = requestAnimationFrame(tick); window.__start = performance.now(); }"""


def measure() -> Report:
    """One notebook each, a fresh page each, the same text and the same pace."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("bench_display needs Chromium (make system)")
    with tempfile.TemporaryDirectory() as folder, _lab(Path(folder)) as url, sync_playwright() as p:
        browser = p.chromium.launch(
            executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        ours = _play(browser, Path(folder), url, "ours", OURS)
        usual = _play(browser, Path(folder), url, "usual", USUAL)
        browser.close()
    return _report(ours, usual)


def _play(browser: Any, folder: Path, url: str, name: str, code: str) -> dict[str, float]:
    book = new_notebook(cells=[new_code_cell(SETUP), new_code_cell(code)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(book, folder / "work" / f"{name}.ipynb")
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.goto(f"{url}/lab/tree/{name}.ipynb?reset&token={TOKEN}")
    page.wait_for_function(
        f"""() => {{ const w = {NOTEBOOK}; const k = w && w.sessionContext
            && w.sessionContext.session && w.sessionContext.session.kernel;
            return k && k.status === 'idle'; }}""",
        timeout=PATIENCE,
    )
    _run(page, 0)
    page.wait_for_function(
        f"() => /\\[\\d+\\]/.test({NOTEBOOK}.content.widgets[0].promptNode.innerText)",
        timeout=PATIENCE,
    )
    page.evaluate(f"() => {NOTEBOOK}.content.widgets[1].node.scrollIntoView()")
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable")
    busy = _busy(metrics)
    page.evaluate(FRAMES)
    _run(page, 1)
    output = f"{NOTEBOOK}.content.widgets[1].outputArea.node.innerText"
    # Both: the words are painted, and the cell's last line has come.
    page.wait_for_function(
        f"() => {output}.includes({json.dumps(END)}) && {output}.includes('COUNTED')",
        timeout=PATIENCE,
        polling=50,
    )
    frames, seconds, worst = page.evaluate(
        "() => [window.__frames, (performance.now() - window.__start) / 1000, window.__worst]"
    )
    busy = _busy(metrics) - busy
    counted = page.evaluate(f"() => {output}").rpartition("COUNTED")[2].split()
    page.close()
    messages, characters, size = map(int, counted[:3])
    return {
        "fps": frames / seconds,
        "worst": worst / 1000,
        "seconds": seconds,
        "updates": messages / SECONDS,
        "sent": characters / size,
        "busy": busy,
    }


def _busy(metrics: Any) -> float:
    found = metrics.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in found if metric["name"] == "TaskDuration")


def _run(page: Any, index: int) -> None:
    page.evaluate(
        f"""(i) => {{ {NOTEBOOK}.content.activeCellIndex = i;
            (window.jupyterapp || window.jupyterlab).commands.execute('notebook:run-cell'); }}""",
        index,
    )


@contextmanager
def _lab(folder: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    root = folder / "work"
    root.mkdir()
    names = ("CONFIG", "RUNTIME", "DATA")
    own = {f"JUPYTER_{name}_DIR": str(folder / name) for name in names}
    own |= {f"JUPYTERLAB_{name}_DIR": str(folder / name) for name in ("SETTINGS", "WORKSPACES")}
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        f"--IdentityProvider.token={TOKEN}",
        f"--ServerApp.root_dir={root}",
        "--expose-app-in-browser",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        cwd=root,
        env={**os.environ, **own, "IPYTHONDIR": str(folder / "ipython"), "HOME": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{url}/api/status?token={TOKEN}")
        yield url
    finally:
        process.terminate()
        process.wait(20)


def _wait(address: str) -> None:
    deadline = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def _report(ours: dict[str, float], usual: dict[str, float]) -> Report:
    def row(name: str, found: dict[str, float]) -> tuple[str, ...]:
        figures = ("fps", "worst", "updates", "sent", "busy", "seconds")
        return name, *(f"{found[figure]:.1f}" for figure in figures)

    return Report(
        f"20 KB of Markdown over {SECONDS:g} s in JupyterLab",
        (
            "how",
            "fps",
            "worst frame s",
            "updates/s",
            "characters sent / text",
            "page busy s",
            "done after s",
        ),
        (
            row("mewcode_nb (blocks frozen, tail updated)", ours),
            row("update_display of the whole text, 10 Hz", usual),
        ),
        (
            Budget("updates per second", ours["updates"], 12),
            Budget("done within, s", ours["seconds"], 9),
            Budget("frames per second", ours["fps"], 20, at_least=True),
        ),
        ("Headless Chromium, software rendering. Each message holds several renderings.",),
    )


if __name__ == "__main__":
    main(measure)
