"""Transcripts of Claude Code as sessions: the conversation it would go on with, as our records.

That format is internal to its vendor and may change; what is read here is what is known of it:
docs/formats.md says which fields. Unknown entries are counted, damaged lines passed over, and
`notes` says so. The transcript itself is only read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import cast

from mewcode_nb.blocks import THINKING, sound_block
from mewcode_nb.errors import SessionError
from mewcode_nb.events import Usage
from mewcode_nb.messages import (
    Block,
    Json,
    JsonObject,
    Origin,
    block_text,
    is_text,
    is_tool_result,
    message_text,
    tool_uses,
)
from mewcode_nb.session.claude_chain import Entry, Stretch, stretches
from mewcode_nb.session.reader import LogContents, read_log
from mewcode_nb.session.records import (
    CompactRecord,
    Git,
    MessageRecord,
    MetaRecord,
    Record,
    RewindRecord,
    Section,
    SessionRecord,
    to_json,
)
from mewcode_nb.session.replay import summary_message

__all__ = ["import_transcript", "is_transcript"]

_SAID = frozenset({"user", "assistant"})
_TITLES = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
"""Entry types that name a session and the field with the name, the user's own first."""
_STOPPED = "[Request interrupted by user"


def is_transcript(contents: LogContents) -> bool:
    """Whether the lines read as our records are rather entries of Claude Code."""
    raws = (to_json(placed.record) for placed in contents.records)
    return any(raw.get("type") in _SAID and "uuid" in raw for raw in raws)


def import_transcript(path: Path) -> tuple[SessionRecord, tuple[Record, ...], tuple[str, ...]]:
    """The header (its id empty: the store gives one), the records to append, and remarks.

    The folded records send what Claude Code would send next, but for thinking in messages that a
    compaction kept. Raises SessionNotFound, or SessionError when it is no such transcript.
    """
    contents = read_log(path)
    source = _Source.of(contents)
    chain = stretches(source.main)
    writer = _Writer(source)
    for stretch in chain.stretches:
        writer.take(stretch)
    if not writer.records:
        raise SessionError(
            f"{path} holds no conversation of Claude Code",
            remedy="give a .jsonl file of ~/.claude/projects, or a session file",
        )
    header = _header(path, source, writer)
    title = source.title()
    meta = [MetaRecord(header.ts, {"title": title})] if title else []
    notes = (*chain.notes, *writer.notes(), *(str(damage) for damage in contents.damage))
    return header, (*meta, *writer.records), notes


@dataclass(slots=True)
class _Source:
    """The transcript's lines, sorted."""

    main: dict[str, Entry] = field(default_factory=dict)
    """By uuid: the entries of the main chain, of every branch."""
    others: list[JsonObject] = field(default_factory=list)
    """Lines that are no part of the tree."""
    sidechains: int = 0
    answers: dict[str, list[Entry]] = field(default_factory=dict)
    """By the service's message id: an answer's lines, one for each block."""
    results: dict[str, list[Entry]] = field(default_factory=dict)
    """By tool_use id: the entries that hold a result for it."""
    replaced: dict[str, str] = field(default_factory=dict)
    """By tool_use id: what is sent in the place of a big result."""

    @classmethod
    def of(cls, contents: LogContents) -> _Source:
        source = cls()
        for placed in contents.records:
            source._take(to_json(placed.record), placed.line)
        return source

    def _take(self, raw: JsonObject, line: int) -> None:
        uuid, parent = raw.get("uuid"), raw.get("parentUuid")
        if raw.get("isSidechain") is True or raw.get("agentId"):
            self.sidechains += 1
        elif not isinstance(uuid, str) or not uuid:
            self.others.append(raw)
            self._replacements(raw)
        else:
            above = parent if isinstance(parent, str) else ""
            entry = Entry(uuid, above, str(raw.get("type", "")), raw, line)
            self.main[uuid] = entry
            self._index(entry)

    def _index(self, entry: Entry) -> None:
        if entry.kind == "assistant":
            self.answers.setdefault(_message_key(entry), []).append(entry)
        elif entry.kind == "user":
            for block in _blocks(entry):
                if is_tool_result(block):
                    self.results.setdefault(block["tool_use_id"], []).append(entry)

    def _replacements(self, raw: JsonObject) -> None:
        items = raw.get("replacements") if raw.get("type") == "content-replacement" else None
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict):
                identity, text = item.get("toolUseId"), item.get("replacement")
                if isinstance(identity, str) and isinstance(text, str):
                    self.replaced[identity] = text

    def title(self) -> str:
        for kind, key in _TITLES:
            found = [raw.get(key) for raw in self.others if raw.get("type") == kind]
            given = [text for text in found if isinstance(text, str) and text.strip()]
            if given:
                return " ".join(given[-1].split())
        return ""

    def known(self, key: str) -> str:
        """The first value of a field that every entry repeats."""
        values = (entry.raw.get(key) for entry in self.main.values())
        return next((value for value in values if isinstance(value, str) and value), "")


