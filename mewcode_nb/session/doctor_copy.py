"""A repaired copy of a session: all that could be read of it, in a new file that has no defects.

Every sound record stays, abandoned branches and compactions included. Where the conversation could
not be sent as it stands, the copy goes back to before the first such place and says the rest again
in a shape that can; the money spent counts once. The original is only read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mewcode_nb.errors import SessionError
from mewcode_nb.messages import Block, Message, is_tool_result
from mewcode_nb.paths import read_inside
from mewcode_nb.repair import repair
from mewcode_nb.session.log import LOG_NAME
from mewcode_nb.session.reader import LogContents, read_log
from mewcode_nb.session.records import (
    CompactRecord,
    Damage,
    LegacyCompact,
    MessageRecord,
    MetaRecord,
    NamespaceRecord,
    PlacedRecord,
    ReadRecord,
    Record,
    RewindRecord,
    SessionRecord,
    SpillRecord,
    UncompactRecord,
    UnknownRecord,
    to_line,
)
from mewcode_nb.session.replay import SessionState, fold

__all__ = [
    "SPILL_BYTES",
    "is_joining",
    "log_of",
    "repaired_records",
    "replay_damage",
    "sending_notes",
    "sound_spills",
    "spill_file",
    "write_repaired",
]

SPILL_BYTES = 1 << 30
"""The largest file beside a log that is looked into."""
_GO_ON = Message("user", ({"type": "text", "text": "go on"},), "user")


def log_of(path: Path) -> Path:
    """The session file: the path itself, or the one in the folder."""
    return path / LOG_NAME if path.is_dir() else path


def spill_file(folder: Path, name: str) -> Path:
    """The file a spill record names; raises ValueError where it names one outside."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError("outside the session's folder")
    return folder / path


def sending_notes(records: Sequence[MessageRecord]) -> tuple[str, ...]:
    """What the repair for sending would put right when the user goes on from here."""
    messages = _messages(records)
    if messages and messages[-1].role == "assistant":
        messages.append(_GO_ON)
    return repair(messages).notes


def is_joining(note: str) -> bool:
    """Whether the note is of the ordinary joining of messages that follow one another."""
    return note.startswith("joined two ")


def replay_damage(contents: LogContents, state: SessionState) -> tuple[Damage, ...]:
    """What the fold reported, without what the reader had."""
    extra = Counter(state.damage) - Counter(contents.damage)
    return tuple(sorted(extra.elements(), key=lambda damage: damage.line))


def write_repaired(source: Path, target: Path) -> Path:
    """Write a repaired copy of a session folder or file to `target`, and return that.

    `target` becomes a session folder whose name is the copy's id, or a file where it ends in
    `.jsonl`. It must not exist yet. Raises SessionNotFound, SessionError.
    """
    log = log_of(source)
    folder = source if log != source else None
    contents = read_log(log)
    whole = target.suffix != ".jsonl"
    spills = sound_spills(folder if whole else None, contents)
    records = repaired_records(contents, target.name if whole else target.stem, spills)
    data = b"".join(to_line(record) for record in records)
    if os.path.lexists(target):
        raise SessionError(f"{target} is there already", remedy="name a new folder or file")
    aside = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
    try:
        if whole:
            _write_folder(aside, data, folder, spills)
        else:
            _write_file(aside, data)
        aside.rename(target)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SessionError(
            f"cannot write {target}: {reason}", remedy="choose a folder that can be written"
        ) from error
    finally:
        _discard(aside)
    return target


def repaired_records(
    contents: LogContents, identity: str, spills: Mapping[str, str]
) -> tuple[Record, ...]:
    """The records of the copy; `identity` is its id, `spills` the hash of each file at hand."""
    state = fold(contents.records, contents.damage)
    if any(isinstance(placed.record, LegacyCompact) for placed in contents.records):
        kept: list[Record] = list(_live_only(state))
    else:
        kept = list(_sound_records(contents, state, spills))
    first = min((p.record.ts for p in contents.records if p.record.ts), default=0.0)
    header = state.header or SessionRecord(first, identity, model=state.model)
    records = [replace(header, id=identity), *kept]
    return (*records, *_settled_again(fold(_placed(records)), records))


def _sound_records(
    contents: LogContents, state: SessionState, spills: Mapping[str, str]
) -> Iterator[Record]:
    reported = {damage.line for damage in replay_damage(contents, state)}
    done: list[Record] = []
    given: set[str] = set()
    for placed in contents.records:
        record = _sound(placed, reported, spills, done)
        if isinstance(record, MessageRecord) and record is not placed.record:
            # Several can be recovered from one line.
            record = replace(record, id=_free(record.id, given))
            given.add(record.id)
        if record is not None:
            done.append(record)
    yield from done


def _sound(
    placed: PlacedRecord, reported: set[int], spills: Mapping[str, str], done: list[Record]
) -> Record | None:
    match placed.record:
        case SessionRecord():
            return None
        case UnknownRecord(reason=reason) as record:
            return None if reason else record
        case ReadRecord(sha256=sha256) as record:
            return record if sha256 else None
        case SpillRecord(path=path, sha256=sha256) as record:
            found = spills.get(path)
            return replace(record, sha256=found if sha256 else "") if found else None
        case RewindRecord() | UncompactRecord() if placed.line in reported:
            return None
        case CompactRecord() as record if placed.line in reported:
            live = {message.id for message in fold(_placed(done)).records}
            return replace(record, keep=tuple(name for name in record.keep if name in live))
        case MessageRecord(id="") as record:
            # The id the fold gives it, so that what names it finds it.
            return replace(record, id=f"line-{placed.offset}")
        case record:
            return record


