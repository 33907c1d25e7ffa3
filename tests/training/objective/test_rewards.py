"""Rewards against numbers worked out by hand."""

import pytest

from training.objective import rewards
from training.objective.rewards import (
    MALFORMED_REWARD,
    MAX_CHARACTERS,
    match_exactly,
    measure_similarity,
    reward_attempt,
    reward_imitation,
    reward_judgement,
)

FILES = {"a.py": "one\ntwo\nthree\n", "b.py": "four\n"}
MERGED = {"a.py": "one\nTWO\nthree\n"}
EDIT = "### a.py\n<<<<<<< SEARCH\ntwo\n=======\n{}\n>>>>>>> REPLACE\n"


def build_reply(edits, thought="Line two is wrong."):
    return f"<think>\n{thought}\n</think>\n<solution>\n{edits}</solution>\n"


@pytest.mark.parametrize(
    ("boxed", "targets", "reward"),
    [
        ({1}, (1, 0, 0, 0), 1.0),
        ({2}, (1, 0, 0, 0), 0.5),
        (set(), (1, 0, 0, 0), 0.75),
        ({1, 2, 3, 4}, (1, 0, 0, 0), 0.25),
        ({2, 3, 4}, (1, 0, 0, 0), 0.0),
        (set(), (0, 0, 0, 0), 1.0),
        (None, (0, 0, 0, 0), 0.0),
        ({1}, (1, None, 0, None), 1.0),
        ({1, 2}, (1, None, 0, None), 1.0),
        ({3}, (1, None, 0, None), 0.0),
        ({1}, (0.9, 0.2, None, 0.5), (0.9 + 0.8 + 0.5) / 3),
        (None, (0.9, None), 0.0),
        ({1}, (None, None), None),
        (None, (None, None), None),
        ({1}, (), None),
    ],
)
def test_judgement_earns_its_expected_accuracy(boxed, targets, reward):
    computed = reward_judgement(None if boxed is None else frozenset(boxed), targets)
    assert computed == (None if reward is None else pytest.approx(reward, abs=1e-15))


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        (r"Patch 1 is right: \boxed{1}", 1.0),
        (r"\boxed{1} no, \boxed{2, 3}", 0.0),
        (r"\boxed{}", 2 / 3),
        (r"\boxed{1, 4}", 0.0),
        (r"\boxed{1", 0.0),
        ("1", 0.0),
    ],
)
def test_reply_is_parsed_as_by_the_bot(text, reward):
    assert rewards.reward_reply(text, {1, 2, 3}, (1, 0, 0, None)) == pytest.approx(
        reward, abs=1e-15
    )


@pytest.mark.parametrize(
    ("submitted", "believed", "reward"),
    [(True, 1.0, 1.0), (True, 0.4, 0.4), (True, None, None), (False, None, 0.0)],
)
def test_attempt_earns_the_verifiers_belief(submitted, believed, reward):
    assert reward_attempt(is_submitted=submitted, belief=believed) == reward


def test_merged_fix_earns_one():
    assert reward_imitation(build_reply(EDIT.format("TWO")), FILES, MERGED) == 1


@pytest.mark.parametrize(
    ("new", "shared", "length"),
    [
        # merged: `@@ -1,3 +1,3 @@`, ` one`, `-two`, `+TWO`, ` three` and 4 line ends are 37 characters
        ("x", 34, 35),  # all but `x`
        ("TWO\n# why", 36, 44),  # the header says 4, and `+# why` is inserted
        (None, 31, 32),  # `@@ -1,3 +1,`, ` @@` to the end of `-two`, and ` three`
    ],
)
def test_other_fix_earns_its_similarity(new, shared, length):
    edit = EDIT.format(new) if new else EDIT.replace("{}\n", "")
    computed = reward_imitation(build_reply(edit), FILES, MERGED)
    assert computed == pytest.approx(2 * shared / (length + 37), abs=1e-12)


@pytest.mark.parametrize(
    ("edit", "discrete"),
    [
        (EDIT.format("TWO"), 1.0),
        (EDIT.format("TWO "), 0.0),  # a blank more
        (EDIT.format("TWO\n# why"), 0.0),
        (EDIT.replace("SEARCH\ntwo", "SEARCH\none\ntwo").format("one\nTWO"), 1.0),  # same patch, other words
        (EDIT.replace("a.py", "c.py").format("TWO"), MALFORMED_REWARD),
    ],
)  # fmt: skip
def test_discrete_reward_is_one_for_the_same_patch_only(edit, discrete):
    """SWE-RL, section 3.6. The format is rewarded as in the continuous reward."""
    reply = build_reply(edit)
    assert reward_imitation(reply, FILES, MERGED, "discrete") == discrete
    continuous = reward_imitation(reply, FILES, MERGED)
    assert (continuous == 1) == (discrete == 1)
    assert (continuous == MALFORMED_REWARD) == (discrete == MALFORMED_REWARD)