@dataclass(slots=True)
class _Writer:
    """Turns stretches into records, oldest first."""

    source: _Source
    records: list[Record] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    """From an entry's uuid to the id of the record it became part of."""
    live: list[MessageRecord] = field(default_factory=list)
    turn: int = 0
    ts: float = 0.0
    hidden: int = 0
    thinking: int = 0

    def take(self, stretch: Stretch) -> None:
        summaries = [entry for entry in stretch.entries if entry.is_summary]
        if stretch.boundary is not None:
            if not summaries or _kept_come_first(stretch) or self._lacks(stretch):
                self._begin_anew(stretch)
                return
            self._compact(stretch.boundary, summaries, stretch.kept)
        for entry in stretch.entries:
            if entry.uuid not in stretch.kept and not (stretch.boundary and entry.is_summary):
                self._entry(entry)

    def notes(self) -> Iterator[str]:
        left = Counter(str(raw.get("type") or "untyped") for raw in self.source.others)
        for kind in (*(kind for kind, _ in _TITLES), "content-replacement"):
            left.pop(kind, None)
        tree = self.source.main.values()
        left += Counter(entry.kind or "untyped" for entry in tree if entry.kind not in _SAID)
        left.pop("system", None)
        off = [entry for entry in tree if entry.kind in _SAID and entry.uuid not in self.ids]
        branches = sum(not _is_shown_only(entry) for entry in off)
        counts = (
            (self.source.sidechains, "entries of subagents (side chains) left out"),
            (branches, "entries of abandoned branches left out"),
            (self.hidden, "entries left out that were only shown, never sent"),
            (self.thinking, "messages kept by a compaction come without their thinking"),
        )
        yield from (f"{count} {words}" for count, words in counts if count)
        if left:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(left.items()))
            yield f"entries of types that are no conversation left out: {kinds}"

    def _compact(self, boundary: Entry, summaries: list[Entry], kept: frozenset[str]) -> None:
        blocks = [block for entry in summaries for block in _blocks(entry)]
        first, *rest = [block_text(block) for block in blocks if is_text(block)] or [""]
        keep = {self.ids[uuid] for uuid in kept if uuid in self.ids}
        staying = [record for record in self.live if record.id in keep]
        details = boundary.raw.get("compactMetadata")
        facts = details if isinstance(details, dict) else {}
        self.thinking += sum(any(b["type"] in THINKING for b in r.content) for r in staying)
        record = CompactRecord(
            ts=self._time(boundary),
            id=boundary.uuid,
            trigger=str(facts.get("trigger") or "auto"),
            summary=(Section("", first),),
            attachment="\n\n".join(rest),
            keep=tuple(record.id for record in staying),
            before=_count(facts.get("preTokens")),
            after=_count(facts.get("postTokens")),
        )
        self.records.append(record)
        self.ids |= {entry.uuid: boundary.uuid for entry in [boundary, *summaries]}
        self.live = [replace(summary_message(record), turn=self.turn), *staying]

    def _lacks(self, stretch: Stretch) -> bool:
        """Whether something the compaction kept is no part of the conversation before it."""
        live = {record.id for record in self.live}
        kept = (self.source.main[uuid] for uuid in stretch.kept)
        said = [entry for entry in kept if entry.kind in _SAID and self.ids.get(entry.uuid) != ""]
        return any(self.ids.get(entry.uuid) not in live for entry in said)

    def _begin_anew(self, stretch: Stretch) -> None:
        """A compaction our record cannot say: the same messages once more, in their order."""
        self.records.append(RewindRecord(self._time(cast("Entry", stretch.boundary)), ""))
        before = {record.id: record for record in self.records if isinstance(record, MessageRecord)}
        before |= {record.id: record for record in self.live}
        self.live = []
        for entry in stretch.entries:
            known = before.get(self.ids.get(entry.uuid, ""))
            if entry.uuid not in stretch.kept or known is None:
                self._entry(entry)
                continue
            counted = known.message_id or (known.id if known.usage else "")
            again = replace(known, id=f"{known.id}-kept", message_id=counted)
            self._add(again, [uuid for uuid, said in self.ids.items() if said == known.id])

    def _entry(self, entry: Entry) -> None:
        if entry.uuid in self.ids or entry.kind not in _SAID:
            self.ids.setdefault(entry.uuid, "")
        elif _is_shown_only(entry):
            self.ids[entry.uuid] = ""
            self.hidden += 1
        elif entry.kind == "assistant":
            self._answer(entry)
        else:
            self._said(entry, _blocks(entry))

    def _answer(self, entry: Entry) -> None:
        lines = self.source.answers[_message_key(entry)]
        places = [line.raw.get("apiBlockIndex") for line in lines]
        if all(isinstance(place, int) for place in places):
            lines = sorted(lines, key=lambda line: cast("int", line.raw["apiBlockIndex"]))
        last = max(lines, key=lambda line: line.line)
        content = tuple(block for line in lines for block in _blocks(line))
        message = last.message
        record = MessageRecord(
            ts=self._time(last),
            id=entry.uuid,
            role="assistant",
            content=content,
            origin="assistant",
            turn=self.turn,
            usage=_usage(message.get("usage")),
            stop_reason=_text(message.get("stop_reason")) or None,
            model=_text(message.get("model")),
            message_id=_text(message.get("id")),
        )
        self._add(record, [line.uuid for line in lines])
        self._results(record)

    def _results(self, answer: MessageRecord) -> None:
        """The results of the answer's calls in one message, whichever branches they stand on."""
        found: list[Entry] = []
        blocks: list[Block] = []
        for call in tool_uses(answer.content):
            for entry in self.source.results.get(call["id"], [])[-1:]:
                blocks += [b for b in _blocks(entry) if _answers(b, call["id"])][-1:]
                found += [] if entry in found else [entry]
        if not found:
            return
        rest = [b for entry in found for b in _blocks(entry) if not is_tool_result(b)]
        content = tuple(self._as_sent(block) for block in [*blocks, *rest])
        ts = max(self._time(entry) for entry in found)
        record = MessageRecord(ts, found[0].uuid, "user", content, "tool", self.turn)
        self._add(record, [entry.uuid for entry in found])

    def _as_sent(self, block: Block) -> Block:
        if is_tool_result(block) and block["tool_use_id"] in self.source.replaced:
            text = self.source.replaced[block["tool_use_id"]]
            return cast("Block", {**block, "content": text})
        return block

    def _said(self, entry: Entry, blocks: tuple[Block, ...]) -> None:
        origin = _origin(entry, blocks)
        self.turn += origin == "user"
        ts = self._time(entry)
        self._add(MessageRecord(ts, entry.uuid, "user", blocks, origin, self.turn), [entry.uuid])

    def _add(self, record: MessageRecord, uuids: Iterable[str]) -> None:
        self.records.append(record)
        self.live.append(record)
        self.ids |= dict.fromkeys(uuids, record.id)

    def _time(self, entry: Entry) -> float:
        self.ts = _seconds(entry.raw.get("timestamp")) or self.ts
        return self.ts


