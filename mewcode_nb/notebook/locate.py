"""Where the kernel is: which notebook, which folder, which kind of front end, which cell.

No single source is right everywhere. The running servers know the path even after a rename; the
kernel's environment knows the path at its start; VS Code and Colab have ways of their own; else
only the working folder is known, and the user is told so. What was seen (`Sightings`) is gathered
by one thin function and judged by a pure one.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = [
    "FrontendKind",
    "NotebookPlace",
    "Sightings",
    "cell_id",
    "frontend_kind",
    "judge_place",
    "locate",
    "runs_one_prompt",
]

FrontendKind = Literal["terminal", "headless", "interactive"]

ASK_SECONDS = 1.0
"""The longest one local server may take to answer a few hundred bytes over loopback."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class NotebookPlace:
    """The open notebook, as far as it is known."""

    path: Path | None
    """The notebook file, absolute; None where it is not known."""
    folder: Path
    """The notebook's folder, or the working folder in its place."""
    source: str
    """How it was found, in words for `%mewcode status`."""


@dataclass(frozen=True, slots=True)
class Sightings:
    """What each source says, empty where it says nothing."""

    cwd: Path
    server: str = ""
    """Absolute path from a running server's list of sessions."""
    session_name: str = ""
    """`__session__` or `JPY_SESSION_NAME`: a path when absolute, else only a name."""
    vscode: str = ""
    colab: str = ""


def judge_place(seen: Sightings) -> NotebookPlace:
    """The best of what was seen. Colab gives a name without a folder."""
    for text, source in (
        (seen.server, "the Jupyter server's list of sessions"),
        (seen.session_name, "the kernel's session name"),
        (seen.vscode, "VS Code"),
    ):
        path = Path(text) if text else None
        if path is not None and path.is_absolute():
            return NotebookPlace(path, path.parent, source)
    if seen.colab:
        return NotebookPlace(
            seen.cwd / PurePosixPath(seen.colab).name, seen.cwd, "Colab's name for it"
        )
    return NotebookPlace(None, seen.cwd, "notebook not known; the working folder stands in")


def locate(shell: InteractiveShell, environ: Mapping[str, str]) -> NotebookPlace:
    """Look at every source in reach; asks servers on this machine only, and only from a kernel."""
    names: Mapping[str, object] = shell.user_ns
    session = _text(names.get("__session__")) or environ.get("JPY_SESSION_NAME", "")
    kernel = getattr(shell, "kernel", None)
    identity = kernel_id(kernel) if kernel is not None else ""
    return judge_place(
        Sightings(
            cwd=_cwd(),
            server=_from_servers(identity) if identity and session else "",
            session_name=session,
            vscode=_text(names.get("__vsc_ipynb_file__")),
            colab=_text(environ.get("COLAB_NOTEBOOK_NAME")),
        )
    )


def frontend_kind(shell: InteractiveShell) -> FrontendKind:
    """Who could answer a question: nobody (`headless`), a terminal, or a page (`interactive`)."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return "terminal"
    content = _parent(shell).get("content")
    allowed = content.get("allow_stdin") if isinstance(content, Mapping) else False
    return "interactive" if allowed else "headless"


def cell_id(shell: InteractiveShell) -> str:
    """The running cell's id as the notebook file has it, or an empty string."""
    metadata = _parent(shell).get("metadata")
    return _text(metadata.get("cellId")) if isinstance(metadata, Mapping) else ""


def runs_one_prompt(shell: InteractiveShell) -> bool:
    """Whether the running cell is a prompt and nothing else."""
    content = _parent(shell).get("content")
    code = _text(content.get("code")) if isinstance(content, Mapping) else ""
    return code.lstrip().startswith("%%mewcode")


def kernel_id(kernel: object) -> str:
    """The kernel's id as servers know it, from its connection file's name."""
    app = getattr(kernel, "parent", None)
    name = Path(_text(getattr(app, "connection_file", ""))).stem
    return name.removeprefix("kernel-") if name.startswith("kernel-") else ""


def _parent(shell: InteractiveShell) -> Mapping[str, object]:
    kernel = getattr(shell, "kernel", None)
    parent = kernel.get_parent() if kernel is not None else None
    return parent if isinstance(parent, Mapping) else {}


def _from_servers(identity: str) -> str:
    for server in _running_servers():
        for session in _sessions(_text(server.get("url")), _text(server.get("token"))):
            kernel = session.get("kernel")
            path = _text(session.get("path"))
            if path and isinstance(kernel, Mapping) and kernel.get("id") == identity:
                return str(Path(_text(server.get("root_dir")), path))
    return ""


def _running_servers() -> Iterator[Mapping[str, object]]:
    """What each server of this user says of itself in the runtime folder.

    `jupyter_server` would list them too, but it may be missing from the kernel's environment and
    costs some hundred modules.
    """
    try:
        from jupyter_core.paths import jupyter_runtime_dir
    except ImportError:
        return
    for file in sorted(Path(jupyter_runtime_dir()).glob("jpserver-*.json")):
        try:
            server = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # ended meanwhile, or being written
        if isinstance(server, Mapping):
            yield server


def _sessions(url: str, token: str) -> list[Mapping[str, object]]:
    """One server's sessions; empty when it is elsewhere, silent or speaks something else."""
    if urllib.parse.urlsplit(url).hostname not in _LOOPBACK:
        return []
    request = urllib.request.Request(  # noqa: S310 - the host is checked above
        urllib.parse.urljoin(url, "api/sessions"), headers={"Authorization": f"token {token}"}
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=ASK_SECONDS) as response:
            found = json.load(response)
    except (OSError, ValueError):
        return []
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def _cwd() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.sep)  # the working folder was deleted under us


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
