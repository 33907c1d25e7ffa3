"""What was said against alternatives, until a second attempt was made with it."""

import pytest

from app.db.store.alternatives import attempts, hints
from app.db.store.alternatives.attempts import Place
from app.db.store.alternatives.hints import Hint
from model.agents.trajectories.guidance import HintSource
from model.agents.trajectories.trajectory import StopReason
from model.domain import Issue
from tests.builders.history import stored_verdict

pytestmark = pytest.mark.services

ISSUE = Issue("Crash", "On empty")
TEXT = attempts.hash_issue(ISSUE)


@pytest.fixture
def attempt(connection, group):
    """Stores an attempt of the group; returns its id."""

    def save(guided_by=None, issue=ISSUE, stop="submitted", base=stored_verdict.BASE):
        seed = attempts.next_seed(connection, group)
        record = stored_verdict.build_attempt(
            seed=seed, stop=stop, patch=f"diff {seed}", guided_by=guided_by
        )
        place = Place(stored_verdict.REPOSITORY, group, base, issue)
        number = attempts.next_number(connection, group)
        return attempts.save(connection, place, record, number)

    return save


def build_hint(attempt, words="it drops `None`"):
    return Hint(attempt, HintSource.MAINTAINER, words, "mona")


def list_due(connection, group, text=TEXT):
    return hints.find_due(connection, group, [stored_verdict.BASE], text)


def test_a_hint_is_due_until_a_second_attempt_was_made(connection, group, attempt):
    first = attempt()
    hints.save_hint(connection, build_hint(first))
    assert list_due(connection, group) == (build_hint(first),)
    attempt(guided_by=first)
    assert list_due(connection, group) == ()


def test_the_first_word_stands(connection, group, attempt):
    first = attempt()
    hints.save_hint(connection, build_hint(first))
    hints.save_hint(connection, build_hint(first, "something else"))
    assert list_due(connection, group) == (build_hint(first),)


@pytest.mark.parametrize("stop", [attempts.CRASHED, StopReason.ENGINE.value])
def test_a_second_attempt_that_failed_through_no_fault_of_the_agents_was_none(
    connection, group, attempt, stop
):
    first = attempt()
    hints.save_hint(connection, build_hint(first))
    attempt(guided_by=first, stop=stop)
    assert list_due(connection, group) == (build_hint(first),)
    attempt(guided_by=first, stop=StopReason.TIMEOUT.value)
    assert list_due(connection, group) == ()


def test_a_hint_is_about_one_text(connection, group, attempt):
    hints.save_hint(connection, build_hint(attempt()))
    hints.save_hint(connection, build_hint(attempt(issue=Issue("Other", "words"))))
    assert len(list_due(connection, group)) == 1


def test_a_hint_outlives_its_commit_and_comes_after_those_on_the_present_one(
    connection, group, attempt
):
    old, new = attempt(base=stored_verdict.BASE[::-1].replace("b", "c")), attempt()
    hints.save_hint(connection, build_hint(old))
    hints.save_hint(connection, build_hint(new))
    assert list_due(connection, group) == (build_hint(new), build_hint(old))


def test_attempts_with_a_hint_are_listed(connection, attempt):
    first, second = attempt(), attempt()
    hints.save_hint(connection, build_hint(second))
    assert hints.find_hinted(connection, [first, second]) == {second}


def test_a_wall_of_words_is_kept_in_part(connection, group, attempt):
    hints.save_hint(connection, build_hint(attempt(), "x" * 20_000))
    (kept,) = list_due(connection, group)
    assert len(kept.words) == 16_384
