"""`mewcode-nb doctor`: what is wrong with a session, and a repaired copy of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from mewcode_nb.cli.spoken import Command, Option, language, say
from mewcode_nb.cli.words import Words
from mewcode_nb.errors import SessionError, UsageError

__all__ = ["doctor"]


@click.command(
    cls=Command,
    chinese="检查会话：指出每一处问题所在的行。TARGET 是编号、标题、last，"
    "或会话文件夹、文件（MewCode 的也可以）；不给出时检查此文件夹的所有会话。"
    "从不修改任何文件；发现问题时以状态 1 结束。",
)
@click.argument("target", required=False)
@click.option(
    "--repair",
    cls=Option,
    type=click.Path(path_type=Path),
    help="Write a repaired copy: a session folder, or a file where it ends in .jsonl.",
    chinese="写出修复后的副本：一个会话文件夹；以 .jsonl 结尾时为文件。",
)
def doctor(target: str | None, repair: Path | None) -> None:
    """Examine a session: every defect by line.

    TARGET is an id, a title, `last`, or a session's folder or file (of MewCode too); without it all
    sessions of this folder are examined. Nothing is ever changed; ends with status 1 where
    something is wrong.
    """
    words = Words(language())
    if target is None:
        if repair is not None:
            raise UsageError(words("repair_one"), remedy=words("doctor_usage"))
        raise SystemExit(_examine_all(words))
    from mewcode_nb.session.doctor import examine, write_repaired

    path = _path(target)
    report = examine(path)
    say(report.text(words.language))
    if repair is not None:
        say(words("repaired", path=write_repaired(path, repair)))
    elif not report.clean:
        raise SystemExit(1)


def _path(target: str) -> Path:
    given = Path(target)
    if given.exists():
        return given
    from mewcode_nb.cli.shelf import open_library

    return Path(open_library(Path()).find(target).location)


def _examine_all(words: Words) -> int:
    from mewcode_nb.cli.shelf import open_library
    from mewcode_nb.session.doctor import examine
    from mewcode_nb.widgets.columns import align

    infos = open_library(Path()).list()
    if not infos:
        say(words("none_here"))
        return 0
    rows, sound = [], True
    for info in infos:
        try:
            report = examine(Path(info.location))
        except SessionError as error:
            rows.append((info.id, str(error)))
            sound = False
            continue
        counts = Counter(finding.weight for finding in report.findings)
        found = words("defects", errors=counts["error"], warnings=counts["warning"])
        rows.append((info.id, words("sound") if report.clean else found))
        sound = sound and report.clean
    say(align(rows))
    if not sound:
        say(words("see_doctor"))
    return 0 if sound else 1
