from __future__ import annotations

import io
import itertools
import random
import time
from dataclasses import dataclass, field, replace

import pytest

from mewcode_nb.errors import SessionError, SessionLocked, SessionNotFound
from mewcode_nb.session.find import by_id, by_title, choose
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.fork import fork_records
from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.session.reader import scan_log
from mewcode_nb.session.records import Damage, MetaRecord, Parent, PlacedRecord, to_line
from mewcode_nb.session.replay import fold, rewound
from mewcode_nb.session.turns import prompt_text
from mewcode_nb.testing import StoreConformance


@dataclass
class Disk:
    """What views of the store in memory share: logs as bytes, holders, the trash."""

    logs: dict = field(default_factory=dict)
    held: set = field(default_factory=set)
    bin: dict = field(default_factory=dict)
    ids: object = field(default_factory=itertools.count)


class MemoryWriter:
    notice = ""

    def __init__(self, disk, identity):
        self.id = identity
        self._disk = disk
        self._open = True
        disk.held.add(identity)

    def append(self, records):
        if not self._open:
            raise SessionError("closed")
        self._disk.logs[self.id] += b"".join(map(to_line, records))

    def close(self):
        if self._open:
            self._open = False
            self._disk.held.discard(self.id)


def placed(items):
    return [item for item in items if isinstance(item, PlacedRecord)]


class MemoryStore:
    def __init__(self, disk):
        self.disk = disk

    def create(self, header):
        identity = f"{random.Random(next(self.disk.ids)).getrandbits(64):016x}"
        self.disk.logs[identity] = to_line(replace(header, id=identity, ts=time.time()))
        return MemoryWriter(self.disk, identity)

    def open(self, identity):
        self.load(identity)
        self._demand_free(identity)
        return MemoryWriter(self.disk, identity)

    def load(self, identity, *, whole=False):
        if identity not in self.disk.logs:
            raise SessionNotFound(f"no session {identity}")
        items = list(scan_log(io.BytesIO(self.disk.logs[identity])))
        return fold(placed(items), [item for item in items if isinstance(item, Damage)])

    def load_at(self, identity, at):
        self.load(identity)
        return rewound(placed(scan_log(io.BytesIO(self.disk.logs[identity]))), at)

    def list(self, limit=None):
        infos = sorted(map(self._info, self.disk.logs), key=lambda i: (i.active, i.id))
        return tuple(infos[::-1][:limit])

    def find(self, name):
        if name in self.disk.logs:
            return self._info(name)
        if name == "last":
            return choose([info for info in self.list() if info.readable][:1], name)
        begun = by_id(self.disk.logs, name)
        return choose(list(map(self._info, begun)) or by_title(self.list(), name), name)

    def annotate(self, identity, facts):
        writer = self.open(identity)
        writer.append([MetaRecord(time.time(), facts)])
        writer.close()

    def fork(self, identity, at=""):
        state = self.load_at(identity, at) if at else self.load(identity)
        records = fork_records(state, at)
        parent = Parent(identity, at or state.records[-1].id)
        writer = self.create(replace(state.header, parent=parent))
        writer.append(records)
        return writer

    def trash(self, identity, reason):
        info = self._known(identity)
        self._demand_free(identity)
        item = TrashedSession(info, reason, time.time(), time.time() + 60)
        self.disk.bin[identity] = (item, self.disk.logs.pop(identity))

    def trashed(self):
        items = [item for item, _ in self.disk.bin.values()]
        return tuple(sorted(items, key=lambda item: -item.trashed))

    def restore(self, identity):
        self._demand_trashed(identity)
        self.disk.logs[identity] = self.disk.bin.pop(identity)[1]

    def purge(self, identity):
        self._demand_trashed(identity)
        del self.disk.bin[identity]

    def _demand_trashed(self, identity):
        if identity not in self.disk.bin:
            raise SessionNotFound(identity)

    def _demand_free(self, identity):
        if identity in self.disk.held:
            raise SessionLocked(identity)

    def _known(self, identity):
        if identity not in self.disk.logs:
            raise SessionNotFound(identity)
        return self._info(identity)

    def _info(self, identity):
        state, log = self.load(identity), self.disk.logs[identity]
        if state.header is None:
            return SessionInfo(identity, damage="no header", readable=False)
        records = [item.record for item in scan_log(io.BytesIO(log))]
        prompts = [r for r in records if getattr(r, "origin", "") == "user"]
        header = state.header
        return SessionInfo(
            identity,
            title=state.meta.get("title") or "",
            first_prompt=" ".join(prompt_text(prompts[0]).split()) if prompts else "",
            created=header.ts,
            active=state.last_ts,
            model=state.model,
            turns=state.turns,
            usage=state.usage,
            size=len(log),
            notebook=header.notebook,
            project=header.project,
            pinned=bool(state.meta.get("pin")),
            parent=header.parent,
            cells=frozenset(r.cell.id for r in prompts if r.cell),
            live=identity in self.disk.held,
        )


