"""`mewcode-nb sessions`: list, show, search, rename, pin, delete, restore, fork, export, import."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from mewcode_nb.cli.spoken import Command, Group, Option, language, say, warn
from mewcode_nb.cli.words import Words

if TYPE_CHECKING:
    from mewcode_nb.session.folder_store import FolderStore
    from mewcode_nb.session.info import SessionInfo
    from mewcode_nb.session.library import Library
    from mewcode_nb.transcript.export import Kind

__all__ = ["sessions"]


@dataclass
class _Desk:
    """What the commands of one call share."""

    folder: Path

    @cached_property
    def words(self) -> Words:
        return Words(language())

    @cached_property
    def library(self) -> Library:
        from mewcode_nb.cli.shelf import open_library

        return open_library(self.folder)

    def find(self, name: str) -> tuple[FolderStore, SessionInfo]:
        info = self.library.find(name)
        return self.library.store_of(info), info

    def index(self, *, project: bool) -> None:
        """Bring the lists' index up to date, now that the answer has been given."""
        for store in self.library.stores(project):
            if store.sessions.is_dir():
                store.reindex()

    def end(self) -> None:
        for notice in self.library.notices():
            warn(notice)


_desk = click.make_pass_decorator(_Desk)


@click.group(
    cls=Group,
    chinese="此文件夹及其项目的会话。ID 可以是编号、其开头几位、标题或 last。",
)
@click.option(
    "--folder",
    cls=Option,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="The notebook's folder, if it is not this one.",
    chinese="笔记本所在的文件夹，默认为当前文件夹。",
)
@click.pass_context
def sessions(ctx: click.Context, folder: Path) -> None:
    """The sessions of this folder and its project. ID: an id, its beginning, a title, or `last`."""
    ctx.obj = _Desk(folder)


def _command(
    chinese: str, name: str | None = None
) -> Callable[[Callable[..., None]], click.Command]:
    return sessions.command(name, cls=Command, chinese=chinese)


def _json_option() -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(
        "--json", "as_json", cls=Option, is_flag=True, help="For programs.", chinese="供程序使用。"
    )


