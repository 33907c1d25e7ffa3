"""What was said against alternatives, until a second attempt was made with it."""

import pytest

from app.db.store.alternatives import attempts, hints
from app.db.store.alternatives.attempts import AttemptRecord, Place
from app.db.store.alternatives.hints import Hint
from model.agents.trajectories.guidance import HintSource
from model.agents.trajectories.trajectory import StopReason
from model.domain import EngineInfo, Issue, Tokens
from tests.builders import stored_verdict

pytestmark = pytest.mark.services

ISSUE = Issue("Crash", "On empty")
TEXT = attempts.hash_issue(ISSUE)


@pytest.fixture
def attempt(connection, group):
    """Stores an attempt of the group; returns its id."""

    def made(guided_by=None, issue=ISSUE, stop="submitted", base=stored_verdict.BASE):
        seed = attempts.next_seed(connection, group)
        record = AttemptRecord(
            agent="mini-se",
            engine=EngineInfo("scripted", "m", ""),
            seed=seed,
            stop=stop,
            steps=3,
            tokens=Tokens(),
            seconds=1.0,
            patch=f"diff {seed}",
            guided_by=guided_by,
        )
        place = Place(stored_verdict.REPOSITORY, group, base, issue)
        number = attempts.next_number(connection, group)
        return attempts.save(connection, place, record, number)

    return made


def said(attempt, words="it drops `None`"):
    return Hint(attempt, HintSource.MAINTAINER, words, "mona")


def due(connection, group, text=TEXT):
    return hints.find_due(connection, group, [stored_verdict.BASE], text)


def test_a_hint_is_due_until_a_second_attempt_was_made(connection, group, attempt):
    first = attempt()
    hints.save_hint(connection, said(first))
    assert due(connection, group) == (said(first),)
    attempt(guided_by=first)
    assert due(connection, group) == ()


def test_the_first_word_stands(connection, group, attempt):
    first = attempt()
    hints.save_hint(connection, said(first))
    hints.save_hint(connection, said(first, "something else"))
    assert due(connection, group) == (said(first),)


@pytest.mark.parametrize("stop", [attempts.CRASHED, StopReason.ENGINE.value])
def test_a_second_attempt_that_failed_through_no_fault_of_the_agents_was_none(
    connection, group, attempt, stop
):
    first = attempt()
    hints.save_hint(connection, said(first))
    attempt(guided_by=first, stop=stop)
    assert due(connection, group) == (said(first),)
    attempt(guided_by=first, stop=StopReason.TIMEOUT.value)
    assert due(connection, group) == ()


def test_a_hint_is_about_one_text(connection, group, attempt):
    hints.save_hint(connection, said(attempt()))
    hints.save_hint(connection, said(attempt(issue=Issue("Other", "words"))))
    assert len(due(connection, group)) == 1


def test_a_hint_outlives_its_commit_and_comes_after_those_on_the_present_one(
    connection, group, attempt
):
    old, new = attempt(base=stored_verdict.BASE[::-1].replace("b", "c")), attempt()
    hints.save_hint(connection, said(old))
    hints.save_hint(connection, said(new))
    assert due(connection, group) == (said(new), said(old))


def test_those_that_have_one_are_known(connection, attempt):
    first, second = attempt(), attempt()
    hints.save_hint(connection, said(second))
    assert hints.find_hinted(connection, [first, second]) == {second}


def test_a_wall_of_words_is_kept_in_part(connection, group, attempt):
    hints.save_hint(connection, said(attempt(), "x" * 20_000))
    (kept,) = due(connection, group)
    assert len(kept.words) == 16_384