def _live_only(state: SessionState) -> Iterator[Record]:
    """Where the Go program rewrote the history, the markers count for the old lines only."""
    if state.meta:
        yield MetaRecord(state.last_ts, state.meta)
    yield from state.records
    yield from (record for record in state.reads.values() if record.sha256)


def _settled_again(state: SessionState, records: Sequence[Record]) -> Iterator[Record]:
    """Records that bring the conversation into a shape that needs no repair; none if it has it."""
    if all(is_joining(note) for note in sending_notes(state.records)):
        return
    settled = list(_settled(state.records))
    same = 0
    for old, new in zip(state.records, settled, strict=False):
        if old != new:
            break
        same += 1
    yield RewindRecord(state.last_ts, state.records[same - 1].id if same else "")
    taken = set(state.offsets)
    for record in settled[same:]:
        counted = record.message_id or (record.id if record.usage else "")
        identity = _free(f"{record.id or 'message'}-repaired", taken)
        taken.add(identity)
        yield replace(record, id=identity, message_id=counted)
    yield from state.reads.values()
    spoken = [record for record in records if isinstance(record, NamespaceRecord)]
    names = {v.name for record in spoken for v in (*record.created, *record.changed)}
    if names:
        gone = tuple(sorted(names - set(state.namespace)))
        known = tuple(state.namespace.values())
        yield NamespaceRecord(state.last_ts, state.turns, known, removed=gone)


def _settled(live: Sequence[MessageRecord]) -> Iterator[MessageRecord]:
    """The messages as repair would send them, but apart where it only joins."""
    repaired = repair(_messages(live)).messages
    places = {record.id: place for place, record in enumerate(live)}
    starts = [places[m.id] for m in repaired if m.id in places]
    ends = iter([*starts[1:], len(live)])
    last = live[-1].ts if live else 0.0
    for number, message in enumerate(repaired):
        if message.id in places:
            start, end = places[message.id], next(ends)
            last = live[end - 1].ts
            same = [record for record in live[start:end] if record.role == message.role]
            yield from _group(same, message.content)
        elif message.origin != "reminder" or number == 0:
            role, content = message.role, message.content
            yield MessageRecord(last, "", role, content, message.origin, message.turn)


def _group(group: Sequence[MessageRecord], content: tuple[Block, ...]) -> Iterator[MessageRecord]:
    """Records of one role that are sent as one message: as they were, where nothing changed."""
    records = [record for record in group if record.content]
    if tuple(block for record in records for block in record.content) == content:
        yield from records
        return
    words = next((r for r in reversed(records) if r.origin == "user"), records[-1])
    if words.role == "assistant" or len(records) == 1:
        yield replace(words, content=content)
        return
    results = tuple(block for block in content if is_tool_result(block))
    rest = tuple(block for block in content if not is_tool_result(block))
    if results:
        holder = next((r for r in records if r.origin == "tool" and r is not words), None)
        named = holder or replace(words, id=f"{words.id}-results", cell=None)
        yield replace(named, content=results, origin="tool")
    if rest:
        yield replace(words, content=rest)


def _messages(records: Iterable[MessageRecord]) -> list[Message]:
    return [Message(r.role, r.content, r.origin, r.id, r.turn) for r in records]


def _placed(records: Sequence[Record]) -> Iterator[PlacedRecord]:
    """With places that only keep the order."""
    return (PlacedRecord(record, at, at + 1) for at, record in enumerate(records))


def _free(name: str, taken: set[str]) -> str:
    found, number = name, 2
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    return found


def sound_spills(folder: Path | None, contents: LogContents) -> dict[str, str]:
    """By path: the hash of each file that a record names and that is there."""
    found: dict[str, str] = {}
    for placed in contents.records:
        record = placed.record
        if folder is not None and isinstance(record, SpillRecord):
            with contextlib.suppress(OSError, ValueError):
                data, _ = read_inside(folder, spill_file(folder, record.path), limit=SPILL_BYTES)
                found[record.path] = hashlib.sha256(data).hexdigest()
    return found


def _write_folder(aside: Path, data: bytes, source: Path | None, spills: Mapping[str, str]) -> None:
    aside.mkdir(mode=0o700)
    _write_file(aside / LOG_NAME, data)
    if source is None:
        return
    undo = [p for p in source.joinpath("undo").rglob("*") if p.is_file() and not p.is_symlink()]
    for path in (*(source / name for name in spills), *undo):
        copied, _ = read_inside(source, path, limit=SPILL_BYTES)
        target = aside / path.relative_to(source)
        _make_folders(aside, target.parent)
        if not target.exists():
            _write_file(target, copied)


def _make_folders(top: Path, folder: Path) -> None:
    for part in reversed([folder, *folder.parents]):
        if part != top and part.is_relative_to(top) and not part.exists():
            part.mkdir(mode=0o700)


def _write_file(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
