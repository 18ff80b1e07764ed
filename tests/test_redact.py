from __future__ import annotations

import base64
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.redact import (
    MASK,
    Redactor,
    child_environment,
    is_secret_name,
    secret_values,
)

SECRET = 'p@ss/w"rd+é1234'


@pytest.mark.parametrize(
    "spelled",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        quote(SECRET, safe=""),
        quote(SECRET),
        quote_plus(SECRET),
        quote(SECRET, safe="").lower(),
    ],
)
def test_t_17_a_secret_is_masked_however_it_is_spelled(spelled: str) -> None:
    assert Redactor([SECRET]).mask(f"a {spelled} b {spelled}") == f"a {MASK} b {MASK}"


@given(
    st.binary(max_size=7), st.binary(max_size=7), st.sampled_from(["sk-live-0123456789", SECRET])
)
def test_t_17_a_secret_inside_base64_is_masked(before: bytes, after: bytes, secret: str) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + secret.encode() + after).decode()
        assert MASK in Redactor([secret]).mask(text)


def test_t_17_a_secret_of_several_lines_is_masked_line_by_line() -> None:
    secret = "-----BEGIN KEY-----\nAAAABBBBCCCCDDDDEEEE\nshort\n-----END KEY-----"
    masked = Redactor([secret]).mask("1: AAAABBBBCCCCDDDDEEEE\n2: short")
    assert masked == f"1: {MASK}\n2: short"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("key sk-ant-api03-abcDEF_123-x.", f"key {MASK}."),
        ("Authorization: Bearer abcd", f"Authorization: Bearer {MASK}"),
        ('{"authorization": "Bearer abcd"}', f'{{"authorization": "Bearer {MASK}"}}'),
        ("'Authorization': 'Basic dXNlcjpwdw=='", f"'Authorization': 'Basic {MASK}'"),
        ("bearer abcdef.ghijkl.mnopqr==", f"bearer {MASK}"),
        ("x-api-key: 0123456789", f"x-api-key: {MASK}"),
        ("{'X-Api-Key': '0123456789'}", f"{{'X-Api-Key': '{MASK}'}}"),
        ("ghp_" + "a1" * 18, MASK),
        ("hf_" + "aB" * 17, MASK),
        ("xoxb-123456789012-abc", MASK),
    ],
)
def test_t_17_what_looks_like_a_key_is_masked_whoever_it_belongs_to(text: str, masked: str) -> None:
    assert Redactor().mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the bearer of good news arrived",
        "Bearer authentication",
        "task-antelope-migration",
        "sk-learn and sk-ant",
        "x-api-key is a header",
        "high light ghp_ hf_ xox",
        "约定 авторизация",
    ],
)
def test_ordinary_text_is_the_same_object(text: str) -> None:
    assert Redactor(["another-secret"]).mask(text) is text


def test_short_and_common_values_are_not_masked_everywhere() -> None:
    redactor = Redactor(["true", "", "1234567", "disabled"])
    assert redactor.mask("true 1234567 disabled") == "true 1234567 disabled"


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert (
        Redactor(["abcdefgh", "abcdefgh-ijkl"]).mask("abcdefgh-ijkl abcdefgh") == f"{MASK} {MASK}"
    )


def test_a_redactor_does_not_show_its_secrets() -> None:
    assert "very-secret" not in repr(Redactor(["very-secret"]))


def test_mask_json_masks_strings_only_and_keeps_the_original() -> None:
    value = {"a": ["x secret-123", 1, None, True, 2.5], "secret-123": {"b": "secret-123"}}
    kept = json.dumps(value)
    assert Redactor(["secret-123"]).mask_json(value) == {
        "a": [f"x {MASK}", 1, None, True, 2.5],
        MASK: {"b": MASK},
    }
    assert json.dumps(value) == kept


def test_mask_json_keeps_two_masked_keys_apart() -> None:
    masked = Redactor(["secret-123", "secret-456"]).mask_json({"secret-123": 1, "secret-456": 2})
    assert sorted(masked.values()) == [1, 2]


def test_mask_json_goes_to_any_depth() -> None:
    value: list[object] = ["secret-123"]
    for _ in range(5000):
        value = [value]
    inner = Redactor(["secret-123"]).mask_json(value)
    for _ in range(5000):
        (inner,) = inner
    assert inner == [MASK]


def test_masking_takes_time_in_proportion_to_the_text() -> None:
    redactor = Redactor([f"secret-number-{n}" for n in range(20)])
    for unit in ("bearer ", "authorization: ", "sk-ant-", "x-api-key" + ":" * 20, "gh", "secret-"):
        text = unit * (1_000_000 // len(unit))
        started = time.process_time()
        redactor.mask(text)
        assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "name",
    [
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN"),
        *("PGPASSWORD", "MYSQL_PWD", "GITHUB_PAT", "SENTRY_DSN", "npm_config__authToken"),
        *("AZURE_CLIENT_SECRET", "db_password", "OPENAI_APIKEY", "REDISCLI_AUTH", "JPY_API_TOKEN"),
        *("SECRET_KEY_BASE", "AZURE_STORAGE_CONNECTION_STRING", "SESSION_COOKIE"),
    ],
)
def test_t_17_names_of_secret_variables(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "PWD", "OLDPWD", "LANG", "GPG_KEY", "SSH_AUTH_SOCK", "XAUTHORITY"),
        *("TOKENIZERS_PARALLELISM", "MEWCODE_MAX_TOKENS", "KEYBOARD", "GIT_ASKPASS", "MONKEY_DIR"),
        *("AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS", "PASSWORD_FILE", "PGPASSFILE"),
        *("JPY_SESSION_NAME", "_", ""),
    ],
)
def test_names_of_ordinary_variables(name: str) -> None:
    assert not is_secret_name(name)


def test_t_17_secret_values_are_those_of_secret_names_and_passwords_in_addresses() -> None:
    environ = {
        "API_KEY": " key-12345678 ",
        "COPY_TOKEN": "key-12345678",
        "EMPTY_TOKEN": "",
        "DATABASE_URL": "postgres://ann:hunter2hunter2@db/x",
        "ODD": "http://[broken@",
        "PATH": "/bin",
    }
    assert secret_values(environ) == ("key-12345678", "hunter2hunter2")


def test_t_17_child_environments_hold_no_secret() -> None:
    environ = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "key-12345678",
        "SHORT_TOKEN": "abc",
        "CURL_OPTIONS": "-H x:key-12345678",
        "HEADERS": "Authorization: Bearer abcdefgh",
        "DATABASE_URL": "postgres://ann:hunter2hunter2@db/x",
        "https_proxy": "http://ann:hunter2hunter2@proxy:3128",
        "WANTED_TOKEN": "wanted-12345678",
    }
    assert child_environment(environ, keep=["WANTED_TOKEN"]) == {
        "PATH": "/bin",
        "https_proxy": "http://ann:hunter2hunter2@proxy:3128",
        "WANTED_TOKEN": "wanted-12345678",
    }
    assert "WANTED_TOKEN" not in child_environment(environ)
    assert environ["ANTHROPIC_API_KEY"] == "key-12345678"
