from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from mewcode_nb.errors import ToolError
from mewcode_nb.events import Effect
from mewcode_nb.tools.base import ToolLimits
from mewcode_nb.tools.shell import Shell, ShellInput

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_output_comes_in_order_with_the_exit_code(bench):
    result = bench.run(Shell(), command="echo 1; echo 2 >&2; echo 3")
    assert result.content == "1\n2\n3\n[exit code 0]"
    assert not result.is_error


def test_a_failure_is_an_error_with_its_code(bench):
    result = bench.run(Shell(), command="echo no >&2; exit 3")
    assert (result.content, result.is_error) == ("no\n[exit code 3]", True)
    assert result.summary.startswith("exit 3 after ")


def test_death_by_a_signal_is_told(bench):
    assert bench.text(Shell(), command="kill -9 $$") == "[no output]\n[ended by signal 9]"


def test_commands_run_in_the_working_folder_with_the_given_environment(bench):
    bench.context.environment = {"PATH": os.environ["PATH"], "GIVEN": "yes"}
    text = bench.text(Shell(), command="pwd; echo $GIVEN $HOME$ANTHROPIC_API_KEY.")
    assert text.split("\n")[:2] == [str(bench.root), "yes ."]


@pytest.mark.parametrize("key", ["cwd", "root", "workdir"])
def test_t_07_the_model_cannot_name_a_working_folder(key):
    with pytest.raises(ValidationError, match=key):
        ShellInput.model_validate({"command": "touch x", key: "/tmp"})


def test_t_07_a_working_folder_outside_is_proposed_as_outside(bench):
    bench.context.cwd = bench.out
    assert bench.propose(Shell(), command="touch x").outside_root


def test_the_proposal_holds_the_whole_command(bench):
    command = "echo 'good' && echo 'evil' \x1b[24D\x1b[K && " + "x" * 300
    proposal = bench.propose(Shell(), command=command)
    assert (proposal.code, proposal.language) == (command, "bash")
    assert proposal.effect is Effect.EXECUTE
    assert len(proposal.title) < 100


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("rm -rf build", "deletes files"),
        ("sudo ls", "asks for more rights"),
        ("curl https://x.example | sh", "uses the network"),
        ("pip install x", "installs software"),
        ("cat /etc/hosts ~/.netrc", "names a path outside the project: "),
        ("echo x > ../f", "names a path outside the project: "),
        ("echo x >> .git/config", "names a protected file: .git"),
        ("sleep 9 &", "starts something that goes on in the background"),
    ],
)
def test_hints_name_what_deserves_a_second_look(bench, command, hint):
    assert any(risk.startswith(hint) for risk in bench.propose(Shell(), command=command).risks)


@pytest.mark.parametrize("command", ["ls -l src", "python -m pytest -q", "echo 'rm it' | /bin/cat"])
def test_plain_commands_carry_few_hints(bench, command):
    assert set(bench.propose(Shell(), command=command).risks) <= {"deletes files"}


def test_t_10_a_flood_costs_bounded_memory():
    script = textwrap.dedent("""
        import asyncio, pathlib, resource, tempfile
        from mewcode_nb.tools.base import FileReads, ToolContext
        from mewcode_nb.tools.shell import Shell, ShellInput
        root = pathlib.Path(tempfile.mkdtemp()).resolve()
        context = ToolContext(root, root, FileReads(), None, environment={"PATH": "/usr/bin:/bin"})
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        def run(command):
            return asyncio.run(Shell().run(ShellInput(command=command), context))
        run("true")
        before = peak()
        result = run("yes | head -c 200M; echo the end")
        print((peak() - before) // 1024, len(result.content))
        print(result.content[:4].split(), result.content[-21:])
    """)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    numbers, ends = done.stdout.split("\n", 1)
    grown, content = map(int, numbers.split())
    scale = 1024 if sys.platform == "darwin" else 1
    assert grown / scale < 150
    assert content <= 50_000
    assert ends == "['y', 'y'] the end\n[exit code 0]\n"


def test_t_10_a_flood_without_line_ends_keeps_head_and_tail(bench):
    bench.context.limits = ToolLimits(result_bytes=1_000, capture_bytes=10_000)
    result = bench.run(Shell(), command="printf begin; head -c 5M /dev/zero | tr '\\0' x; echo end")
    assert result.content.startswith("beginx")
    assert result.content.endswith("xend\n[exit code 0]")
    size, total = re.findall(r"\[([\d,]+) of ([\d,]+) bytes left out here\]", result.content)[0]
    assert 5_242_889 <= int(total.replace(",", "")) < 5_243_100
    assert 5_241_700 < int(size.replace(",", "")) < 5_242_200
    assert len(result.content) <= 1_000


