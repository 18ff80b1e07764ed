from __future__ import annotations

import pytest

from mewcode_nb.notebook.surroundings import Surroundings, choose_route

LAB = Surroundings(kernel=True, can_type=True, ipykernel=(7, 4), widgets=True)
HEADLESS = Surroundings(kernel=True, can_type=False, ipykernel=(7, 4), widgets=True)
TERMINAL = Surroundings(kernel=False, can_type=True)
PIPE = Surroundings(kernel=False, can_type=False)
OLD = Surroundings(kernel=True, can_type=True, ipykernel=(7, 3), widgets=True)
BARE = Surroundings(kernel=True, can_type=True, ipykernel=(7, 4), widgets=False)


@pytest.mark.parametrize(
    ("where", "setting", "route"),
    [
        (LAB, "auto", "buttons"),
        (LAB, "buttons", "buttons"),
        (LAB, "input", "input"),
        (LAB, "deny", "deny"),
        (HEADLESS, "auto", "deny"),
        (HEADLESS, "buttons", "deny"),
        (HEADLESS, "input", "deny"),
        (TERMINAL, "auto", "input"),
        (TERMINAL, "buttons", "input"),
        (TERMINAL, "deny", "deny"),
        (PIPE, "auto", "deny"),
        (PIPE, "input", "deny"),
        (OLD, "auto", "input"),
        (OLD, "buttons", "buttons"),
        (Surroundings(True, True, (8, 0), True), "auto", "buttons"),
        (Surroundings(True, True, (6, 31), True), "auto", "input"),
        (BARE, "auto", "input"),
        (BARE, "buttons", "input"),
    ],
)
def test_how_to_ask_follows_kernel_input_version_widgets_and_setting(where, setting, route):
    assert choose_route(where, setting) == route
