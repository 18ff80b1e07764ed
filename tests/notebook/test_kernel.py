from __future__ import annotations

import hashlib
import json
import re

import pytest

from mewcode_nb.testing import reply, tool_use

pytestmark = pytest.mark.kernel

VERBATIM = "{v:k for k,v in d.items()} $HOME {{x}} {In[1]}"


@pytest.fixture
def kernel(start_kernel, mewcode_server):
    server = mewcode_server(default="fine")
    kernel = start_kernel(server)
    kernel.server = server
    assert kernel.run("%load_ext mewcode_nb").status == "ok"
    return kernel


def test_n_01_a_kernel_sends_both_magics_word_for_word(kernel):
    assert kernel.run(f"d = {{}}; x = 1\n%mewcode ask {VERBATIM}").status == "ok"
    assert kernel.run(f"%%mewcode\n{VERBATIM}\nwhy?").status == "ok"
    sent = [log.body["messages"][-1]["content"][0]["text"] for log in kernel.server.requests]
    assert sent == [VERBATIM, f"{VERBATIM}\nwhy?"]


def test_a_turn_is_awaited_and_the_loop_goes_on_turning(kernel):
    kernel.server.add(reply("slowly " * 20, delay=0.02))
    kernel.run(
        "import asyncio\nticks = 0\n"
        "async def tick():\n    global ticks\n    while True:\n"
        "        await asyncio.sleep(0.01); ticks += 1\n"
        "task = asyncio.ensure_future(tick())"
    )
    kernel.run("before = ticks")
    assert kernel.run("%%mewcode\nhi").status == "ok"
    assert int(kernel.run("print(ticks - before)").text.strip()) >= 5


def test_paths_that_are_not_awaited_work_in_a_kernel_and_leave_its_loop_alone(kernel):
    cells = (
        "x = %mewcode ask one",
        "%%capture out\n%%mewcode\ntwo",
        "import asyncio\nawait asyncio.sleep(0)\n_ = get_ipython().run_cell('%%mewcode\\nthree')",
    )
    for cell in cells:
        ran = kernel.run(cell)
        assert ran.status == "ok", ran.text
    assert "fine" in kernel.run("print(x.text, [o.data for o in out.outputs])").text
    assert kernel.run("%%mewcode\nfour").status == "ok"
    assert [len(log.body["messages"]) for log in kernel.server.requests] == [1, 3, 5, 7]
    assert kernel.run("import asyncio\nawait asyncio.sleep(0.01); print('alive')").text.strip() == (
        "alive"
    )


def test_a_callback_of_the_loop_may_start_a_turn_of_its_own(kernel):
    kernel.run(
        "import asyncio\ndone = asyncio.get_running_loop().create_future()\n"
        "def click():\n"
        "    done.set_result(get_ipython().run_cell('%%mewcode -o late\\nhi').success)\n"
    )
    ran = kernel.run("asyncio.get_running_loop().call_soon(click)\nprint(await done, late.text)")
    assert "True fine" in ran.text


def test_approval_by_a_line_of_input_on_a_path_that_is_not_awaited(kernel):
    kernel.server.add(reply(tool_use("run_python", code="answer = 42")), "done")
    ran = kernel.run("x = %mewcode ask go", allow_stdin=True, answer="y")
    assert ran.status == "ok", ran.text
    assert kernel.run("print(answer)").text.strip() == "42"


def test_the_session_on_disk_names_the_cell_and_holds_the_talk(kernel, in_project):
    content = kernel.client.session.msg(
        "execute_request",
        {
            "code": "%%mewcode\nremember me",
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
        },
        metadata={"cellId": "cell-77"},
    )
    kernel.client.shell_channel.send(content)
    assert kernel.finish(content["header"]["msg_id"]).status == "ok"
    (path,) = (in_project.notebooks / ".mewcode" / "sessions").glob("*/conversation.jsonl")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    prompt = next(record for record in records if record.get("origin") == "user")
    digest = hashlib.sha256(b"remember me").hexdigest()
    assert prompt["cell"] == {"id": "cell-77", "sha256": digest}
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{4}", path.parent.name)
    assert (in_project.notebooks / ".mewcode" / ".gitignore").is_file()


def test_l_04_a_kernel_without_home_or_key_loads_and_says_what_is_missing(
    start_kernel, mewcode_server
):
    kernel = start_kernel(mewcode_server(), HOME=None, USERPROFILE=None, ANTHROPIC_API_KEY=None)
    assert kernel.run("%load_ext mewcode_nb").text.strip() == ""
    assert "not set" in kernel.run("%mewcode status").text
    ran = kernel.run("%%mewcode\nhi")
    assert ran.status == "error"
    assert "ANTHROPIC_API_KEY" in ran.evalue


def test_the_magic_is_complete_in_a_front_end(kernel):
    code = "%%mewcode --mo"
    message = kernel.client.complete(code, len(code))
    got = kernel.client.get_shell_msg(timeout=20)
    while got["parent_header"].get("msg_id") != message:
        got = kernel.client.get_shell_msg(timeout=20)
    matches, start = got["content"]["matches"], got["content"]["cursor_start"]
    assert [code[:start] + match for match in matches] == ["%%mewcode --mode", "%%mewcode --model"]
