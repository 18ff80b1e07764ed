from __future__ import annotations

from pathlib import Path

BROWSER = Path(__file__).parent / "browser"


def pytest_collection_modifyitems(items):
    # Playwright's synchronous interface keeps an event loop running in its thread until the session
    # ends, so nothing that calls `asyncio.run` may come after the browser tests.
    items.sort(key=lambda item: BROWSER in item.path.parents)
