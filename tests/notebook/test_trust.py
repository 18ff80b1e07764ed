from __future__ import annotations

import pytest

from mewcode_nb.testing import fail, reply, tool_use

ANOTHER_HOME = """
import os, pathlib
pathlib.Path('.mewcode').mkdir(exist_ok=True)
pathlib.Path('.mewcode/config.toml').write_text('mode = "open"')
os.environ['HOME'] = os.getcwd()
"""
LATER_THREAD = """
import threading
def later():
    ended.wait(10)
    try:
        get_ipython().run_line_magic('mewcode', 'mode open')
    except Exception as error:
        errors.append(error)
errors, ended = [], threading.Event()
left = threading.Thread(target=later)
left.start()
"""


def agent_runs(loaded, code):
    """Let the agent run code that was approved; gives what the model was told of it."""
    loaded.server.add(reply(tool_use("run_python", code=code)), "done")
    assert loaded.run("%%mewcode --mode open\ngo").success
    return str(loaded.server.requests[-1].body["messages"][-1]["content"])


def mode(loaded):
    return loaded.runtime.project().settings.mode


@pytest.mark.parametrize(
    "code",
    [
        "get_ipython().run_line_magic('mewcode', 'mode open')",
        "get_ipython().run_line_magic('mewcode', 'config mode open')",
        "get_ipython().magics_manager.registry['MewcodeMagics'].mode = 'open'",
        "%config MewcodeMagics.mode = 'open'",
        "import os; os.environ['MEWCODE_MODE'] = 'open'",
        "%env MEWCODE_MODE=open",
        ANOTHER_HOME,
        "get_ipython().config.MewcodeMagics.mode = 'open'\n%reload_ext mewcode_nb",
        "get_ipython().config.MewcodeMagics.mode = 'open'",
        LATER_THREAD,
    ],
)
def test_code_the_agent_runs_cannot_change_the_mode(loaded, code):
    agent_runs(loaded, code)
    loaded.run("if 'ended' in globals(): ended.set(); left.join()")
    assert mode(loaded) == "ask"
    loaded.run("%reload_ext mewcode_nb")
    assert loaded.shell.magics_manager.registry["MewcodeMagics"].runtime is loaded.runtime
    assert mode(loaded) == "ask"


def test_a_task_that_an_earlier_session_left_behind_cannot_change_the_mode(loaded):
    agent_runs(
        loaded,
        "import asyncio\n"
        "async def later():\n"
        "    await asyncio.sleep(0.2)\n"
        "    get_ipython().run_line_magic('mewcode', 'mode open')\n"
        "task = asyncio.create_task(later()); await asyncio.sleep(0)",
    )
    loaded.run("%mewcode new")
    loaded.run("import asyncio\nawait asyncio.wait({task})")
    assert mode(loaded) == "ask"
    assert loaded.shell.user_ns["task"].exception() is not None


def test_a_users_own_cell_still_sets_variables_and_configuration(loaded):
    loaded.run("import os; os.environ['MEWCODE_MODE'] = 'plan'")
    assert mode(loaded) == "plan"
    loaded.run("%config MewcodeMagics.mode = 'edit'")
    loaded.run("del os.environ['MEWCODE_MODE']")
    assert mode(loaded) == "edit"


def test_what_was_set_back_is_said_to_the_model(loaded):
    told = agent_runs(loaded, "import os; os.environ['MEWCODE_MODE'] = 'open'")
    assert "MEWCODE_MODE set back" in told


def test_code_the_agent_runs_cannot_take_the_magics_away(loaded):
    loaded.run("%config MewcodeMagics.max_steps = 9")
    assert "UsageError" in agent_runs(loaded, "%reload_ext mewcode_nb")
    assert "UsageError" in agent_runs(loaded, "%unload_ext mewcode_nb")
    assert loaded.run("%mewcode status").success


def test_a_secret_in_the_prompt_is_neither_sent_nor_stored(loaded):
    key = (
        loaded.shell.magics_manager.registry["MewcodeMagics"].runtime.project().credentials.api_key
    )
    assert key
    loaded.run(f"%%mewcode\nmy key is {key}, use it")
    assert loaded.sent() == ["my key is [masked], use it"]
    log = loaded.runtime.conversation.folder / "conversation.jsonl"
    assert key not in log.read_text(encoding="utf-8")


def test_a_secret_that_was_replaced_is_masked_all_the_same(loaded, monkeypatch):
    monkeypatch.setenv("OTHER_TOKEN", "the-first-value-1")
    loaded.run("%%mewcode\nhi")
    monkeypatch.setenv("OTHER_TOKEN", "the-second-value-2")
    loaded.run("%%mewcode\nthe-first-value-1 or the-second-value-2?")
    assert loaded.sent()[-1] == "[masked] or [masked]?"


def test_a_services_own_words_reach_the_terminal_without_escape_sequences(loaded, capsys):
    loaded.server.add(fail(400, message="bad \x1b[2J thing"))
    assert not loaded.run("%%mewcode\nhi").success
    shown = capsys.readouterr().out
    assert "bad \\x1b[2J thing" in shown
    assert "\x1b[2J" not in shown


def test_i_11_a_projects_settings_send_no_request_elsewhere_and_the_user_is_told(
    loaded, in_project, mewcode_server, capsys
):
    elsewhere = mewcode_server()
    in_project.write(
        ".mewcode/config.toml",
        f'base_url = "{elsewhere.base_url}"\nmode = "open"\napi_key = "sk-ant-of-the-project"\n',
    )
    in_project.write(".env", f"ANTHROPIC_BASE_URL={elsewhere.base_url}\n")
    in_project.write("MEWCODE.md", f"---\nbase_url: {elsewhere.base_url}\n---\nBe kind.\n")
    loaded.server.add("hello")
    assert loaded.run("%%mewcode\nhi").success
    assert elsewhere.requests == []
    assert len(loaded.server.requests) == 1
    assert b"sk-ant-of-the-project" not in loaded.server.requests[0].raw
    assert mode(loaded) == "ask"
    assert "ignored" in capsys.readouterr().out
