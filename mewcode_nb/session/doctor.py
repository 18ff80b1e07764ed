"""The doctor: every defect of a stored session by line, and a repaired copy of it.

Looks and never changes: what is wrong with the file, with the files beside it, with their rights,
and what has to be put right whenever the conversation is sent.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mewcode_nb.paths import read_inside
from mewcode_nb.session.doctor_copy import (
    SPILL_BYTES,
    is_joining,
    log_of,
    replay_damage,
    sending_notes,
    spill_file,
    write_repaired,
)
from mewcode_nb.session.doctor_words import finding_words, report_words, weight
from mewcode_nb.session.reader import LogContents, read_log
from mewcode_nb.session.records import (
    FORMAT_VERSION,
    CompactRecord,
    MessageRecord,
    PlacedRecord,
    ReadRecord,
    RewindRecord,
    SessionRecord,
    SpillRecord,
    UncompactRecord,
    UnknownRecord,
    to_json,
)
from mewcode_nb.session.replay import SessionState, fold
from mewcode_nb.session.spilled import SPILL_FOLDER

__all__ = ["Finding", "Report", "Sizes", "examine", "write_repaired"]

_SHOWN_OF_A_KIND = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was noticed; `line` counted from 1, 0 for what is on no line."""

    kind: str
    line: int = 0
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def weight(self) -> str:
        """`error`, `warning` or `note`."""
        return weight(self.kind)

    def words(self, language: str) -> str:
        """What it is and what can be done, on one line."""
        where = report_words("line", language, line=self.line) if self.line else ""
        found, remedy = finding_words(self.kind, self.facts, language)
        return f"{where}{found} — {remedy}" if remedy else f"{where}{found}"


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the session takes on the disk, in bytes."""

    log: int = 0
    results: int = 0
    undo: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """What `examine` found, by line; `records` counts them by type."""

    path: Path
    findings: tuple[Finding, ...]
    sizes: Sizes
    records: Mapping[str, int]
    messages: int

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong: remarks are no defects."""
        return all(finding.weight == "note" for finding in self.findings)

    def text(self, language: str = "en") -> str:
        """The report for people, without control characters."""
        weights = Counter(finding.weight for finding in self.findings)
        counts = {f"{name}s": weights[name] for name in ("error", "warning", "note")}
        sizes = {name: f"{getattr(self.sizes, name):,}" for name in Sizes.__dataclass_fields__}
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.records.items()))
        lines = [
            _printable(str(self.path)),
            report_words("sizes", language, **sizes),
            report_words("records", language, counts=_printable(kinds) or "0"),
            report_words("messages", language, count=self.messages),
            *([report_words("sound", language)] if self.clean else []),
            *([report_words("counts", language, **counts)] if self.findings else []),
            *self._finding_lines(language),
        ]
        return "\n".join(lines)

    def _finding_lines(self, language: str) -> Iterator[str]:
        kinds = Counter(finding.kind for finding in self.findings)
        told: Counter[str] = Counter()
        for finding in self.findings:
            told[finding.kind] += 1
            if told[finding.kind] <= _SHOWN_OF_A_KIND:
                name = report_words(finding.weight, language)
                yield f"{name}  {finding.words(language)}"
            elif told[finding.kind] == kinds[finding.kind]:
                more = kinds[finding.kind] - _SHOWN_OF_A_KIND
                name = report_words(finding.weight, language)
                yield f"{name}  {report_words('more', language, count=more)}"


def examine(path: Path) -> Report:
    """Look at a session's folder, or at a session file alone (MewCode's own as well).

    Raises SessionNotFound where there is none, SessionError where it cannot be read at all.
    """
    log = log_of(path)
    folder = path if log != path else None
    contents = read_log(log)
    state = fold(contents.records, contents.damage)
    findings = [
        *(
            Finding("damage", d.line, {"reason": _damage_words(d.reason, d.recovered)})
            for d in contents.damage
        ),
        *(Finding("replay", d.line, {"reason": d.reason}) for d in replay_damage(contents, state)),
        *_record_findings(contents.records),
        *_header_findings(contents, folder),
        *_end_findings(log, state),
        *_sending_findings(state),
    ]
    if folder is not None:
        findings += [*_spill_findings(folder, contents.records), *_mode_findings(folder)]
    kinds = Counter(str(to_json(p.record).get("type") or "untyped") for p in contents.records)
    ordered = sorted(findings, key=lambda finding: finding.line or 1 << 62)
    return Report(path, tuple(ordered), _sizes(log, folder), kinds, len(state.records))


def _damage_words(reason: str, recovered: int) -> str:
    return f"{reason}; {recovered} recovered" if recovered else reason


