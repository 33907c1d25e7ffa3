"""Rewards against numbers worked out by hand."""

import pytest

from training.objective import rewards
from training.objective.rewards import (
    MALFORMED_REWARD,
    MAX_CHARACTERS,
    measure_similarity,
    reward_attempt,
    reward_imitation,
    reward_judgement,
)

FILES = {"a.py": "one\ntwo\nthree\n", "b.py": "four\n"}
MERGED = {"a.py": "one\nTWO\nthree\n"}
EDIT = "### a.py\n<<<<<<< SEARCH\ntwo\n=======\n{}\n>>>>>>> REPLACE\n"


def reply(edits, thought="Line two is wrong."):
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
def test_a_judgement_earns_its_expected_share_of_right_ones(boxed, targets, reward):
    found = reward_judgement(None if boxed is None else frozenset(boxed), targets)
    assert found == (None if reward is None else pytest.approx(reward, abs=1e-15))


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
def test_a_reply_is_read_as_the_bot_reads_it(text, reward):
    assert rewards.reward_reply(text, {1, 2, 3}, (1, 0, 0, None)) == pytest.approx(
        reward, abs=1e-15
    )


@pytest.mark.parametrize(
    ("submitted", "believed", "reward"),
    [(True, 1.0, 1.0), (True, 0.4, 0.4), (True, None, None), (False, None, 0.0)],
)
def test_an_attempt_earns_what_the_verifier_believes(submitted, believed, reward):
    assert reward_attempt(is_submitted=submitted, belief=believed) == reward


def test_the_merged_fix_itself_earns_everything():
    assert reward_imitation(reply(EDIT.format("TWO")), FILES, MERGED) == 1


def test_another_fix_earns_its_likeness_by_hand():
    # `--- `, `+++ `, `@@ -1,4 +1,4 @@`, ` one`, `-two`, `+`, ` three`, ` `: 39 characters and 7 line ends are common
    ours, theirs = 46 + len("x"), 46 + len("TWO")
    found = reward_imitation(reply(EDIT.format("x")), FILES, MERGED)
    assert found == pytest.approx(2 * 46 / (ours + theirs), abs=1e-12)


def test_a_file_that_one_side_leaves_alone_counts_nothing():
    both = EDIT.format("TWO") + EDIT.format("5").replace("a.py", "b.py").replace("two", "four")
    assert reward_imitation(reply(both), FILES, MERGED) == 0.5
    assert reward_imitation(reply(EDIT.format("TWO")), FILES, {**MERGED, "c.py": "new\n"}) == 0.5


@pytest.mark.parametrize(
    "said",
    [
        "",
        EDIT.format("TWO"),
        f"<solution>\n{EDIT.format('TWO')}</solution>",
        reply(EDIT.format("TWO")) + "That is all.",
        reply(EDIT.format("TWO")) + reply(EDIT.format("TWO")),
        reply(EDIT.format("TWO"), thought="<think>"),
        reply("No edit is needed.\n"),
        reply(EDIT.format("two")),
        reply(EDIT.format("TWO").replace("\ntwo\n", "\nwo\n")),
        reply(EDIT.format("TWO").replace("a.py", "z.py")),
    ],
)
def test_what_is_not_written_as_asked_costs_one(said):
    assert reward_imitation(said, FILES, MERGED) == MALFORMED_REWARD


def test_two_changes_of_nothing_are_alike():
    assert measure_similarity(FILES, {}, {}) == 1
    assert measure_similarity(FILES, {"b.py": "four\n"}, {}) == 1


def test_a_merged_fix_that_is_too_long_is_unscorable_and_an_own_one_is_unlike():
    long = {"a.py": "x\n" * MAX_CHARACTERS}
    assert measure_similarity(FILES, MERGED, long) is None
    assert measure_similarity(FILES, long, MERGED) == 0


def test_likeness_does_not_collapse_where_a_diff_is_longer_than_200_characters():
    merged = {"a.py": "import os\n" + "ababababab\n" * 30}
    ours = {"a.py": "from os import path\n" + "ababababab\n" * 30}
    alike = measure_similarity({"a.py": ""}, ours, merged)
    assert alike is not None
    assert alike > 0.9
