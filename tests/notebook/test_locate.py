from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from mewcode_nb.notebook.locate import (
    NotebookPlace,
    Sightings,
    cell_id,
    frontend_kind,
    judge_place,
    locate,
)

CWD = Path("/here")


@pytest.mark.parametrize(
    ("seen", "path", "folder", "word"),
    [
        (Sightings(CWD, "/a/new.ipynb", "/a/old.ipynb"), "/a/new.ipynb", "/a", "server"),
        (Sightings(CWD, "", "/a/old.ipynb", "/v/x.ipynb"), "/a/old.ipynb", "/a", "session name"),
        (Sightings(CWD, "", "console-1", "/v/x y.ipynb"), "/v/x y.ipynb", "/v", "VS Code"),
        (Sightings(CWD, colab="my book.ipynb"), "/here/my book.ipynb", "/here", "Colab"),
        (Sightings(CWD, colab="../../etc/x.ipynb"), "/here/x.ipynb", "/here", "Colab"),
        (Sightings(CWD, session_name="console-1"), None, "/here", "working folder"),
    ],
)
def test_the_best_sighting_decides(seen, path, folder, word):
    place = judge_place(seen)
    assert place.path == (Path(path) if path else None)
    assert place.folder == Path(folder)
    assert word in place.source


def fake_shell(parent, *, kernel=True, connection="kernel-abc.json", **names):
    made = SimpleNamespace(
        get_parent=lambda: parent, parent=SimpleNamespace(connection_file=connection)
    )
    return SimpleNamespace(user_ns=names, kernel=made if kernel else None)


@pytest.mark.parametrize(
    ("shell", "kind", "cell"),
    [
        (fake_shell(None, kernel=False), "terminal", ""),
        (fake_shell({"content": {"allow_stdin": True}}), "interactive", ""),
        (fake_shell({"content": {"allow_stdin": False}}), "headless", ""),
        (fake_shell({}), "headless", ""),
        (fake_shell(None), "headless", ""),
        (
            fake_shell({"content": {"allow_stdin": True}, "metadata": {"cellId": "c-1"}}),
            "interactive",
            "c-1",
        ),
    ],
)
def test_the_front_end_is_told_by_the_running_request(shell, kind, cell):
    assert frontend_kind(shell) == kind
    assert cell_id(shell) == cell


def test_without_any_source_the_working_folder_stands_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = locate(fake_shell(None, kernel=False), {})
    assert place == NotebookPlace(
        None, tmp_path, "notebook not known; the working folder stands in"
    )


def test_a_renamed_notebook_is_found_through_the_running_server(tmp_path, monkeypatch):
    seen_tokens = []

    class Sessions(BaseHTTPRequestHandler):
        def do_GET(self):
            seen_tokens.append(self.headers["Authorization"])
            body = json.dumps(
                [
                    {"path": "other.ipynb", "kernel": {"id": "zzz"}},
                    {"path": "sub/renamed.ipynb", "kernel": {"id": "abc"}},
                ]
            ).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Sessions)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
        import os

        file = tmp_path / f"jpserver-{os.getpid()}.json"
        url = f"http://127.0.0.1:{server.server_port}/base/"
        facts = {"url": url, "token": "t0", "root_dir": "/root/dir", "pid": os.getpid()}
        file.write_text(json.dumps(facts), encoding="utf-8")
        shell = fake_shell({}, __session__="/root/dir/sub/old.ipynb")
        assert locate(shell, {}).path == Path("/root/dir/sub/renamed.ipynb")
        facts["url"] = "http://jupyter.example.org:1/"
        file.write_text(json.dumps(facts), encoding="utf-8")
        assert locate(shell, {}).path == Path("/root/dir/sub/old.ipynb")
    finally:
        server.shutdown()
        server.server_close()
    assert seen_tokens == ["token t0"]
