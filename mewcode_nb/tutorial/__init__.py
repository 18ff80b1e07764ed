"""The recorded tutorial: scripted answers for the first notebook, so that it runs without a key.

It is not a model and says so. The answers travel over the real wire on loopback, through the same
client as a model's; the tools they ask for really run, and really ask. Start at `server`; what is
answered is in `lessons`.
"""

from __future__ import annotations

from mewcode_nb.tutorial.server import TUTORIAL_MODEL, TutorialServer, start

__all__ = ["TUTORIAL_MODEL", "TutorialServer", "start"]
