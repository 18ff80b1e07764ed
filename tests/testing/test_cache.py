from __future__ import annotations

import pytest

from mewcode_nb.testing.cache import CacheUse, PromptCache
from mewcode_nb.testing.prompt import Item


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cache(clock):
    return PromptCache(clock, min_prefix=1000)


def items(*names, marks=(), ttl="5m", tokens=1000):
    return [Item(n, n, tokens, ttl if i in marks else "") for i, n in enumerate(names)]


def test_without_a_mark_nothing_is_cached(cache):
    for _ in range(2):
        assert cache.use("m", items("a", "b")) == CacheUse(2000)


def test_a_marked_prefix_is_written_then_read(cache):
    assert cache.use("m", items("a", "b", marks=[0])) == CacheUse(1000, 0, 1000, 0)
    assert cache.use("m", items("a", "c", marks=[0])) == CacheUse(1000, 1000)


def test_a_moving_mark_reads_the_old_prefix_and_writes_the_rest(cache):
    cache.use("m", items("a", "b", marks=[1]))
    assert cache.use("m", items("a", "b", "c", "d", marks=[3])) == CacheUse(0, 2000, 2000)


def test_a_changed_item_before_the_mark_misses(cache):
    cache.use("m", items("a", "b", marks=[1]))
    assert cache.use("m", items("A", "b", marks=[1])) == CacheUse(0, 0, 2000)


def test_an_entry_exists_only_where_a_mark_was(cache):
    cache.use("m", items("a", "b", "c", marks=[2]))
    assert cache.use("m", items("a", "b", "x", marks=[1])) == CacheUse(1000, 0, 2000)


def test_the_model_is_part_of_the_key(cache):
    cache.use("m", items("a", marks=[0]))
    assert cache.use("n", items("a", marks=[0])) == CacheUse(0, 0, 1000)


@pytest.mark.parametrize(("more", "read"), [(20, 1000), (21, 0)])
def test_a_mark_looks_back_twenty_items(cache, more, read):
    cache.use("m", items("a", marks=[0]))
    names = ["a", *(f"b{i}" for i in range(more))]
    assert cache.use("m", items(*names, marks=[more])).read == read


@pytest.mark.parametrize(("tokens", "written"), [(999, 0), (1000, 1000)])
def test_a_prefix_below_the_minimum_is_not_cached(cache, tokens, written):
    assert cache.use("m", items("a", marks=[0], tokens=tokens)).written_5m == written


@pytest.mark.parametrize(
    ("ttl", "wait", "read"),
    [("5m", 299, 1000), ("5m", 300, 0), ("1h", 3599, 1000), ("1h", 3600, 0)],
)
def test_entries_live_for_their_ttl(cache, clock, ttl, wait, read):
    cache.use("m", items("a", marks=[0], ttl=ttl))
    clock.now += wait
    assert cache.use("m", items("a", marks=[0], ttl=ttl)).read == read


def test_use_renews_an_entry(cache, clock):
    for _ in range(4):
        cache.use("m", items("a", marks=[0]))
        clock.now += 200
    assert cache.use("m", items("a", marks=[0])).read == 1000


def test_writes_are_split_by_ttl(cache):
    prompt = [Item("a", "a", 1500, "1h"), Item("b", "b", 700, "5m"), Item("c", "c", 30)]
    assert cache.use("m", prompt) == CacheUse(30, 0, 700, 1500)


def test_g_21_fifty_turns_with_a_moving_mark_are_mostly_read(mewcode_server, client_of):
    server = mewcode_server(default="word " * 100, min_cache=1024)
    client = client_of(server)
    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "rule " * 2000, **mark}]
    history = []
    for turn in range(50):
        words = {"type": "text", "text": f"question {turn} " * 20}
        asked = [*history, {"role": "user", "content": [{**words, **mark}]}]
        message = client.messages.create(
            model="claude-sonnet-5-5", max_tokens=500, system=system, messages=asked
        )
        history += [
            {"role": "user", "content": [words]},
            {"role": "assistant", "content": message.content[0].text},
        ]
    totals = server.summary()
    assert totals.prefix_changes == []
    assert totals.input_tokens == 0
    assert totals.cache_read_input_tokens / totals.cache_creation_input_tokens > 20
    split = message.usage.cache_creation
    assert split.ephemeral_5m_input_tokens == message.usage.cache_creation_input_tokens > 0
