from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

PORT_LINE = "http://127.0.0.1:"
TOKEN = "browser-tests"
PATIENCE = 60_000
"""Milliseconds: a busy two-core machine takes 20 s to open a notebook."""
CHROMIUM_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
APP = "(window.jupyterapp || window.jupyterlab)"
NOTEBOOK = f"{APP}.shell.currentWidget"
ARTIFACTS = Path(__file__).parents[2] / "artifacts" / "browser"


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(240))
            item.add_marker(pytest.mark.xdist_group("browser"))


@dataclass
class Jupyter:
    """A running Jupyter server and where its files are."""

    app: str
    port: int
    root: Path
    process: subprocess.Popen

    def url(self, name):
        page = f"lab/tree/{name}?reset" if self.app == "lab" else f"notebooks/{name}?"
        return f"http://127.0.0.1:{self.port}/{page}&token={TOKEN}"

    def api(self, path, method="GET"):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/{path}",
            method=method,
            headers={"Authorization": f"token {TOKEN}"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def stop_kernels(self):
        for session in self.api("sessions"):
            self.api(f"sessions/{session['id']}", "DELETE")

    def read(self, name):
        notebook = nbformat.read(self.root / name, 4)
        nbformat.validate(notebook)
        return notebook


@pytest.fixture(scope="session")
def chromium():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


def _start(app, folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    root = folder / "notebooks"
    root.mkdir(parents=True)
    home = folder / "home"
    home.mkdir()
    own = {
        name: str(folder / name.lower())
        for name in (
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_RUNTIME_DIR",
            "JUPYTER_DATA_DIR",
            "JUPYTERLAB_SETTINGS_DIR",
            "JUPYTERLAB_WORKSPACES_DIR",
            "IPYTHONDIR",
        )
    }
    _no_news(Path(own["JUPYTERLAB_SETTINGS_DIR"]))
    module = {"lab": "jupyterlab", "notebook": "notebook"}[app]
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANTHROPIC", "MEWCODE"))
    }
    log = (folder / "server.log").open("w", encoding="utf-8")
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            module,
            "--no-browser",
            "--allow-root",
            f"--port={port}",
            "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={TOKEN}",
            f"--ServerApp.root_dir={root}",
            "--expose-app-in-browser",
        ],
        cwd=root,
        env={**inherited, **own, "HOME": str(home)},
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    log.close()
    jupyter = Jupyter(app, port, root, process)
    _wait_until_up(jupyter, folder / "server.log")
    return jupyter


def _no_news(settings):
    folder = settings / "@jupyterlab" / "apputils-extension"
    folder.mkdir(parents=True)
    wanted = {"fetchNews": "false", "checkForUpdates": False}
    path = folder / "notification.jupyterlab-settings"
    path.write_text(json.dumps(wanted), encoding="utf-8")


def _wait_until_up(jupyter, log):
    import time

    deadline = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < deadline:
        try:
            jupyter.api("status")
        except OSError:
            assert jupyter.process.poll() is None, log.read_text(encoding="utf-8")[-2000:]
            time.sleep(0.2)
        else:
            return
    pytest.fail("the Jupyter server did not start:\n" + log.read_text(encoding="utf-8")[-2000:])


@pytest.fixture(scope="session", params=["lab", "notebook"])
def jupyter(request, chromium, tmp_path_factory):
    server = _start(request.param, tmp_path_factory.mktemp(request.param))
    yield server
    server.stop_kernels()
    server.process.terminate()
    try:
        server.process.wait(20)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.wait()


class NotebookPage:
    """An open notebook, driven by the application's commands; clicks only where a user must."""

    def __init__(self, page, jupyter, name):
        self.page = page
        self.jupyter = jupyter
        self.name = name

    def open(self, *, kernel=True, busy=False):
        # A new page hears of no status before the kernel answers its first question; and an idle
        # control thread is called idle too, while a cell's own thread answers when it is free.
        ready = "k.info.then(() => true)" if busy else "k.status === 'idle'"
        self.page.goto(self.jupyter.url(self.name))
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=PATIENCE)
        self.page.wait_for_function(
            f"""() => {{ const w = {NOTEBOOK};
                return w && w.context && w.context.isReady && w.content.model
                    && w.content.widgets.length === w.content.model.cells.length; }}""",
            timeout=PATIENCE,
        )
        if kernel:
            self.page.wait_for_function(
                f"""() => {{ const w = {NOTEBOOK};
                    const k = w && w.sessionContext && w.sessionContext.session
                        && w.sessionContext.session.kernel;
                    return k && {ready}; }}""",
                timeout=PATIENCE,
            )
        return self

    def run(self, index, *, wait=True):
        self.page.evaluate(
            f"""(i) => {{ const w = {NOTEBOOK}; w.content.activeCellIndex = i;
                {APP}.commands.execute('notebook:run-cell'); }}""",
            index,
        )
        if wait:
            self.wait_done(index)

    def wait_done(self, index):
        self.page.wait_for_function(
            f"""(i) => {{ const c = {NOTEBOOK}.content.widgets[i];
                return /\\[\\d+\\]/.test(c.promptNode.innerText); }}""",
            arg=index,
            timeout=PATIENCE,
        )

    def output(self, index):
        self.page.wait_for_function(
            f"(i) => {NOTEBOOK}.content.widgets[i].outputArea", arg=index, timeout=PATIENCE
        )
        return self.page.evaluate(
            f"(i) => {NOTEBOOK}.content.widgets[i].outputArea.node.innerText", index
        )

    def wait_text(self, index, text):
        self.page.wait_for_function(
            f"""([i, t]) => {NOTEBOOK}.content.widgets[i].outputArea.node.innerText.includes(t)""",
            arg=[index, text],
            timeout=PATIENCE,
        )

    def command(self, name):
        self.page.evaluate(f"(n) => {APP}.commands.execute(n)", name)

    def save(self):
        self.page.evaluate(f"() => {NOTEBOOK}.context.save()")
        return self.jupyter.read(self.name)

    def button(self, name):
        return self.page.get_by_role("button", name=name)

    def picture(self, name):
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        path = ARTIFACTS / f"{self.jupyter.app}-{name}.png"
        self.page.locator(".jp-NotebookPanel").first.screenshot(path=str(path))
        return path


@pytest.fixture
def open_notebook(jupyter, chromium, request):
    """Opens a notebook of the server's root; a picture of its end is kept."""
    context = chromium.new_context(viewport={"width": 1100, "height": 900})
    opened = []

    def make(name):
        page = NotebookPage(context.new_page(), jupyter, name).open()
        opened.append(page)
        return page

    yield make
    for page in opened:
        if page.page.is_closed():
            continue
        page.picture(f"{request.node.originalname}-end")
    context.close()
    jupyter.stop_kernels()


@pytest.fixture
def notebook(jupyter, open_notebook, mewcode_server):
    """Writes and opens a notebook whose first cell, already run, loads the extension."""

    def make(script, cells, **server):
        api = mewcode_server(script, **server)
        name = f"test{len(list(jupyter.root.glob('*.ipynb')))}.ipynb"
        setup = (
            "import os\n"
            f"os.environ['ANTHROPIC_BASE_URL'] = {api.base_url!r}\n"
            "os.environ['ANTHROPIC_API_KEY'] = 'test-key'\n"
            "%load_ext mewcode_nb"
        )
        book = new_notebook(cells=[new_code_cell(text) for text in (setup, *cells)])
        book.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        nbformat.write(book, jupyter.root / name)
        page = open_notebook(name)
        page.server = api
        page.run(0)
        return page

    return make