def test_patches_match_by_file_and_without_the_end_of_the_last_line():
    assert match_exactly(FILES, MERGED, {"a.py": MERGED["a.py"].rstrip()}) == 1
    assert match_exactly(FILES, MERGED, MERGED | {"b.py": "four"}) == 1, "b.py is not changed"
    assert match_exactly(FILES, MERGED, MERGED | {"b.py": "5\n"}) == 0, "a missed file"
    assert match_exactly(FILES, MERGED | {"b.py": "5\n"}, MERGED) == 0, "a file too many"
    assert match_exactly(FILES, {}, {}) == 1
    long = {"a.py": "x\n" * MAX_CHARACTERS}
    assert match_exactly(FILES, long, long) == 1
    assert measure_similarity(FILES, long, long) is None


def test_similarity_is_the_mean_over_files():
    # `@@ -1 +1 @@`, `-four`, `+6`, and two line ends: 19 of 20 characters are those of `+5`
    own, merged = MERGED | {"b.py": "6\n"}, MERGED | {"b.py": "5\n"}
    assert measure_similarity(FILES, own, merged) == pytest.approx((1 + 19 / 20) / 2, abs=1e-12)


def test_new_file_and_missed_file_count_zero():
    """The authors' test of a new file: three files, one of them right."""
    before = {"a.py": "def add(a, b):\n    return a + b", "b.py": "def sort_list(lst):"}
    merged = {
        "a.py": "def add(a: int, b: int):\n    return a + b",
        "b.py": "def sort_list(lst: list):",
    }
    own = {"b.py": merged["b.py"], "c.py": 'print("hello")'}
    assert measure_similarity(before, own, merged) == pytest.approx(1 / 3, abs=1e-12)


def test_line_end_of_the_last_line_is_no_change():
    assert measure_similarity(FILES, MERGED, {"a.py": MERGED["a.py"].rstrip()}) == 1
    assert measure_similarity(FILES, MERGED, MERGED | {"b.py": "four"}) == 1


def test_text_outside_the_tags_is_ignored():
    reply = build_reply(EDIT.format("TWO"))
    assert reward_imitation(f"Well.\n{reply}{EDIT.format('x')}", FILES, MERGED) == 1
    inside = reply.replace("</think>", "</think>\nSo:")
    assert reward_imitation(inside, FILES, MERGED) == 1


def test_file_changed_by_one_side_lowers_the_similarity():
    both = EDIT.format("TWO") + EDIT.format("5").replace("a.py", "b.py").replace("two", "four")
    assert reward_imitation(build_reply(both), FILES, MERGED) == 0.5
    assert (
        reward_imitation(build_reply(EDIT.format("TWO")), FILES, {**MERGED, "c.py": "new\n"}) == 0.5
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        EDIT.format("TWO"),
        f"<solution>\n{EDIT.format('TWO')}</solution>",
        build_reply(EDIT.format("TWO"), thought=""),
        build_reply(EDIT.format("TWO"), thought=" \n"),
        f"<solution>\n{EDIT.format('TWO')}</solution>\n<think>\nWhy.\n</think>",
        f"</solution>\n{build_reply(EDIT.format('TWO')).replace('</solution>', '')}",
        build_reply(EDIT.format("TWO")) + build_reply(EDIT.format("TWO")),
        build_reply(EDIT.format("TWO"), thought="<think>"),
        build_reply("No edit is needed.\n"),
        build_reply(EDIT.format("two")),
        build_reply(EDIT.format("TWO").replace("\ntwo\n", "\nwo\n")),
        build_reply(EDIT.format("TWO").replace("a.py", "z.py")),
    ],
)
def test_malformed_reply_costs_one(text):
    assert reward_imitation(text, FILES, MERGED) == MALFORMED_REWARD


def test_two_empty_changes_are_equal():
    assert measure_similarity(FILES, {}, {}) == 1
    assert measure_similarity(FILES, {"b.py": "four\n"}, {}) == 1


def test_too_long_merged_fix_is_unscorable_and_too_long_reply_earns_nothing():
    long = {"a.py": "x\n" * MAX_CHARACTERS}
    assert measure_similarity(FILES, MERGED, long) is None
    assert measure_similarity(FILES, long, MERGED) == 0


def test_similarity_of_long_diffs_is_exact():
    merged = {"a.py": "import os\n" + "ababababab\n" * 30}
    own = {"a.py": "from os import path\n" + "ababababab\n" * 30}
    alike = measure_similarity({"a.py": ""}, own, merged)
    assert alike is not None
    assert alike > 0.9
