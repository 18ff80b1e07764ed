"""Which test holds which known case of sessions: each id has one, and each named one exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

# S-04, S-09, S-14 and S-19 and rows 3, 8, 10 and 12 are not in the lists of known cases.
CASES = {
    "S-01": ("session/test_reader.py", "test_s_01_record_glued_to_a_stump_is_recovered_whole"),
    "S-02": ("session/test_reader.py", "test_s_02_row_2_a_line_of_zeros_costs_nothing_else"),
    "S-03": ("session/test_log.py", "test_s_03_row_1_torn_tail_is_closed_before_the_next_record"),
    "S-05": ("session/test_reader.py", "test_s_05_a_bad_line_does_not_swallow_the_next"),
    "S-06": ("test_repair.py", "test_s_06_orphan_call_in_the_middle_is_told_to_be_interrupted"),
    "S-07": ("test_repair.py", "test_s_07_third_of_three_results_is_made_up_and_order_kept"),
    "S-08": ("test_repair.py", "test_s_08_row_18_results_without_calls_become_text"),
    "S-10": ("agent/test_faults.py", "test_s_10_interrupted_tool_has_an_error_result_on_disk"),
    "S-11": (
        "session/test_folder_store.py",
        "test_s_11_damaged_sessions_are_listed_with_the_reason_beside_good_ones",
    ),
    "S-12": (
        "session/test_compaction_kills.py",
        "test_g2_s_12_kill_around_a_compaction_leaves_old_or_new_and_never_a_mix",
    ),
    "S-13": (
        "session/test_log.py",
        "test_s_13_the_system_sees_one_write_and_one_fdatasync_an_append",
    ),
    "S-15": (
        "session/test_reader.py",
        "test_s_15_what_python_parses_wrongly_or_chokes_on_is_one_bad_line",
    ),
    "S-16": (
        "session/test_retention.py",
        "test_s_16_only_what_was_not_used_within_the_limit_leaves",
    ),
    "S-17": ("tools/test_images.py", "test_s_17_what_the_service_would_refuse_is_known_before"),
    "S-18": ("session/test_log.py", "test_s_18_file_stays_valid_utf_8_whatever_a_tool_said"),
    "S-20": ("session/test_log.py", "test_s_20_same_second_and_same_random_seed_give_two_sessions"),
    "L-01": ("session/test_folder_store.py", "test_l_01_what_a_list_shows_can_be_typed"),
    "row 1": (
        "session/test_reader.py",
        "test_row_1_last_of_ten_lines_cut_at_every_byte_then_one_more",
    ),
    "row 2": (
        "session/test_reader.py",
        "test_row_2_zeros_without_a_newline_leave_the_record_after_them",
    ),
    "row 4": (
        "session/test_log.py",
        "test_row_4_tool_text_of_all_line_ends_comes_back_from_the_file",
    ),
    "row 5": (
        "session/test_reader.py",
        "test_s_03_row_5_line_cut_inside_a_character_is_the_only_one_lost",
    ),
    "row 6": ("session/test_reader.py", "test_row_6_stored_lone_surrogate_is_cleaned_on_load"),
    "row 7": ("test_repair.py", "test_row_7_three_results_on_three_lines_join_in_call_order"),
    "row 9": (
        "session/test_fork.py",
        "test_row_9_a_fork_beside_a_branch_that_ends_in_a_call_can_be_sent",
    ),
    "row 11": (
        "session/test_replay.py",
        "test_row_11_title_outlives_compactions_and_null_removes_a_fact",
    ),
    "row 13": (
        "session/test_sweep_files.py",
        "test_row_13_file_times_do_not_count_for_readable_sessions",
    ),
    "row 14": ("session/test_sweep.py", "test_row_14_orphans_go_the_same_way"),
    "row 15": (
        "session/test_trash.py",
        "test_row_15_session_held_by_another_process_is_not_trashed",
    ),
    "row 16": (
        "session/test_lease.py",
        "test_row_16_two_processes_write_100_records_of_8_kb_each_without_mixing",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_case_has_its_test(case):
    file, name = CASES[case]
    source = (TESTS / file).read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {name}\(", source, re.MULTILINE)
    assert case.lower().replace("-", "_").replace(" ", "_") in name
