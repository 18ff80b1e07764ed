"""Where the kernel is and what is set there: read anew whenever it is needed, held by nobody."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mewcode_nb.config.credentials import Credentials, load_credentials
from mewcode_nb.config.load import LoadedSettings, load_settings, settings_sources
from mewcode_nb.config.rules import host_of
from mewcode_nb.config.settings import Settings
from mewcode_nb.model.options import DEFAULT_BASE_URL
from mewcode_nb.notebook.locate import NotebookPlace, locate
from mewcode_nb.paths import project_root, user_home

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from mewcode_nb.session.library import Library

__all__ = ["Choices", "Project", "find_project", "open_library"]


@dataclass(frozen=True, slots=True)
class Project:
    """Where the kernel is and what is set there, as of now."""

    place: NotebookPlace
    root: Path
    """Real path."""
    home: Path | None
    loaded: LoadedSettings
    credentials: Credentials

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings

    @property
    def service(self) -> str:
        """Host and port that requests go to."""
        return host_of(self.settings.base_url or DEFAULT_BASE_URL)


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen in this kernel, by setting name."""

    ipython: Mapping[str, object]
    """By IPython's configuration and `%config`."""
    session: Mapping[str, object]
    """By the `%mewcode` subcommands and the magic's options; outranks everything."""


def find_project(
    shell: InteractiveShell,
    environ: Mapping[str, str],
    choices: Choices,
    known: Project | None = None,
) -> Project:
    """The project as it is now; place and root stay those of `known`.

    Raises:
        ConfigError: an option of the magic has an unfit value.
    """
    home = user_home(environ)
    place = known.place if known else locate(shell, environ)
    root = known.root if known else project_root(place.folder, home)
    sources = settings_sources(
        root, home, environ=environ, ipython=choices.ipython, magic=choices.session
    )
    credentials = load_credentials(environ, sources.user_file)
    return Project(place, root, home, load_settings(sources), credentials)


def open_library(project: Project, here: Path) -> Library:
    """The sessions of the project, those of folder `here` first."""
    from random import Random

    from mewcode_nb.session.library import Library

    random = Random()  # noqa: S311 - for a name, no secret
    days = project.settings.trash_days
    return Library(
        here, project.root, clock=time.time, random=random, home=project.home, trash_days=days
    )
