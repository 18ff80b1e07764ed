"""The cost of one streamed delta, beside the SDK's own ways to stream, from the same server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from anthropic import AsyncAnthropic

from benchmarks.canned import PIECE, canned_server
from benchmarks.report import Budget, Report, main, middle, ratio
from mewcode_nb.model.client import AnthropicModel
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.model.protocol import Completion, Request

ROUNDS = 9
TEXT_DELTAS = 3_000
SMALL, LARGE = 10_000, 200_000
MESSAGES = [{"role": "user", "content": "go"}]


def measure() -> Report:
    """Median of rounds in rotated order, one request each, connection kept."""
    with canned_server() as url:
        return asyncio.run(_measure(url))


async def _measure(url: str) -> Report:
    client = AsyncAnthropic(base_url=url, api_key="key", max_retries=0)
    model = AnthropicModel(ModelOptions(base_url=url, api_key="key", max_retries=0))

    async def ours(name: str) -> None:
        async for event in model.stream(Request(name, (), tuple(MESSAGES), (), 1_000)):
            last = event
        assert isinstance(last, Completion)

    async def create(name: str) -> None:
        request = {"model": name, "messages": MESSAGES, "max_tokens": 1_000, "stream": True}
        async for _event in await client.messages.create(**request):
            pass

    async def helper(name: str) -> None:
        async with client.messages.stream(
            model=name, messages=MESSAGES, max_tokens=1_000
        ) as events:
            async for _event in events:
                pass

    text, small, large = f"text-{TEXT_DELTAS}", f"tool-{SMALL}", f"tool-{LARGE}"
    clients = {"mewcode_nb": ours, "SDK create(stream=True)": create}
    cases = [(who, case) for case in (text, small, large) for who in clients]
    calls: dict[tuple[str, str], Callable[[str], Awaitable[None]]] = {
        (who, case): clients[who] for who, case in cases
    }
    calls |= {("SDK stream() helper", case): helper for case in (text, small)}
    found = await _time(calls)
    await model.close()
    await client.close()
    return _report(found, (text, small, large))


async def _time(
    calls: dict[tuple[str, str], Callable[[str], Awaitable[None]]],
) -> dict[tuple[str, str], float]:
    taken: dict[tuple[str, str], list[float]] = {key: [] for key in calls}
    keys = list(calls)
    for key in keys:
        await calls[key](key[1])
    for turn in range(ROUNDS):
        at = turn % len(keys)
        for key in keys[at:] + keys[:at]:
            start = time.perf_counter()
            await calls[key](key[1])
            taken[key].append((time.perf_counter() - start) / _deltas(key[1]))
    return {key: middle(values) for key, values in taken.items()}


def _deltas(case: str) -> int:
    kind, _, number = case.partition("-")
    return int(number) if kind == "text" else int(number) // PIECE


def _report(found: dict[tuple[str, str], float], cases: tuple[str, str, str]) -> Report:
    text, small, large = cases
    names = {
        text: f"text, {TEXT_DELTAS:,} deltas",
        small: "tool input, 10 KB",
        large: "tool input, 200 KB",
    }
    base = "SDK create(stream=True)"
    rows = tuple(
        (names[case], who, f"{value * 1e6:.1f}", ratio(value, found[base, case]))
        for (who, case), value in sorted(found.items(), key=lambda item: cases.index(item[0][1]))
    )
    ours = "mewcode_nb"
    return Report(
        "One streamed delta",
        ("stream", "client", "us per delta", "vs SDK create()"),
        rows,
        (
            Budget("text delta vs SDK create()", found[ours, text] / found[base, text], 1.5),
            Budget("tool input, 200 KB vs 10 KB", found[ours, large] / found[ours, small], 1.2),
        ),
        (f"Median of {ROUNDS} rounds in rotated order; the server is another process.",),
    )


if __name__ == "__main__":
    main(measure)