def _header(path: Path, source: _Source, writer: _Writer) -> SessionRecord:
    times = [_seconds(entry.raw.get("timestamp")) for entry in source.main.values()]
    models = [r.model for r in writer.records if isinstance(r, MessageRecord) and r.model]
    branch = source.known("gitBranch")
    origin: JsonObject = {
        "program": "claude-code",
        "file": path.name,
        "session": source.known("sessionId"),
        "version": source.known("version"),
    }
    return SessionRecord(
        ts=min((ts for ts in times if ts), default=0.0),
        id="",
        project=source.known("cwd"),
        model=models[-1] if models else "",
        git=Git(branch) if branch else None,
        extra={"imported": {key: value for key, value in origin.items() if value}},
    )


def _kept_come_first(stretch: Stretch) -> bool:
    """Whether a kept entry stands before the summary, where our record has the summary first."""
    places = [place for place, entry in enumerate(stretch.entries) if entry.is_summary]
    kept = [place for place, entry in enumerate(stretch.entries) if entry.uuid in stretch.kept]
    return bool(kept) and kept[0] < places[-1]


def _is_shown_only(entry: Entry) -> bool:
    if entry.raw.get("isApiErrorMessage") is True or entry.message.get("model") == "<synthetic>":
        return True
    return entry.raw.get("isVisibleInTranscriptOnly") is True and not entry.is_summary


def _origin(entry: Entry, blocks: tuple[Block, ...]) -> Origin:
    if entry.is_summary:
        return "summary"
    if blocks and all(is_tool_result(block) for block in blocks):
        return "tool"
    stopped = message_text(blocks).startswith(_STOPPED)
    return "reminder" if entry.raw.get("isMeta") is True or stopped else "user"


def _message_key(entry: Entry) -> str:
    return _text(entry.message.get("id")) or entry.uuid


def _blocks(entry: Entry) -> tuple[Block, ...]:
    content = entry.message.get("content")
    if isinstance(content, list):
        return tuple(sound_block(part) for part in content)
    return (sound_block(content),) if isinstance(content, str) else ()


def _answers(block: Block, identity: str) -> bool:
    return is_tool_result(block) and block["tool_use_id"] == identity


def _usage(value: Json) -> Usage | None:
    if not isinstance(value, dict):
        return None
    parts = value.get("cache_creation")
    split = sum(_count(part) for part in parts.values()) if isinstance(parts, dict) else 0
    return Usage(
        input_tokens=_count(value.get("input_tokens")),
        # Some servers fill only the split by lifetime.
        cache_creation_input_tokens=max(_count(value.get("cache_creation_input_tokens")), split),
        cache_read_input_tokens=_count(value.get("cache_read_input_tokens")),
        output_tokens=_count(value.get("output_tokens")),
    )


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _seconds(value: Json) -> float:
    """An ISO time in seconds since 1970; 0 for anything else."""
    if not isinstance(value, str):
        return 0.0
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
