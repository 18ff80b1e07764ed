"""What went wrong on the way to the model, and which of our errors that is.

One table for every service: the status and `error.type` decide, and where neither names the case
(a prompt over the window has no code of its own) the text does, in each wording known so far.
An error inside a stream comes with status 200, so there the type stands in for the status.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from mewcode_nb.errors import (
    AuthenticationFailed,
    ContextTooLong,
    MalformedHistory,
    ModelError,
    ModelUnavailable,
    OutputLimitTooLarge,
    StreamBroken,
)
from mewcode_nb.messages import Block
from mewcode_nb.model.retry import retry_after

__all__ = [
    "STALLED",
    "UNREACHABLE",
    "Fault",
    "Verdict",
    "broken_off",
    "gave_up",
    "judge",
    "read_fault",
]

UNREACHABLE = "unreachable"
"""Our own kind: no connection, or one that failed before a status came."""
STALLED = "stalled"
"""Our own kind: connected, but silent for longer than the limit."""

_LONGEST_TEXT = 300
"""Characters of a service's own message that are shown."""
_LONGEST_SEARCHED = 4_000

_STATUS_OF_TYPE: Mapping[str, int] = MappingProxyType(
    {
        "invalid_request_error": 400,
        "exceed_context_size_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "server_error": 500,
        "unavailable_error": 503,
        "timeout_error": 504,
        "overloaded_error": 529,
    }
)
_REASONS: Mapping[int, str] = MappingProxyType(
    {
        408: "timed out",
        409: "is busy with a conflicting request",
        429: "is limiting requests",
        503: "is not available",
        504: "took too long",
        529: "is overloaded",
    }
)
_N = r"(\d[\d,]*)"
_QUALIFIER = r"(?:available|max|maximum|model'?s?)"
_EXTENT = r"(?:length|window|size|limit)"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.replace("<N>", _N), re.IGNORECASE | re.DOTALL)


_OUTPUT_TOO_LARGE = (
    # Anthropic, vLLM (three editions) and older OpenAI-style servers: input, then the window.
    (_pattern(r"max_tokens`? exceed context limit: <N> \+ <N> > <N>"), (1, 3)),
    (_pattern(r"context length is <N> tokens.*?\(<N> in (?:the messages|your prompt)"), (2, 1)),
    (_pattern(r"context length is <N> tokens.*?<N> input tokens plus"), (2, 1)),
    (
        _pattern(r"max_(?:completion_)?tokens.*?context length is <N> tokens.*?<N> input tokens"),
        (2, 1),
    ),
)
_OUTPUT_MAXIMUM = _pattern(r"max_tokens: <N> > <N>, which is the maximum allowed")
_TOO_LONG = (
    # Each with the groups that hold the tokens used and the window, 0 where the text has none.
    (_pattern(r"prompt is too long: <N> tokens > <N>"), (1, 2)),
    (_pattern(r"request \(<N> tokens\) exceeds the available context size \(<N> tokens"), (1, 2)),
    (_pattern(r"keep the first <N> tokens.*?context length of only <N>"), (1, 2)),
    (_pattern(r"n_keep: <N>\s*>=?\s*n_ctx: <N>"), (1, 2)),
    (
        _pattern(r"input token count \(<N>\) exceeds the maximum number of tokens allowed \(<N>"),
        (1, 2),
    ),
    (_pattern(r"prompt contains <N> tokens.*?too large for model with <N>"), (1, 2)),
    (_pattern(r"length <N>\) is longer than the maximum model length of <N>"), (1, 2)),
    (_pattern(r"context length is <N> tokens.*?(?:request has|requested) (?:about )?<N>"), (2, 1)),
    (_pattern(r"maximum context length is <N>"), (0, 1)),
    (_pattern(r"prompt (?:is )?too long|prompt_too_long|context_length_exceeded"), (0, 0)),
    (_pattern(r"input (?:is|length is) too long|exceed_context_size"), (0, 0)),
    (_pattern(r"tokens to keep from the initial prompt is greater than the context"), (0, 0)),
    (_pattern(rf"exceed(?:s|ed)? (?:the )?(?:{_QUALIFIER} )*context {_EXTENT}"), (0, 0)),
)
_MAY_BE_TOO_LONG = frozenset({400, 413, 422, 500})
_NO_CREDIT = _pattern(r"credit balance is too low|insufficient (?:credit|quota)")


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure as it was seen, before it is judged. Text in it holds no secrets."""

    host: str
    """The endpoint, as the user would name it."""
    status: int | None = None
    """The HTTP status; None when no answer came."""
    kind: str = ""
    """`error.type` of the body, or `UNREACHABLE` or `STALLED`."""
    code: str = ""
    """`error.details.error_code`."""
    message: str = ""
    error: Mapping[str, object] = field(default_factory=dict)
    """The body's `error` object: local servers put numbers beside the text."""
    headers: Mapping[str, str] = field(default_factory=dict)
    request_id: str | None = None
    is_api: bool = True
    """Whether the body had the shape of an API error; false for a proxy's web page."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which error it is, whether the same request may succeed later, and the wait asked for."""

    error: ModelError
    retryable: bool
    wait: float | None = None
    """Seconds, where the service named a wait."""