class TestMemoryStore(StoreConformance):
    @pytest.fixture
    def disk(self):
        return Disk()

    @pytest.fixture
    def store(self, disk):
        return MemoryStore(disk)

    @pytest.fixture
    def reopen(self, disk):
        return lambda: MemoryStore(disk)

    @pytest.fixture
    def spoil(self, disk):
        return lambda identity: disk.logs.update({identity: b"\0" * 100})


class TestFolderStore(StoreConformance):
    @pytest.fixture
    def sessions(self, tmp_path):
        return tmp_path / ".mewcode" / "sessions"

    @pytest.fixture
    def store(self, reopen):
        return reopen()

    @pytest.fixture
    def reopen(self, sessions):
        seeds = itertools.count()
        return lambda: FolderStore(sessions, clock=time.time, random=random.Random(next(seeds)))

    @pytest.fixture
    def spoil(self, sessions):
        def spoil(identity):
            (sessions / identity / "conversation.jsonl").write_bytes(b"\0" * 100)

        return spoil


class TestFolderStoreWithIndex(TestFolderStore):
    """The same with an index that is brought up to date before each view."""

    @pytest.fixture
    def reopen(self, sessions):
        seeds = itertools.count()

        def reopen():
            store = FolderStore(sessions, clock=time.time, random=random.Random(next(seeds)))
            store.reindex()
            return store

        return reopen


class Forgetful(MemoryStore):
    """Acknowledges what it has not stored."""

    def open(self, identity):
        writer = super().open(identity)
        writer.append = lambda records: None
        return writer


class Shared(MemoryStore):
    def _demand_free(self, identity):
        pass


class Guessing(MemoryStore):
    def find(self, name):
        try:
            return super().find(name)
        except SessionNotFound:
            raise
        except SessionError:
            return self.list()[0]


class Entangled(MemoryStore):
    """Its forks are the original."""

    def fork(self, identity, at=""):
        self.load(identity)
        return MemoryWriter(self.disk, identity)


class Whole(MemoryStore):
    """Its forks take all messages, abandoned branches included."""

    def fork(self, identity, at=""):
        writer = self.create(self.load(identity).header)
        lines = self.disk.logs[identity].splitlines(keepends=True)
        said = [line for line in lines if line.startswith(b'{"type":"message"')]
        self.disk.logs[writer.id] += b"".join(said)
        return writer


class Paying(MemoryStore):
    """Its forks count what their original has paid."""

    def fork(self, identity, at=""):
        state = self.load(identity)
        writer = self.create(state.header)
        writer.append(state.records)
        return writer


class Renaming(MemoryStore):
    def restore(self, identity):
        self._demand_trashed(identity)
        self.disk.logs[f"{identity}-restored"] = self.disk.bin.pop(identity)[1]


class Oldest(MemoryStore):
    def list(self, limit=None):
        return super().list()[::-1][:limit]


class Hiding(MemoryStore):
    def list(self, limit=None):
        return tuple(info for info in super().list() if info.readable)[:limit]


class Nameless(MemoryStore):
    def _info(self, identity):
        compacted = self.load(identity).compactions
        return replace(super()._info(identity), **({"title": ""} if compacted else {}))


class Destroying(MemoryStore):
    def purge(self, identity):
        if identity not in self.disk.bin and self.disk.logs.pop(identity, None) is None:
            raise SessionNotFound(identity)
        self.disk.bin.pop(identity, None)


class Deaf(MemoryStore):
    def _info(self, identity):
        return replace(super()._info(identity), live=False)


@pytest.mark.parametrize(
    ("wrong", "test"),
    [
        (Forgetful, "test_a_session_goes_on_where_it_was"),
        (Shared, "test_one_writer_at_a_time"),
        (Guessing, "test_ambiguous_names_list_what_fits"),
        (Entangled, "test_fork_and_original_go_apart"),
        (Whole, "test_row_9_a_fork_keeps_the_live_branch_only"),
        (Paying, "test_row_33_a_fork_pays_for_its_own_answers_only"),
        (Paying, "test_a_fork_knows_what_was_read_and_made_up_to_its_message"),
        (Renaming, "test_restore_brings_back_the_same"),
        (Oldest, "test_lists_go_by_the_last_activity"),
        (Hiding, "test_s_11_a_damaged_session_is_listed"),
        (Nameless, "test_row_11_title_outlives_compaction"),
        (Destroying, "test_purge_is_for_good"),
        (Deaf, "test_a_list_says_which_are_held"),
    ],
)
def test_the_suite_finds_a_wrong_store(wrong, test):
    disk = Disk()
    given = [wrong(disk), lambda: wrong(disk)]
    if test == "test_s_11_a_damaged_session_is_listed":
        given.append(lambda identity: disk.logs.update({identity: b"\0" * 100}))
    check = getattr(StoreConformance(), test)
    arguments = given[: check.__code__.co_argcount - 1]
    with pytest.raises((AssertionError, pytest.fail.Exception, SessionError)):
        check(*arguments)


def test_the_suite_has_behaviours_enough_to_judge_a_store():
    tests = [name for name in dir(StoreConformance) if name.startswith("test_")]
    assert len(tests) >= 25
