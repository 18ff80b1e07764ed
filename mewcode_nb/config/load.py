"""Merge the settings from all their sources, each value with its origin.

Later wins: defaults, user file, project file, IPython configuration, environment, magic options.
What a file, a variable or IPython gets wrong is told in a notice and the value below it holds:
loading never fails for it. What the user has just typed after a magic raises instead.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from mewcode_nb.config.files import Table, read_table, readable_by_others
from mewcode_nb.config.rules import (
    CREDENTIAL_KEYS,
    RULES,
    Value,
    host_of,
    is_loopback,
    read_value,
    shown_address,
)
from mewcode_nb.config.settings import Settings
from mewcode_nb.errors import ConfigError
from mewcode_nb.events import Notice
from mewcode_nb.paths import real_path

__all__ = ["LoadedSettings", "Origin", "Sources", "load_settings", "settings_sources"]

SourceName = Literal[
    "default", "user file", "project file", "ipython", "environment", "this kernel"
]

_API_VARIABLES = {"ANTHROPIC_BASE_URL": "base_url", "ANTHROPIC_MODEL": "model"}
"""The SDK's and the ecosystem's own names; the product's own outrank them."""

_SHOWN_CHARACTERS = 60
_SHOWN_KEYS = 20


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value in force came from."""

    source: SourceName
    where: str = ""
    """The file or the variable; empty for defaults."""

    def __str__(self) -> str:
        return f"{self.source} {self.where}".rstrip()


@dataclass(frozen=True, slots=True)
class Sources:
    """All that settings are read from."""

    user_file: Path | None = None
    project_file: Path | None = None
    ipython: Mapping[str, object] = field(default_factory=dict)
    """Names of settings to values, as IPython's configuration has them; None for unset."""
    environ: Mapping[str, str] = field(default_factory=dict)
    magic: Mapping[str, object] = field(default_factory=dict)
    """Options the user typed; None for not given."""


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings in force, the origin of each, and what was ignored on the way."""

    settings: Settings
    origins: Mapping[str, Origin]
    notices: tuple[Notice, ...] = ()


def settings_sources(
    root: Path,
    home: Path | None,
    *,
    environ: Mapping[str, str],
    ipython: Mapping[str, object] | None = None,
    magic: Mapping[str, object] | None = None,
) -> Sources:
    """The usual places: `.mewcode/config.toml` in the home folder and in the project root."""
    user = home / ".mewcode" / "config.toml" if home is not None else None
    project = root / ".mewcode" / "config.toml"
    if user is not None and real_path(project) == real_path(user):
        return Sources(user, None, ipython or {}, environ, magic or {})
    return Sources(user, project, ipython or {}, environ, magic or {})


def load_settings(sources: Sources) -> LoadedSettings:
    """The merged settings. Raises `ConfigError` for a bad value or name in `sources.magic` only."""
    merge = _Merge()
    merge.add_user_file(sources.user_file)
    merge.add_project_file(sources.project_file)
    merge.add_ipython(sources.ipython)
    merge.add_environment(sources.environ)
    merge.add_magic(sources.magic)
    merge.warn_of_address()
    settings = replace(Settings(), **merge.values)  # type: ignore[arg-type] # checked by RULES
    origins = {
        item.name: merge.origins.get(item.name, Origin("default")) for item in fields(Settings)
    }
    return LoadedSettings(settings, MappingProxyType(origins), tuple(merge.notices))


class _Merge:
    """The values so far; each source is added once, in order."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.origins: dict[str, Origin] = {}
        self.notices: list[Notice] = []

    def add_user_file(self, path: Path | None) -> None:
        """Every setting and the credential keys, which are not read here."""
        if path is None:
            return
        table = self._table(path)
        if any(key in table for key in CREDENTIAL_KEYS) and readable_by_others(path):
            text = f"{path} holds a key and others on this machine may read it"
            self.notices.append(Notice(text, "warning", remedy=f"chmod 600 {path}"))
        for key, raw in table.items():
            if key not in CREDENTIAL_KEYS:
                self._add_checked(key, raw, Origin("user file", str(path)))

    def add_project_file(self, path: Path | None) -> None:
        """The safe keys only. One notice names all others, without the values of forbidden ones."""
        if path is None:
            return
        forbidden: list[str] = []
        unfit: list[tuple[str, str]] = []
        for key, raw in self._table(path, within=path.parent.parent).items():
            rule = RULES.get(key)
            if rule is None or rule.project == "never":
                forbidden.append(_shown(key))
            elif rule.project == "lower" and not self._lowers(key, raw):
                limit = self.values.get(key, getattr(Settings(), key))
                unfit.append(
                    (f"{key} = {_shown(raw)}", f"a project may only lower it from {limit}")
                )
            else:
                problem = self._problem(key, raw, Origin("project file", str(path)))
                unfit += [problem] if problem else []
        if forbidden:
            them = "it" if len(forbidden) == 1 else "them"
            unfit.insert(0, (_listed(forbidden), f"a project may not set {them}"))
        if unfit:
            (what, why), *others = unfit
            more = "".join(f"; {what}: {why}" for what, why in others)
            self._ignore(f"{what} in {path}: {why}{more}")
        if (path.parent.parent / ".env").is_file():
            self.notices.append(
                Notice(f"ignored: {path.parent.parent / '.env'}: .env files are not read")
            )

    def add_ipython(self, values: Mapping[str, object]) -> None:
        """IPython's configuration, names as they are there."""
        for key, raw in values.items():
            if raw is not None:
                self._add_checked(key, raw, Origin("ipython", f"MewcodeMagics.{key}"))

    def add_environment(self, environ: Mapping[str, str]) -> None:
        """`MEWCODE_<NAME>` for each setting; an empty variable counts as unset."""
        for name, key in _variables(environ):
            self._add_checked(key, environ[name], Origin("environment", name), words=True)
        for name in environ:
            near = _near_key(name.removeprefix("MEWCODE_").lower())
            known = name.removeprefix("MEWCODE_").lower() in RULES
            if name.startswith("MEWCODE_") and near and not known:
                self._ignore(f"{name}: no such setting; did you mean MEWCODE_{near.upper()}?")

    def add_magic(self, values: Mapping[str, object]) -> None:
        """What was typed: wrong values and names raise `ConfigError`."""
        for key, raw in values.items():
            if raw is None:
                continue
            rule = RULES.get(key)
            if rule is None:
                raise ConfigError(f"no setting is named {_shown(key)}", remedy=_known_keys(key))
            try:
                self._set(key, read_value(rule, raw, words=True), Origin("this kernel"))
            except ValueError as error:
                message = f"{key} cannot be {_shown_value(key, raw)}"
                raise ConfigError(message, remedy=f"allowed: {error}") from None

    def warn_of_address(self) -> None:
        """A key sent over plain http can be read on the way; a path such as /v1 is there twice."""
        url = str(self.values.get("base_url", ""))
        if shown_address(url).rstrip("/").endswith(("/v1", "/v1/messages")):
            text = f"base_url {shown_address(url)} should not end in /v1: the client adds it"
            self.notices.append(Notice(text, "warning", remedy="leave /v1 out"))
        if url.lower().startswith("http:") and not is_loopback(url):
            text = f"base_url goes to {host_of(url)} over http: the key can be read on the way"
            self.notices.append(Notice(text, "warning", remedy="use an https address"))

    def _table(self, path: Path, within: Path | None = None) -> Table:
        table, problem = read_table(path, within=within)
        if problem:
            self._ignore(f"{path}: {problem}")
        return table

    def _add_checked(self, key: str, raw: object, origin: Origin, *, words: bool = False) -> None:
        if problem := self._problem(key, raw, origin, words=words):
            self._ignore(f"{problem[0]} in {origin.where}: {problem[1]}")

    def _problem(
        self, key: str, raw: object, origin: Origin, *, words: bool = False
    ) -> tuple[str, str] | None:
        """Take the value, or say what is wrong with it: (what, why)."""
        rule = RULES.get(key)
        if rule is None:
            near = _near_key(key)
            return _shown(key), f"no such setting{f'; did you mean {near}?' if near else ''}"
        try:
            self._set(key, read_value(rule, raw, words=words), origin)
        except ValueError as error:
            return f"{key} = {_shown_value(key, raw)}", f"allowed is {error}"
        return None

    def _set(self, key: str, value: Value, origin: Origin) -> None:
        self.values[key] = value
        self.origins[key] = origin

    def _lowers(self, key: str, raw: object) -> bool:
        in_force = self.values.get(key, getattr(Settings(), key))
        return not isinstance(raw, int | float) or raw <= in_force

    def _ignore(self, text: str) -> None:
        self.notices.append(Notice(f"ignored: {text}", "warning"))


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    own = {f"MEWCODE_{key.upper()}": key for key in RULES}
    for name, key in {**_API_VARIABLES, **own}.items():
        if environ.get(name, "").strip():
            yield name, key


def _near_key(key: str) -> str:
    near = difflib.get_close_matches(key, RULES, n=1, cutoff=0.75)
    return near[0] if near else ""


def _known_keys(key: str) -> str:
    near = _near_key(key)
    return f"did you mean {near}?" if near else f"known: {', '.join(RULES)}"


def _listed(names: list[str]) -> str:
    left = len(names) - _SHOWN_KEYS
    return ", ".join(names[:_SHOWN_KEYS]) + (f" and {left} more" if left > 0 else "")


def _shown(raw: object) -> str:
    """A value on one short line; tables and lists are named, not shown."""
    if isinstance(raw, dict | list):
        return "a table" if isinstance(raw, dict) else "a list"
    text = raw if isinstance(raw, str) and raw.isprintable() and raw.strip() else ascii(raw)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def _shown_value(key: str, raw: object) -> str:
    """As `_shown`, but of an address, which may hold a password, the harmless parts only."""
    if key == "base_url":
        address = shown_address(str(raw))
        return _shown(address) if address else "this address"
    return _shown(raw)
