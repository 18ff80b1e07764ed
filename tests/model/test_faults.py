from __future__ import annotations

import pytest

from mewcode_nb.errors import (
    AuthenticationFailed,
    ContextTooLong,
    MalformedHistory,
    ModelUnavailable,
    OutputLimitTooLarge,
    StreamBroken,
)
from mewcode_nb.model.faults import (
    STALLED,
    UNREACHABLE,
    Fault,
    broken_off,
    gave_up,
    judge,
    read_fault,
)

NOW = 1_800_000_000.0


def api_error(kind, message, **extra):
    return {"type": "error", "error": {"type": kind, "message": message, **extra}}


def verdict(status, body, headers=None):
    return judge(read_fault("api.test", status, body, headers or {}), now=NOW)


@pytest.mark.parametrize(
    ("message", "used", "limit"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", 210_000, 200_000),
        ("prompt is too long: 210,000 tokens > 200,000 maximum", 210_000, 200_000),
        ("Prompt is too long", None, None),
        ("Input is too long for requested model.", None, None),
        ("capability_rejected: prompt_too_long", None, None),
        ("request (9000 tokens) exceeds the available context size (8192 tokens), try", 9000, 8192),
        ("the request exceeds the available context size. try increasing it", None, None),
        (
            (
                "The maximum context length is 4096 tokens. However, your request has 5000 "
                "input tokens. Please reduce the length of the input messages."
            ),
            5000,
            4096,
        ),
        (
            (
                "The maximum context length is 4096 tokens. However, you requested 9000 "
                "tokens (8000 in the messages, 1000 in the completion). Please reduce the length"
            ),
            8000,
            4096,
        ),
        (
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            5000,
            4096,
        ),
        (
            (
                "Trying to keep the first 10136 tokens when context overflows. However, the model "
                "is loaded with context length of only 7866 tokens, which is not enough."
            ),
            10_136,
            7866,
        ),
        (
            (
                "The number of tokens to keep from the initial prompt is greater than the context "
                "length (n_keep: 5000>= n_ctx: 4096). Try to load the model with a larger one"
            ),
            5000,
            4096,
        ),
        ("prompt too long; exceeded max context length by 300 tokens", None, None),
        ("the input length exceeds the maximum context length", None, None),
        (
            "The input token count (9000) exceeds the maximum number of tokens allowed (8192).",
            9000,
            8192,
        ),
        (
            "Prompt contains 9000 tokens, too large for model with 8192 maximum context length",
            9000,
            8192,
        ),
        ("context_length_exceeded", None, None),
        (
            "input length and `max_tokens` exceed context limit: 201000 + 8192 > 200000",
            201_000,
            200_000,
        ),
    ],
)
def test_a_prompt_over_the_window_is_known_in_every_wording(message, used, limit):
    found = verdict(400, api_error("invalid_request_error", message))
    assert type(found.error) is ContextTooLong
    assert (found.error.used, found.error.limit) == (used, limit)
    assert not found.retryable


@pytest.mark.parametrize(
    ("status", "body", "used", "limit"),
    [
        (413, api_error("request_too_large", "Request exceeds the maximum size"), None, None),
        (413, "<html>413 Request Entity Too Large</html>", None, None),
        (413, "", None, None),
        (
            400,
            {
                "error": {
                    "code": 400,
                    "message": "too many",
                    "type": "exceed_context_size_error",
                    "n_prompt_tokens": 9000,
                    "n_ctx": 8192,
                }
            },
            9000,
            8192,
        ),
        (400, {"message": "Input is too long for requested model."}, None, None),
        (400, {"object": "error", "message": "maximum context length is 4096 tokens"}, None, 4096),
        (400, {"error": "the input length exceeds the context length"}, None, None),
        (400, {"error": {"code": "context_length_exceeded", "message": "No."}}, None, None),
        (400, "prompt is too long: 5 tokens > 4 maximum", 5, 4),
        (
            500,
            {"error": {"code": 500, "message": "exceeds the available context size"}},
            None,
            None,
        ),
        (200, {"code": 400, "message": "x", "type": "exceed_context_size_error"}, None, None),
        (200, api_error("invalid_request_error", "prompt is too long: 5 tokens > 4 maximum"), 5, 4),
    ],
)
def test_a_prompt_over_the_window_is_known_in_every_envelope(status, body, used, limit):
    found = verdict(status, body)
    assert type(found.error) is ContextTooLong
    assert (found.error.used, found.error.limit) == (used, limit)