def read_fault(host: str, status: int, body: object, headers: Mapping[str, str]) -> Fault:
    """A service's answer as a fault; `body` is its JSON, or its text where that is no JSON.

    Reads the Messages API's envelope, llama.cpp's and OpenAI's (no outer `type`), the bare object
    of older vLLM and of Bedrock (`message` at the top), and FastAPI's `detail`.
    """
    fields: Mapping[str, object] = body if isinstance(body, dict) else {}
    inner = fields.get("error")
    if isinstance(inner, dict):
        fields = inner
    details = fields.get("details")
    code = details.get("error_code") if isinstance(details, dict) else fields.get("code")
    texts = (fields.get("message"), inner, fields.get("detail"), _plain(body))
    message = next((text for text in texts if isinstance(text, str) and text), "")
    return Fault(
        host,
        status=status,
        kind=_string(fields.get("type")),
        code=_string(code),
        message=message,
        error=fields,
        headers=headers,
        request_id=headers.get("request-id"),
        is_api=isinstance(fields.get("message"), str) or isinstance(inner, str),
    )


def broken_off(cause: ModelError, partial: tuple[Block, ...]) -> StreamBroken:
    """The error for an answer of which something was already shown."""
    error = StreamBroken(
        cause.message,
        remedy="the answer above is not complete; ask to go on, or run the cell again",
        status=cause.status,
        kind=cause.kind,
        request_id=cause.request_id,
    )
    error.partial = partial
    return error


def gave_up(
    cause: ModelError, failed: int, asked: float | None, max_wait: float
) -> ModelUnavailable:
    """The error after the last attempt, or for a wait (`asked`, seconds) that is too long."""
    message, remedy = cause.message, cause.remedy
    if asked is not None:
        message += f"; it asks to wait {asked:,.0f} s, more than {max_wait:,.0f} s"
        remedy = "run the cell again later, or raise the max_wait setting"
    elif failed > 1:
        message += f" (tried {failed} times)"
    return ModelUnavailable(
        message, remedy=remedy, status=cause.status, kind=cause.kind, request_id=cause.request_id
    )


def judge(fault: Fault, *, now: float) -> Verdict:
    """The one place where a failure gets its class. `now` in seconds since the epoch."""
    status = _status(fault)
    wait = retry_after(fault.headers, now)
    error = _over_the_window(fault, status) or _by_status(fault, status)
    error.status, error.kind, error.request_id = fault.status, fault.kind, fault.request_id
    retryable = isinstance(error, ModelUnavailable) and _may_pass(fault, status)
    return Verdict(error, retryable, wait)


def _status(fault: Fault) -> int | None:
    if fault.status is None or fault.status >= 400:
        return fault.status
    number = fault.error.get("code")
    if fault.kind in _STATUS_OF_TYPE:
        return _STATUS_OF_TYPE[fault.kind]
    return number if isinstance(number, int) and 400 <= number < 600 else 500


