"""Every named way for an answer to fail, with what a caller of the SDK sees: tables for tests.

`c2_faults` is the list, `c2_cases` its product with kinds of answer and places in the stream, ready
for `pytest.mark.parametrize`. What callers see was measured with `anthropic` 2.14.0, retries off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mewcode_nb.testing.faults import HTML_PAGE
from mewcode_nb.testing.script import Fault, Place, Reply, reply, thinking, tool_use

__all__ = ["AnswerKind", "FaultCase", "NamedFault", "c2_cases", "c2_faults"]

AnswerKind = Literal["text", "tool_use", "thinking"]
_LONG = 600.0
_KINDS: tuple[AnswerKind, ...] = ("text", "tool_use", "thinking")
_PLACES: tuple[Place, ...] = ("start", "open", "middle", "end")
_HTTP = (
    (400, "BadRequestError", False),
    (401, "AuthenticationError", False),
    (402, "PaymentRequiredError", False),
    (403, "PermissionDeniedError", False),
    (404, "NotFoundError", False),
    (408, "RequestTimeoutError", True),
    (409, "ConflictError", True),
    (413, "ContentTooLargeError", False),
    (429, "RateLimitError", True),
    (500, "InternalServerError", True),
    (502, "InternalServerError", True),
    (503, "ServiceUnavailableError", True),
    (504, "GatewayTimeoutError", True),
    (529, "OverloadedError", True),
)


@dataclass(frozen=True, slots=True)
class NamedFault:
    """A fault with its name and the SDK's way of showing it in a stream."""

    name: str
    fault: Fault
    sees: str
    """Class name of the exception; empty when the SDK raises nothing (or waits on)."""
    retried: bool = False
    """Whether the SDK itself would try again."""
    placed: bool = False
    """Whether it strikes at a place in the stream."""
    only: AnswerKind | None = None
    """The only kind of answer it makes sense for."""
    complete: bool = False
    """The answer is whole all the same."""
    silent: bool = False
    """It ends only when the client gives up."""


@dataclass(frozen=True, slots=True)
class FaultCase:
    """One fault in one kind of answer at one place; `str` gives a test id."""

    named: NamedFault
    kind: AnswerKind
    place: Place
    reply: Reply

    def __str__(self) -> str:
        parts = [self.named.name, self.kind, *([self.place] if self.named.placed else [])]
        return "-".join(parts)


def c2_faults() -> tuple[NamedFault, ...]:
    """Every named fault: statuses, transport, stream, content, and those of local servers."""
    return (*_statuses(), *_transport(), *_streams(), *_contents())


def c2_cases(
    kinds: Sequence[AnswerKind] = _KINDS,
    places: Sequence[Place] = _PLACES,
    *,
    silent: bool = True,
) -> list[FaultCase]:
    """Faults x kinds of answer x places; places only where they matter."""
    cases = []
    for named in c2_faults():
        if named.silent and not silent:
            continue
        for kind in kinds:
            if named.only not in (None, kind):
                continue
            for place in places if named.placed else places[:1]:
                fault = replace(named.fault, after=place) if named.placed else named.fault
                cases.append(FaultCase(named, kind, place, _sample(kind).with_fault(fault)))
    return cases


def _sample(kind: AnswerKind) -> Reply:
    words = "The mean is 3.5 and the median is 3, over six rows of the table."
    match kind:
        case "text":
            return reply(words)
        case "tool_use":
            call = tool_use("write_file", path="out.txt", content="alpha beta gamma delta " * 3)
            return reply("I will write it.", call)
        case "thinking":
            return reply(thinking("Six rows; the sum is 21. " * 3), words)


def _statuses() -> Iterator[NamedFault]:
    for status, sees, retried in _HTTP:
        yield NamedFault(f"http_{status}", Fault("status", status=status), sees, retried)
    waits = {"seconds": "1", "hour": "3600", "date": "Wed, 21 Oct 2037 07:28:00 GMT"}
    for name, value in {**waits, "rubbish": "soon"}.items():
        headers = (("retry-after", value),)
        fault = Fault("status", status=429, headers=headers)
        yield NamedFault(f"retry_after_{name}", fault, "RateLimitError", retried=True)
    refusal = Fault("status", status=529, headers=(("x-should-retry", "false"),))
    yield NamedFault("x_should_retry_false", refusal, "OverloadedError")
    page = Fault("status", status=502, body=HTML_PAGE)
    yield NamedFault("html_502", page, "InternalServerError", retried=True)
    local = (
        '{"error": {"code": 400, "message": "request (9000 tokens) exceeds the available context '
        'size (8192 tokens)", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, '
        '"n_ctx": 8192}}'
    )
    yield NamedFault(
        "llama_context_size", Fault("status", status=400, body=local), "BadRequestError"
    )
    long = Fault("status", status=400, message="prompt is too long: 208310 tokens > 200000 maximum")
    yield NamedFault("prompt_too_long", long, "BadRequestError")


def _transport() -> Iterator[NamedFault]:
    yield NamedFault("reset", Fault("reset"), "APIConnectionError", retried=True)
    late = Fault("late", seconds=_LONG)
    yield NamedFault("late_headers", late, "APITimeoutError", retried=True, silent=True)
    yield NamedFault("stream_reset", Fault("stream_reset"), "ReadError", placed=True)
    yield NamedFault("eof", Fault("eof"), "RemoteProtocolError", placed=True)
    yield NamedFault("stall", Fault("stall"), "ReadTimeout", placed=True, silent=True)
    pings = Fault("pings", seconds=0.05)
    yield NamedFault("pings_only", pings, "", placed=True, silent=True)
    comments = Fault("pings", seconds=0.05, comment=True)
    yield NamedFault("comment_pings_only", comments, "", placed=True, silent=True)
    yield NamedFault("html_200", Fault("html"), "AssertionError")
    yield NamedFault("empty_200", Fault("empty_body"), "AssertionError")


def _streams() -> Iterator[NamedFault]:
    for error in ("overloaded_error", "api_error", "rate_limit_error", "invalid_request_error"):
        fault = Fault("error_event", error=error)
        yield NamedFault(f"error_event_{error}", fault, "APIStatusError", placed=True)
    local = Fault("server_error_event")
    yield NamedFault("llama_error_event", local, "APIStatusError", placed=True)
    yield NamedFault("no_events", Fault("no_events"), "AssertionError")
    yield NamedFault("truncate", Fault("truncate", after="middle"), "")
    yield NamedFault("truncate_at_end", Fault("truncate", after="end"), "")
    yield NamedFault("half_event", Fault("half_event", after="middle"), "")
    yield NamedFault("garbage", Fault("garbage"), "JSONDecodeError", placed=True)
    for name in ("message_stop", "message_delta", "content_block_stop"):
        yield NamedFault(f"omit_{name}", Fault("omit", omit=(name,)), "")
    both = Fault("omit", omit=("message_delta", "message_stop"))
    yield NamedFault("omit_both_ends", both, "")
    yield NamedFault("unknown_events", Fault("unknown_events"), "", complete=True)


def _contents() -> Iterator[NamedFault]:
    inputs = {
        "not_json": ("{path: out.txt}", "ValueError"),
        "list": ("[1, 2]", ""),
        "string": ('"x"', ""),
        "empty": ("", ""),
    }
    for name, (text, sees) in inputs.items():
        fault = Fault("tool_json", body=text)
        yield NamedFault(f"tool_input_{name}", fault, sees, only="tool_use")
    yield NamedFault("tool_input_cut", Fault("tool_cut"), "", only="tool_use")
    yield NamedFault("max_tokens", Fault("max_tokens"), "")
