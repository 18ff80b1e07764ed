from __future__ import annotations

from pathlib import Path

import pytest

from mewcode_nb.config.credentials import Credentials, load_credentials


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text('api_key = " file-key "\nauth_token = "file-token"\n', encoding="utf-8")
    return path


def test_the_environment_outranks_the_users_file_and_is_not_mixed_with_it(user_file: Path) -> None:
    found = load_credentials({"ANTHROPIC_AUTH_TOKEN": "env-token"}, user_file)
    assert (found.api_key, found.auth_token) == ("", "env-token")
    assert found.origin == "environment ANTHROPIC_AUTH_TOKEN"


def test_the_users_file_serves_where_the_environment_has_none(user_file: Path) -> None:
    found = load_credentials({"ANTHROPIC_API_KEY": " "}, user_file)
    assert (found.api_key, found.auth_token) == ("file-key", "file-token")
    assert found.origin == f"user file {user_file}"
    assert found.secrets() == ("file-key", "file-token")


@pytest.mark.parametrize("text", ["", "api_key = 5", "api_key = ", "[api_key]"])
def test_without_a_key_there_is_none_and_no_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    assert load_credentials({}, path) == Credentials()
    assert not load_credentials({}, None).found


def test_a_representation_never_shows_the_key(user_file: Path) -> None:
    found = load_credentials({}, user_file)
    assert "file-key" not in f"{found!r} {found}"
    assert "file-token" not in f"{found!r} {found}"