def _at_option(words: str, chinese: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option("--at", metavar="N", cls=Option, help=words, chinese=chinese)


@_command("列出会话，最近使用的在前。", "list")
@click.option(
    "--project",
    cls=Option,
    is_flag=True,
    help="Those of the whole project.",
    chinese="整个项目的会话。",
)
@click.option(
    "--limit",
    cls=Option,
    type=click.IntRange(min=1),
    help="At most so many.",
    chinese="最多列出的数目。",
)
@_json_option()
@_desk
def list_sessions(desk: _Desk, project: bool, limit: int | None, as_json: bool) -> None:
    """List sessions, the last used first."""
    from mewcode_nb.cli.shelf import info_json
    from mewcode_nb.widgets.session_table import session_table, session_text

    infos = desk.library.list(project=project, limit=limit)
    if as_json:
        _print_json([info_json(info) for info in infos])
    elif infos:
        rows = session_table(
            infos, now=time.time(), language=desk.words.language, notebook_column=True
        )
        say(session_text(rows))
    elif project:
        say(desk.words("none_project"))
    else:
        elsewhere = desk.library.list(project=True, limit=1)
        say(desk.words("elsewhere" if elsewhere else "none_here"))
    desk.index(project=project)
    desk.end()


@_command("显示一个会话的对话；消息编号可用于 --at。")
@click.argument("id")
@_at_option("Only up to message N.", "只显示到第 N 条消息。")
@_desk
def show(desk: _Desk, id: str, at: str | None) -> None:  # noqa: A002
    """Show a session's conversation, with the message numbers that --at takes."""
    from mewcode_nb.cli.reading import conversation
    from mewcode_nb.session.turns import message_id

    store, info = desk.find(id)
    state = store.load(info.id)
    records = state.records
    if at is not None:
        last = message_id(records, at)
        records = records[: [record.id for record in records].index(last) + 1]
    for line in conversation(state, records, desk.words):
        say(line)
    desk.end()


@_command("在项目的所有会话中全文查找。")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--limit",
    cls=Option,
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="At most so many.",
    chinese="最多列出的数目。",
)
@_json_option()
@_desk
def search(desk: _Desk, query: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Search what was said in all sessions of the project."""
    from mewcode_nb.cli.reading import hit_json, hit_text
    from mewcode_nb.session.search import Progress
    from mewcode_nb.session.search import search as search_all

    progress: list[Progress] = []
    infos = desk.library.list(project=True)
    hits = list(search_all(infos, " ".join(query), limit=limit, progress=progress.append))
    if as_json:
        _print_json([hit_json(hit) for hit in hits])
    elif hits:
        say("\n".join(hit_text(hit, desk.words.language) for hit in hits))
    else:
        say(desk.words("no_hits", count=len(infos)))
    for unread in progress[-1].unread if progress else ():
        warn(unread)
    desk.index(project=True)
    desk.end()


@_command("给会话起标题；空标题表示去掉。")
@click.argument("id")
@click.argument("title")
@_desk
def rename(desk: _Desk, id: str, title: str) -> None:  # noqa: A002
    """Give a session a title; an empty one takes it away."""
    store, info = desk.find(id)
    flat = " ".join(title.split())
    store.annotate(info.id, {"title": flat or None})
    say(desk.words("renamed" if flat else "unnamed", id=info.id, title=flat))


@_command("置顶：此会话不会被自动清理。")
@click.argument("id")
@_desk
def pin(desk: _Desk, id: str) -> None:  # noqa: A002
    """Keep a session from being cleaned up."""
    store, info = desk.find(id)
    store.annotate(info.id, {"pin": True})
    say(desk.words("pinned", id=info.id))


@_command("取消置顶。")
@click.argument("id")
@_desk
def unpin(desk: _Desk, id: str) -> None:  # noqa: A002
    """Take a session's pin away."""
    store, info = desk.find(id)
    store.annotate(info.id, {"pin": None})
    say(desk.words("unpinned", id=info.id))


@_command("把会话移入回收站。")
@click.argument("id")
@_desk
def delete(desk: _Desk, id: str) -> None:  # noqa: A002
    """Move a session to the trash."""
    store, info = desk.find(id)
    store.trash(info.id, desk.words("by_user"))
    say(desk.words("deleted", id=info.id))


@_command("从回收站恢复会话。")
@click.argument("id")
@_desk
def restore(desk: _Desk, id: str) -> None:  # noqa: A002
    """Bring a session back from the trash."""
    from mewcode_nb.cli.shelf import find_trashed

    store, item = find_trashed(desk.library, id, desk.words)
    store.restore(item.info.id)
    say(desk.words("restored", id=item.info.id))


@_command("列出回收站中的会话。")
@_desk
def trash(desk: _Desk) -> None:
    """List what is in the trash."""
    from mewcode_nb.widgets.session_table import trash_table, trash_text

    items = [item for store in desk.library.stores(project=True) for item in store.trashed()]
    if items:
        say(trash_text(trash_table(items, now=time.time(), language=desk.words.language)))
    else:
        say(desk.words("trash_empty"))
    desk.end()


@_command("彻底删除回收站中的一个会话。")
@click.argument("id")
@click.option("--yes", cls=Option, is_flag=True, help="Do not ask.", chinese="不再询问。")
@_desk
def purge(desk: _Desk, id: str, yes: bool) -> None:  # noqa: A002
    """Remove a session in the trash for good."""
    from mewcode_nb.cli.shelf import find_trashed
    from mewcode_nb.widgets.html import visible

    store, item = find_trashed(desk.library, id, desk.words)
    if not yes:
        question = desk.words("purge_sure", id=item.info.id, name=item.info.name)
        click.confirm(visible(" ".join(question.split())), abort=True)
    store.purge(item.info.id)
    say(desk.words("purged", id=item.info.id))


@_command("从会话中的某条消息分叉出新会话。")
@click.argument("id")
@_at_option("The last message that stays; all of them without it.", "最后保留的消息；默认全部。")
@_desk
def fork(desk: _Desk, id: str, at: str | None) -> None:  # noqa: A002
    """Begin a new session that goes on from another."""
    from mewcode_nb.session.turns import message_id

    store, info = desk.find(id)
    last = "" if at is None else message_id(store.load(info.id).records, at)
    writer = store.fork(info.id, last)
    writer.close()
    say(desk.words("forked", id=info.id, new=writer.id))


@_command("把会话导出为 Markdown、HTML、笔记本或 JSONL。")
@click.argument("id")
@click.option(
    "--format",
    "kind",
    cls=Option,
    type=click.Choice(["md", "html", "ipynb", "jsonl"]),
    help="The format; else the file's suffix says it, else md.",
    chinese="格式；默认由文件后缀决定，否则为 md。",
)
@click.option(
    "-o",
    "--output",
    cls=Option,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file; else it is printed.",
    chinese="目标文件；默认打印到标准输出。",
)
@click.option(
    "--force",
    cls=Option,
    is_flag=True,
    help="Replace a file that is there.",
    chinese="替换已有的文件。",
)
@click.option(
    "--thinking",
    cls=Option,
    is_flag=True,
    help="With the model's thinking, folded.",
    chinese="包含模型的思考过程（折叠）。",
)
@_desk
def export(
    desk: _Desk,
    id: str,  # noqa: A002
    kind: str | None,
    output: Path | None,
    force: bool,
    thinking: bool,
) -> None:
    """Export a session as Markdown, HTML, a notebook or JSONL."""
    from mewcode_nb.transcript.export import export as export_state
    from mewcode_nb.transcript.export import write_export

    store, info = desk.find(id)
    state, named = store.load(info.id), cast("Kind | None", kind)
    spoken = desk.words.language
    if output is None:
        click.echo(export_state(state, named or "md", spoken, thinking=thinking), nl=False)
        return
    path = write_export(state, output, named, force, language=spoken, thinking=thinking)
    say(desk.words("exported", path=path))


@_command("导入会话文件或 Claude Code 的记录文件，成为此文件夹的新会话。", "import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_desk
def import_session(desk: _Desk, file: Path) -> None:
    """Make a session file or a transcript of Claude Code a new session of this folder."""
    from mewcode_nb.cli.shelf import import_file

    identity, count, notes = import_file(desk.library, file, desk.words)
    say(desk.words("imported", id=identity, count=count))
    for note in notes:
        warn(note)


@_command("显示各文件夹的会话占用多少空间、接下来会清理什么。")
@_desk
def storage(desk: _Desk) -> None:
    """Show how much the sessions take, by folder, and what leaves next."""
    from mewcode_nb.cli.shelf import leaving
    from mewcode_nb.cli.storage_table import storage_rows
    from mewcode_nb.widgets.columns import align

    rows = list(storage_rows(desk.library, desk.words))
    say(align(rows, right={1, 2, 3, 4}))
    say("\n".join(leaving(desk.folder, desk.library, desk.words.language)))
    say(desk.words("storage_hint"))
    desk.end()


def _print_json(value: object) -> None:
    from mewcode_nb.transcript.lines import printable_json

    click.echo(printable_json(json.dumps(value, ensure_ascii=False, indent=1)))
