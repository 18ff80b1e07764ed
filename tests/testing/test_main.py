from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import closing
from http.client import HTTPConnection

import pytest


def run(*arguments):
    command = [sys.executable, "-m", "mewcode_nb.testing", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def post(base_url, text):
    body = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": text}],
    }
    with closing(HTTPConnection(base_url.removeprefix("http://"), timeout=5)) as connection:
        headers = {"anthropic-version": "2026-10-21"}
        connection.request("POST", "/v1/messages", json.dumps(body), headers)
        with closing(connection.getresponse()) as response:
            return response.status, json.loads(response.read())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_the_command_serves_logs_and_ends_cleanly(tmp_path, number):
    script = tmp_path / "script.json"
    script.write_text('["你好", {"status": 529}]', encoding="utf-8")
    log = tmp_path / "log.jsonl"
    with run("--script", script, "--log", log, "--default", "over") as process:
        base_url = json.loads(process.stdout.readline())["base_url"]
        answers = [post(base_url, text) for text in ("a", "b", "c", " ")]
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (0, "")
    assert [status for status, _ in answers] == [200, 529, 200, 400]
    assert answers[0][1]["content"][0]["text"] == "你好"
    assert answers[2][1]["content"][0]["text"] == "over"
    assert json.loads(out)["requests"] == 4
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [line["kind"] for line in lines] == ["text", "fault:status", "text", "refused"]
    assert lines[0]["body"]["messages"][0]["content"] == "a"


def test_a_script_that_cannot_be_read_is_told_in_one_line(tmp_path):
    script = tmp_path / "script.json"
    script.write_text('[{"txt": "a"}]', encoding="utf-8")
    with run("--script", script) as process:
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("entry 1: unknown key 'txt'")
    assert len(err.splitlines()) == 1