def _record_findings(records: Sequence[PlacedRecord]) -> Iterator[Finding]:
    seen: set[str] = set()
    turn, ts = 0, 0.0
    for placed in records:
        record = placed.record
        if record.ts and record.ts < ts - 1:
            yield Finding("time_back", placed.line)
        if not isinstance(record, SessionRecord):  # a fork's or import's is newer than all it holds
            ts = record.ts or ts
        match record:
            case UnknownRecord() if not record.reason:
                yield Finding("unknown", placed.line, {"type": record.type})
            case ReadRecord() if not record.sha256:
                yield Finding("read_unhashed", placed.line, {"path": record.path})
            case RewindRecord() | UncompactRecord() | CompactRecord():
                turn = 0
            case MessageRecord():
                if record.id and record.id in seen:
                    yield Finding("twice", placed.line, {"id": record.id})
                elif record.turn and record.turn < turn:
                    facts = {"turn": str(record.turn), "last": str(turn)}
                    yield Finding("turn_back", placed.line, facts)
                seen.add(record.id)
                turn = record.turn or turn
            case _:
                pass


def _header_findings(contents: LogContents, folder: Path | None) -> Iterator[Finding]:
    headers = [p for p in contents.records if isinstance(p.record, SessionRecord)]
    said = [p.record for p in contents.records if isinstance(p.record, MessageRecord)]
    if not headers:
        legacy = bool(said) and not any(record.id for record in said)
        yield Finding("legacy" if legacy else "no_header")
        return
    first = headers[0].record
    assert isinstance(first, SessionRecord)
    if headers[0] is not contents.records[0]:
        yield Finding("late_header", headers[0].line)
    yield from (Finding("second_header", placed.line) for placed in headers[1:])
    if folder is not None and first.id != folder.resolve().name:
        facts = {"id": first.id, "name": folder.resolve().name}
        yield Finding("other_id", headers[0].line, facts)
    if first.v > FORMAT_VERSION:
        yield Finding("newer", headers[0].line, {"v": str(first.v)})


def _end_findings(log: Path, state: SessionState) -> Iterator[Finding]:
    if not state.records:
        yield Finding("empty")
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        if size and file.read(1) != b"\n":
            yield Finding("open_end")


def _sending_findings(state: SessionState) -> Iterator[Finding]:
    for reason, count in Counter(sending_notes(state.records)).items():
        kind = "joined" if is_joining(reason) else "sending"
        yield Finding(kind, 0, {"reason": reason if count == 1 else f"{reason} (x{count})"})


def _spill_findings(folder: Path, records: Sequence[PlacedRecord]) -> Iterator[Finding]:
    named: set[str] = set()
    for placed in records:
        record = placed.record
        if not isinstance(record, SpillRecord):
            continue
        named.add(Path(record.path).as_posix())
        facts = {"path": record.path}
        try:
            data, _ = read_inside(folder, spill_file(folder, record.path), limit=SPILL_BYTES)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            yield Finding("spill_missing", placed.line, {**facts, "reason": reason})
            continue
        if record.sha256 and hashlib.sha256(data).hexdigest() != record.sha256:
            yield Finding("spill_changed", placed.line, facts)
    for path in _files(folder / SPILL_FOLDER):
        relative = path.relative_to(folder).as_posix()
        if relative not in named:
            yield Finding("spill_orphan", 0, {"path": relative})


def _mode_findings(folder: Path) -> Iterator[Finding]:
    if os.name == "nt":
        return
    for path in (folder, *sorted(folder.rglob("*"))):
        found = path.lstat()
        name = str(path) if path == folder else path.relative_to(folder).as_posix()
        if stat.S_ISLNK(found.st_mode):
            yield Finding("link", 0, {"path": name})
        elif found.st_mode & 0o077:
            right = "700" if stat.S_ISDIR(found.st_mode) else "600"
            mode = f"{stat.S_IMODE(found.st_mode):o}"
            yield Finding("mode", 0, {"path": name, "mode": mode, "right": f"{right} {name}"})


def _sizes(log: Path, folder: Path | None) -> Sizes:
    size = log.stat().st_size
    if folder is None:
        return Sizes(log=size, total=size)
    results = sum(path.lstat().st_size for path in _files(folder / SPILL_FOLDER))
    undo = sum(path.lstat().st_size for path in _files(folder / "undo"))
    total = sum(path.lstat().st_size for path in _files(folder))
    return Sizes(size, results, undo, total)


def _files(folder: Path) -> list[Path]:
    found = folder.rglob("*") if folder.is_dir() and not folder.is_symlink() else ()
    return sorted(path for path in found if stat.S_ISREG(path.lstat().st_mode))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
