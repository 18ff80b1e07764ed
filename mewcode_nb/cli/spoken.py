"""Commands that speak the user's language, and whose errors are one line."""

from __future__ import annotations

import os
from typing import Any

import click

from mewcode_nb.errors import MewcodeError

__all__ = ["Command", "Group", "Option", "language", "say", "warn"]


def language() -> str:
    """`zh` where the environment's locale is Chinese, else `en`."""
    from mewcode_nb.widgets.words import choose_language

    return choose_language("", os.environ)


def say(text: str) -> None:
    """Print text whose characters all show, line ends apart."""
    from mewcode_nb.widgets.html import visible

    click.echo(visible(text))


def warn(text: str) -> None:
    """As `say`, to standard error."""
    from mewcode_nb.widgets.html import visible

    click.echo(visible(text), err=True)


class _Chinese(click.Command):
    """A command with help in Chinese as well."""

    def __init__(self, *args: Any, chinese: str = "", **options: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **options)
        self._english = self.help
        self._chinese = chinese

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.help = self._in(language())
        super().format_help_text(ctx, formatter)

    def get_short_help_str(self, limit: int = 45) -> str:
        self.help = self._in(language())
        return super().get_short_help_str(limit)

    def _in(self, spoken: str) -> str | None:
        return self._chinese if spoken == "zh" and self._chinese else self._english


class Command(_Chinese):
    """One command."""


class Group(_Chinese, click.Group):
    """A group whose own errors are one line, as everywhere in this package."""

    def invoke(self, ctx: click.Context) -> object:
        """As `click.Group`; this package's errors become click's."""
        from mewcode_nb.widgets.html import visible

        try:
            return super().invoke(ctx)
        except MewcodeError as error:
            flat = " ".join(visible(str(error)).split("\n"))
            raise click.ClickException(flat) from error


class Option(click.Option):
    """An option with help in Chinese as well."""

    def __init__(self, *args: Any, chinese: str = "", **options: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **options)
        self._chinese = chinese
        self._english = self.help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """As `click.Option`, in the user's language."""
        self.help = self._chinese if language() == "zh" and self._chinese else self._english
        return super().get_help_record(ctx)