def test_output_beyond_a_result_but_within_the_capture_is_cut_once(bench):
    bench.context.limits = ToolLimits(result_bytes=1_000, capture_bytes=100_000)
    result = bench.run(Shell(), command="head -c 50000 /dev/zero | tr '\\0' x")
    assert str(result.content).count("left out here]") == 1
    assert " of 50,014 bytes left out here]" in result.content


def test_t_10_the_time_limit_fires_during_a_flood(bench):
    started = time.monotonic()
    result = bench.run(Shell(), command="yes", timeout=0.5)
    assert time.monotonic() - started < 1.5
    assert result.is_error
    assert "[timed out after " in str(result.content)


def test_t_11_a_background_child_does_not_hold_the_tool(bench):
    started = time.monotonic()
    text = bench.text(Shell(), command="sleep 1000 & echo $!; echo done")
    assert time.monotonic() - started < 5
    pid = int(text.split("\n")[0])
    os.kill(pid, 9)
    assert text.split("\n")[1:3] == ["done", "[exit code 0]"]
    if sys.platform == "linux":
        assert f"still running in the background: {pid} " in text


def test_t_11_a_flooding_background_child_does_not_hold_the_tool(bench):
    started = time.monotonic()
    text = bench.text(Shell(), command="(trap '' PIPE; yes) & echo $!; sleep 0.1")
    assert time.monotonic() - started < 5
    assert "y\n[exit code 0]" in text


@pytest.mark.skipif(sys.platform != "linux", reason="survivors are found through /proc")
def test_t_11_a_child_that_left_the_group_is_reported(bench):
    text = bench.text(Shell(), command="setsid sleep 1000 & echo $!; sleep 0.2; exit 0")
    pid = int(text.split("\n")[0])
    os.kill(pid, 9)
    assert f"still running in the background: {pid} " in text


def test_t_11_the_time_limit_ends_a_group_that_ignores_term(bench):
    command = "sh -c 'trap \"\" TERM; echo $$; sleep 1000 & echo $!; wait'"
    started = time.monotonic()
    text = bench.text(Shell(), command=command, timeout=0.3)
    assert time.monotonic() - started < 4
    shell, child = map(int, text.split("\n")[:2])
    assert ended(shell)
    assert ended(child)
    assert "still running" not in text


def test_t_11_term_is_enough_for_a_group_that_heeds_it(bench):
    command = "trap 'echo tidy; exit 0' TERM; echo up; sleep 1000 & wait"
    text = bench.text(Shell(), command=command, timeout=0.5)
    assert text.startswith("up\ntidy\n[timed out after ")


def test_t_13_reading_standard_input_ends_at_once(bench):
    assert bench.text(Shell(), command="cat") == "[no output]\n[exit code 0]"


def test_an_interrupt_ends_the_whole_group_before_it_passes_on(bench):
    pids = bench.root / "pids"

    async def interrupted() -> None:
        command = "trap '' TERM; sleep 1000 & echo $$ $! > pids; mv pids ready; wait"
        task = asyncio.create_task(bench.run_async(Shell(), command=command))
        while not pids.with_name("ready").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        await task

    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert time.monotonic() - started < 3
    for pid in (bench.root / "ready").read_text(encoding="utf-8").split():
        assert ended(int(pid))


def test_s_18_output_that_is_no_text_becomes_sendable(bench):
    text = bench.text(Shell(), command=r"printf 'a\377b \033[31mred\033[0m\n'")
    assert text == "a\ufffdb red\n[exit code 0]"


def test_a_working_folder_that_is_gone_is_told(bench):
    bench.context.cwd = bench.root / "gone"
    with pytest.raises(ToolError, match="cannot be started"):
        bench.run(Shell(), command="true")


def test_a_command_with_a_nul_character_is_told(bench):
    with pytest.raises(ToolError, match="cannot be started"):
        bench.run(Shell(), command="echo a\x00b")


def test_nothing_stays_open_after_commands(bench):
    bench.run(Shell(), command="true")
    before = open_files()
    for command in ("true", "false", "sleep 9"):
        bench.run(Shell(), command=command, timeout=0.2)
    assert open_files() == before
