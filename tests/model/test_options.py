from __future__ import annotations

import pytest

from mewcode_nb.errors import AuthenticationFailed, ConfigError
from mewcode_nb.model.options import ModelOptions


@pytest.mark.parametrize(
    ("base_url", "host"),
    [
        ("", "api.anthropic.com"),
        ("http://localhost:11434", "localhost:11434"),
        ("https://user:secret@gateway.test/base?key=1", "gateway.test"),
        ("http://[::1]:8080", "::1:8080"),
    ],
)
def test_messages_name_the_host_and_nothing_secret(base_url, host):
    assert ModelOptions(base_url=base_url).host == host


@pytest.mark.parametrize(
    "base_url", ["localhost:11434", "ftp://x", "http://", "http://x:99999", "/v1"]
)
def test_an_address_that_cannot_be_reached_is_refused_by_name(base_url):
    with pytest.raises(ConfigError, match="base_url") as caught:
        ModelOptions(base_url=base_url)
    assert repr(base_url) in str(caught.value)


def test_no_key_is_told_with_every_way_out():
    with pytest.raises(AuthenticationFailed) as caught:
        ModelOptions().require_credentials()
    for way in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "tutorial"):
        assert way in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-ant-1\n", " sk-ant-1", "sk-ant-ü", "sk-ant\x00"])
def test_a_key_that_no_header_can_hold_is_told_without_showing_it(key):
    with pytest.raises(AuthenticationFailed) as caught:
        ModelOptions(api_key=key).require_credentials()
    assert "sk-ant" not in str(caught.value)


def test_a_key_or_a_token_is_enough():
    ModelOptions(api_key="k").require_credentials()
    ModelOptions(auth_token="ollama").require_credentials()


def test_n_06_keys_are_in_no_representation_and_masked_in_text():
    options = ModelOptions(api_key="sk-ant-secret", auth_token="tok-secret")
    assert "secret" not in repr(options)
    assert options.masked("x sk-ant-secret y tok-secret z") == "x ••• y ••• z"
    assert ModelOptions().masked("nothing") == "nothing"