def _may_pass(fault: Fault, status: int | None) -> bool:
    said = fault.headers.get("x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    if not fault.is_api and fault.status is not None and fault.status < 400:
        return False
    return status is None or status in (408, 409, 429) or status >= 500


def _over_the_window(fault: Fault, status: int | None) -> ModelError | None:
    text = f"{fault.code} {fault.kind} {fault.message}"[:_LONGEST_SEARCHED]
    if status not in _MAY_BE_TOO_LONG:
        return None
    if (found := _OUTPUT_MAXIMUM.search(text)) is not None:
        return _output_too_large(fault, _tokens(found, 2))
    for pattern, (used, limit) in _OUTPUT_TOO_LARGE:
        if (found := pattern.search(text)) is not None:
            return _split_window(fault, _tokens(found, used) or 0, _tokens(found, limit) or 0)
    for pattern, (used, limit) in _TOO_LONG:
        if (found := pattern.search(text)) is not None:
            return _too_long(fault, _tokens(found, used), _tokens(found, limit))
    return _too_long(fault, None, None) if status == 413 else None


def _tokens(found: re.Match[str], group: int) -> int | None:
    return int(found[group].replace(",", "")) if group else None


def _split_window(fault: Fault, used: int, limit: int) -> ModelError:
    if used < limit:
        return _output_too_large(fault, limit - used)
    return _too_long(fault, used, limit)


def _output_too_large(fault: Fault, allowed: int | None) -> ModelError:
    error = OutputLimitTooLarge(
        f"max_tokens is larger than {fault.host} allows here{_said(fault)}",
        remedy="lower the max_tokens setting",
    )
    error.allowed = allowed
    return error


def _too_long(fault: Fault, used: int | None, limit: int | None) -> ModelError:
    prompt, window = fault.error.get("n_prompt_tokens"), fault.error.get("n_ctx")
    error = ContextTooLong(
        f"the conversation is too long for the model{_said(fault)}",
        remedy="run %compact, or start anew with %mewcode new",
    )
    error.used = prompt if isinstance(prompt, int) else used
    error.limit = window if isinstance(window, int) else limit
    return error


def _by_status(fault: Fault, status: int | None) -> ModelError:
    if status is None:
        return _no_answer(fault)
    if not fault.is_api and not _speaks_for_itself(fault.status or 0):
        return _not_an_api(fault)
    if status in (401, 402, 403) or _is_unpaid(fault):
        return _not_allowed(fault, status)
    if status in (400, 422):
        return MalformedHistory(
            f"{fault.host} refused the request ({status}){_said(fault)}",
            remedy="begin a new session: %mewcode new",
        )
    if status == 404:
        return ModelUnavailable(
            f"{fault.host} does not know this model or address (404){_said(fault)}",
            remedy="check the model's name (-m) and base_url, which must not end in /v1",
        )
    reason = _REASONS.get(status, "failed" if status >= 500 else "refused the request")
    return ModelUnavailable(
        f"{fault.host} {reason} ({status}){_said(fault)}", remedy="run the cell again later"
    )


def _no_answer(fault: Fault) -> ModelError:
    if fault.kind == STALLED:
        remedy = "run the cell again, or raise the stall_seconds setting"
        return ModelUnavailable(f"{fault.host} went silent{_said(fault)}", remedy=remedy)
    if fault.kind == UNREACHABLE:
        remedy = "check the network, the proxy and the base_url setting"
        return ModelUnavailable(f"cannot reach {fault.host}{_said(fault)}", remedy=remedy)
    remedy = "run the cell again"
    return ModelUnavailable(f"the answer of {fault.host} broke off{_said(fault)}", remedy=remedy)


def _not_an_api(fault: Fault) -> ModelError:
    return ModelUnavailable(
        f"{fault.host} did not answer as a Messages API ({fault.status}){_said(fault)}",
        remedy="check base_url; a proxy or a login page may stand in between",
    )


def _speaks_for_itself(status: int) -> bool:
    """Whether the status tells enough where the body is not the API's, as from a gateway."""
    return status in (401, 402, 408, 409, 429) or status >= 500


def _is_unpaid(fault: Fault) -> bool:
    return fault.code.endswith("spend_limit_reached") or bool(_NO_CREDIT.search(fault.message))


def _not_allowed(fault: Fault, status: int) -> ModelError:
    if status == 402 or _is_unpaid(fault):
        problem, remedy = "has no credit left for this key", "check the account's billing"
    elif status == 403:
        problem, remedy = "does not permit this", "check what the key and account may use"
    else:
        problem, remedy = "did not accept the key", "check ANTHROPIC_API_KEY"
    return AuthenticationFailed(
        f"{fault.host} {problem} ({fault.status}){_said(fault)}", remedy=remedy
    )


def _said(fault: Fault) -> str:
    text = " ".join(fault.message.split())
    cut = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
    return f": {cut}" if cut else ""


def _plain(body: object) -> str:
    """The text of a body that is not JSON; of a web page only that it is one."""
    text = body.strip() if isinstance(body, str) else ""
    return "a web page came back" if text.startswith("<") else text


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