@pytest.mark.parametrize(
    ("message", "allowed"),
    [
        ("input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, x", 21_041),
        ("max_tokens: 65536 > 64000, which is the maximum allowed number of output tokens", 64_000),
        (
            (
                "The maximum context length is 6048 tokens. However, you requested 6616 tokens "
                "(568 in the messages, 6048 in the completion). Please reduce the length"
            ),
            5480,
        ),
        (
            (
                "The maximum context length is 2048 tokens. However, your request has 8 input "
                "tokens plus 2045 'max_tokens'. Please reduce one or the other."
            ),
            2040,
        ),
        (
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum "
                "context length is 4096 tokens and your request has 100 input tokens (4096 > 3996)"
            ),
            3996,
        ),
    ],
)
def test_input_plus_max_tokens_over_the_window_asks_for_less_output(message, allowed):
    found = verdict(400, api_error("invalid_request_error", message))
    assert type(found.error) is OutputLimitTooLarge
    assert found.error.allowed == allowed
    assert not found.retryable


@pytest.mark.parametrize(
    "message",
    [
        "tools.0.name: String should have at most 64 characters",
        "messages.1: `tool_use` ids were found without `tool_result` blocks",
        "messages.0.content.0.image: image dimensions exceed the max allowed size: 8000 pixels",
        "max_tokens: Field required",
        "metadata.user_id: string too long",
        "thinking.budget_tokens: must be less than max_tokens",
    ],
)
def test_other_refusals_are_not_taken_for_a_full_window(message):
    found = verdict(400, api_error("invalid_request_error", message))
    assert type(found.error) is MalformedHistory
    assert message in str(found.error)


def test_a_rate_limit_that_speaks_of_long_prompts_is_still_a_rate_limit():
    found = verdict(429, api_error("rate_limit_error", "prompt is too long for your tier"))
    assert type(found.error) is ModelUnavailable
    assert found.retryable


@pytest.mark.parametrize(
    ("status", "kind", "expected", "retryable"),
    [
        (400, "invalid_request_error", MalformedHistory, False),
        (401, "authentication_error", AuthenticationFailed, False),
        (402, "billing_error", AuthenticationFailed, False),
        (403, "permission_error", AuthenticationFailed, False),
        (404, "not_found_error", ModelUnavailable, False),
        (408, "timeout_error", ModelUnavailable, True),
        (409, "conflict_error", ModelUnavailable, True),
        (422, "invalid_request_error", MalformedHistory, False),
        (429, "rate_limit_error", ModelUnavailable, True),
        (500, "api_error", ModelUnavailable, True),
        (501, "api_error", ModelUnavailable, True),
        (502, "api_error", ModelUnavailable, True),
        (503, "api_error", ModelUnavailable, True),
        (504, "timeout_error", ModelUnavailable, True),
        (529, "overloaded_error", ModelUnavailable, True),
        (418, "teapot_error", ModelUnavailable, False),
    ],
)
def test_a_status_has_its_class_and_may_pass_or_not(status, kind, expected, retryable):
    found = verdict(status, api_error(kind, "words of the service"), {"request-id": "req_9"})
    assert type(found.error) is expected
    assert found.retryable is retryable
    assert (found.error.status, found.error.kind) == (status, kind)
    assert found.error.request_id == "req_9"
    assert "api.test" in str(found.error)
    assert "words of the service" in str(found.error)


@pytest.mark.parametrize(
    ("kind", "expected", "retryable"),
    [
        ("overloaded_error", ModelUnavailable, True),
        ("rate_limit_error", ModelUnavailable, True),
        ("api_error", ModelUnavailable, True),
        ("timeout_error", ModelUnavailable, True),
        ("server_error", ModelUnavailable, True),
        ("never_seen_error", ModelUnavailable, True),
        ("invalid_request_error", MalformedHistory, False),
        ("authentication_error", AuthenticationFailed, False),
        ("permission_error", AuthenticationFailed, False),
        ("billing_error", AuthenticationFailed, False),
    ],
)
def test_p_01_an_error_inside_a_stream_is_judged_by_its_type(kind, expected, retryable):
    found = verdict(200, api_error(kind, "x"))
    assert type(found.error) is expected
    assert found.retryable is retryable
    assert found.error.kind == kind


