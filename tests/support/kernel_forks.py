"""Real kernels in a fraction of the time: forked from a process that has imported their packages.

Each test that needs a kernel would otherwise pay for the import of IPython, ipykernel and the SDK,
which takes longer than most tests. The forked process then does what `python -m ipykernel_launcher`
does. Nothing of our own package is imported before the fork. `python kernel_forks.py FD` is the
process that forks; it takes one JSON line a kernel on the socket FD and answers with its pid.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys

from jupyter_client.provisioning import LocalProvisioner
from traitlets import Any

IMPORTED = ("anthropic", "anywidget", "ipykernel.kernelapp", "ipywidgets", "pydantic", "sqlite3")


class Forks:
    """The process that forks, as seen by the tests."""

    def __init__(self):
        ours, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            self._process = subprocess.Popen([sys.executable, __file__, str(fd)], pass_fds=[fd])
        self._socket = ours
        self._answers = ours.makefile("r")

    def start(self, argv, env, cwd):
        wanted = {"argv": argv, "env": env, "cwd": cwd}
        self._socket.sendall(json.dumps(wanted).encode() + b"\n")
        return Forked(int(self._answers.readline()))

    def close(self):
        self._answers.close()
        self._socket.close()
        self._process.wait(30)


class Forked:
    """A process as jupyter_client wants to see it: what it uses of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, pid):
        self.pid = pid
        self._watched = os.pidfd_open(pid)

    def poll(self):
        return 0 if select.select([self._watched], [], [], 0)[0] else None

    def wait(self):
        select.select([self._watched], [], [])
        return 0

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def __del__(self):
        os.close(self._watched)


class ForkProvisioner(LocalProvisioner):
    """Starts a kernel, also a restarted one, by a fork."""

    forks = Any()

    async def launch_kernel(self, cmd, **options):
        argv = cmd[cmd.index("ipykernel_launcher") :]
        self.process = self.forks.start(argv, options["env"], options["cwd"])
        self.pid = self.pgid = self.process.pid
        return self.connection_info


def can_fork():
    """Whether this system has what is needed; elsewhere kernels start as usual."""
    return hasattr(os, "fork") and hasattr(os, "pidfd_open")


def serve(fd):
    """Fork a kernel for each line; True in the new process, False at the end."""
    channel = socket.socket(fileno=fd)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a kernel ended
    with channel, channel.makefile("r") as lines:
        for line in lines:
            if (pid := os.fork()) == 0:
                become(**json.loads(line))
                return True
            channel.sendall(f"{pid}\n".encode())
    return False


def become(argv, env, cwd):
    """What a process that was started afresh would find."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env, JPY_PARENT_PID=str(os.getppid()))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv[:] = argv
    added = env.get("PYTHONPATH", "")
    sys.path[:1] = [path for path in added.split(os.pathsep) if path and path not in sys.path]


def main():
    for name in IMPORTED:
        __import__(name)
    if serve(int(sys.argv[1])):
        sys.modules.pop("kernel_forks", None)
        from ipykernel.kernelapp import launch_new_instance

        with contextlib.suppress(KeyboardInterrupt):
            launch_new_instance()


if __name__ == "__main__":
    main()
