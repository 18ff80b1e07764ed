"""Mask secrets in what leaves the process: results, sessions, spills, notes, logs, notebook output.

Two kinds are masked: the values of the environment's own secret variables, however they are spelled
(plain, in JSON, in an address, in base64), and what looks like a key, whoever it belongs to.
Masking is a net under the approval, not a proof: text that was encoded another way passes.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus, urlsplit

from mewcode_nb.messages import Json

__all__ = ["MASK", "Redactor", "child_environment", "is_secret_name", "secret_values"]

MASK = "[masked]"

_LEAST_CHARACTERS = 8
"""Shorter values are too common as words to be masked everywhere."""

_LEAST_LINE = 16
"""Characters of a line that is masked on its own in a secret of several lines (a private key)."""

_SECRET_ENDINGS = (
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "APIKEY",
    "ACCESSKEY",
)
_SECRET_WORDS = frozenset({"KEY", "KEYS", "PASS", "PWD", "PAT", "AUTH", "COOKIE", "JWT", "DSN"})
_PLACE_WORDS = frozenset({"FILE", "PATH", "DIR", "SOCK", "NAME", "ID", "TYPE", "URL", "URI"})
"""Last words of names whose value says where a secret lies, not what it is."""

_NO_SECRETS = frozenset({"PWD", "OLDPWD", "KEY", "GPG_KEY", "GOOGLE_APPLICATION_CREDENTIALS"})
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY"})
_COMMON_WORDS = frozenset(
    {"disabled", "required", "optional", "undefined", "anonymous", "interactive", "password"}
)

_PATTERNS = (
    ("sk-", re.compile(r"\b()sk-(?:ant|proj|or|svcacct)-[\w-]{8,}", re.ASCII)),
    ("authorization", re.compile(r"(?i)(\bauthorization\W{1,8}(?:bearer|basic) )[^\s\"',;]{4,}")),
    ("bearer", re.compile(r"(?i)(\bbearer )[a-z0-9._~+/-]{16,}=*")),
    ("x-api-key", re.compile(r"(?i)(\bx-api-key\W{1,8})[^\s\"',;]{8,}")),
    ("gh", re.compile(r"\b()(?:gh[opsur]_[A-Za-z0-9]{36,}|github_pat_\w{22,})", re.ASCII)),
    ("hf_", re.compile(r"\b()hf_[A-Za-z0-9]{30,}")),
    ("xox", re.compile(r"\b()xox[abprs]-[A-Za-z0-9-]{10,}")),
)
"""A word that must occur (lower case), and the pattern; its first group stays. All are linear."""


class Redactor:
    """Masks a fixed set of secrets, and what looks like a key."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Take the secrets; those under 8 characters, and common words, are not masked."""
        forms = {form for secret in secrets for form in _forms(secret)}
        self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def mask(self, text: str) -> str:
        """The text with each secret replaced by `[masked]`; the same object where there is none."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        lowered = text.lower()
        for word, pattern in _PATTERNS:
            if word in lowered:
                text = pattern.sub(rf"\g<1>{MASK}", text)
        return text

    def mask_json(self, value: Json) -> Json:
        """A copy with every string masked, keys too; nesting of any depth."""
        holder: list[Json] = [value]
        rest: list[list[Json] | dict[str, Json]] = [holder]
        while rest:
            container = rest.pop()
            for place, item in list(_items(container)):
                copy = self._mask_one(item)
                container[place] = copy  # type: ignore[index] # place is its own
                if isinstance(copy, list | dict):
                    rest.append(copy)
        return holder[0]

    def _mask_one(self, item: Json) -> Json:
        """A masked string, or a copy of a container whose items are still to be masked."""
        if isinstance(item, str):
            return self.mask(item)
        if isinstance(item, list):
            return list(item)
        if isinstance(item, dict):
            return self._masked_keys(item)
        return item

    def _masked_keys(self, item: dict[str, Json]) -> dict[str, Json]:
        masked: dict[str, Json] = {}
        for key, value in item.items():
            name = self.mask(key)
            while name in masked:
                name += "'"  # two masked keys must not become one
            masked[name] = value
        return masked


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret, judged by its words."""
    upper = name.upper()
    words = [word for word in upper.split("_") if word]
    if upper in _NO_SECRETS or not words or words[-1] in _PLACE_WORDS:
        return False
    if words[-1] in _SECRET_WORDS or "CONNECTION_STRING" in upper:
        return True
    return any(word.endswith(_SECRET_ENDINGS) for word in words)


def secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values to mask: those of secret variables, and passwords inside addresses."""
    found = [value for name, value in environ.items() if is_secret_name(name)]
    found += [password for value in environ.values() if (password := _password_in(value))]
    return tuple(dict.fromkeys(value.strip() for value in found if value.strip()))


def child_environment(environ: Mapping[str, str], keep: Iterable[str] = ()) -> dict[str, str]:
    """The environment for child processes: without secret variables and without any that quote one.

    Proxies stay, password and all: without them a child has no network. `keep` names variables that
    the user wants handed on.
    """
    redactor = Redactor(secret_values(environ))
    kept = {name.upper() for name in keep} | _PROXIES
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in kept or not (is_secret_name(name) or redactor.mask(value) != value)
    }


def _items(container: list[Json] | dict[str, Json]) -> Iterable[tuple[int | str, Json]]:
    return container.items() if isinstance(container, dict) else enumerate(container)


def _password_in(value: str) -> str:
    if "://" not in value or "@" not in value:
        return ""
    try:
        return urlsplit(value).password or ""
    except ValueError:
        return ""


def _forms(secret: str) -> Iterator[str]:
    """The spellings of one secret that are looked for."""
    for text in (secret, *_long_lines(secret)):
        if len(text) < _LEAST_CHARACTERS or text.lower() in _COMMON_WORDS:
            continue
        yield text
        yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
        data = text.encode("utf-8", "surrogatepass")
        for quoted in (quote(data, safe=""), quote(data), quote_plus(data)):
            yield quoted
            yield re.sub("%..", lambda match: match[0].lower(), quoted)
        yield from _base64_forms(data)


def _long_lines(secret: str) -> list[str]:
    lines = secret.splitlines()
    return [line for line in lines if len(line) >= _LEAST_LINE] if len(lines) > 1 else []


def _base64_forms(data: bytes) -> Iterator[str]:
    """The part of the secret's base64 that does not depend on its neighbours, at each alignment."""
    for shift in range(3):
        first, end = -(-shift * 8 // 6), (shift + len(data)) * 8 // 6
        padded = bytes(shift) + data
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(padded).decode("ascii")[first:end]