def test_a_local_servers_error_in_a_stream_is_judged_by_its_number():
    assert verdict(200, {"code": 400, "message": "x", "type": "odd"}).retryable is False
    assert verdict(200, {"code": 503, "message": "x", "type": "odd"}).retryable is True


@pytest.mark.parametrize(
    ("status", "said", "retryable"),
    [(529, "false", False), (500, "false", False), (418, "true", True), (529, "maybe", True)],
)
def test_the_services_own_word_on_retries_wins(status, said, retryable):
    assert verdict(status, api_error("x", "y"), {"x-should-retry": said}).retryable is retryable


def test_a_refusal_is_never_retried_even_when_the_service_says_so():
    found = verdict(400, api_error("invalid_request_error", "y"), {"x-should-retry": "true"})
    assert not found.retryable


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, api_error("invalid_request_error", "Your credit balance is too low to use the API")),
        (
            429,
            api_error(
                "rate_limit_error", "x", details={"error_code": "enforced_spend_limit_reached"}
            ),
        ),
        (402, ""),
    ],
)
def test_a_spent_account_is_told_as_such_and_not_retried(status, body):
    found = verdict(status, body)
    assert type(found.error) is AuthenticationFailed
    assert "no credit" in str(found.error)
    assert not found.retryable


@pytest.mark.parametrize(
    ("status", "body", "retryable"),
    [
        (200, "<!doctype html><script>x</script>", False),
        (403, "<html>Blocked by policy</html>", False),
        (404, "<html>nginx</html>", False),
        (502, "<html>Bad Gateway</html>", True),
        (503, "<html>", True),
        (429, "<html>", True),
    ],
)
def test_p_13_a_web_page_is_named_as_one_with_its_host(status, body, retryable):
    found = verdict(status, body)
    assert type(found.error) is ModelUnavailable
    assert found.retryable is retryable
    assert "api.test" in str(found.error)
    assert "a web page came back" in str(found.error)
    assert "<" not in str(found.error)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (STALLED, "api.test went silent"),
        (UNREACHABLE, "cannot reach api.test"),
        ("broken_stream", "the answer of api.test broke off"),
    ],
)
def test_no_answer_at_all_may_pass_and_names_the_host(kind, text):
    found = judge(Fault("api.test", kind=kind, message="why"), now=NOW)
    assert type(found.error) is ModelUnavailable
    assert found.retryable
    assert found.error.message == f"{text}: why"


def test_the_wait_comes_with_the_verdict():
    assert verdict(429, api_error("x", "y"), {"retry-after": "12"}).wait == 12.0
    assert verdict(429, api_error("x", "y"), {"retry-after": "rubbish"}).wait is None


def test_a_services_long_text_is_cut_to_one_line():
    text = str(verdict(500, api_error("api_error", "line\n" * 5000)).error)
    assert "\n" not in text
    assert len(text) < 500


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        3,
        "plain",
        {"error": None},
        {"error": []},
        {"detail": "x"},
        {"error": {"message": 5}},
    ],
)
def test_a_body_of_any_shape_is_a_fault(body):
    assert isinstance(verdict(500, body).error, ModelUnavailable)


def test_a_broken_off_answer_carries_its_words_and_the_cause():
    cause = verdict(200, api_error("overloaded_error", "busy")).error
    error = broken_off(cause, ({"type": "text", "text": "half"},))
    assert type(error) is StreamBroken
    assert error.partial == ({"type": "text", "text": "half"},)
    assert (error.status, error.kind) == (200, "overloaded_error")
    assert "busy" in str(error)


def test_giving_up_names_the_attempts_or_the_wait():
    cause = verdict(529, api_error("overloaded_error", "busy")).error
    assert "tried" not in gave_up(cause, 1, None, 60).message
    assert gave_up(cause, 5, None, 60).message.endswith("(tried 5 times)")
    long_wait = gave_up(cause, 1, 3600.0, 60.0)
    assert "3,600 s, more than 60 s" in long_wait.message
    assert "max_wait" in long_wait.remedy
    assert type(long_wait) is ModelUnavailable
