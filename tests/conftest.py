from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

BROWSER = Path(__file__).parent / "browser"

# Two shared cores make any single draw slow at times; that says nothing about a strategy.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_collection_modifyitems(items):
    # Playwright's synchronous interface keeps an event loop running in its thread until the session
    # ends, so nothing that calls `asyncio.run` may come after the browser tests.
    items.sort(key=lambda item: BROWSER in item.path.parents)
