"""Outcomes of earlier verdicts lead from "not enough history" to probabilities."""

import pytest
from sqlalchemy import delete, select

from app.db.session import transaction
from app.db.tables.schema import calibrators
from app.outcomes.judgement import Judge
from model.domain import EngineInfo
from tests.builders.history import judged_history
from tests.stories.verdicts import ADVISORY

pytestmark = pytest.mark.services


@pytest.fixture
def learning(tell):
    """A story in a repository that allows calibrators; it deletes the bot's calibrators at its end."""
    story = tell(ADVISORY + "training: calibrate\n")
    yield story
    with transaction(story.stage.database) as connection:
        connection.execute(delete(calibrators))


def fit_calibrator(story):
    with transaction(story.stage.database) as connection:
        return list(connection.scalars(select(calibrators.c.id)))


def play_history(story, verdicts, **how):
    """Play issues with verdicts and outcomes."""
    judge = Judge(verdicts.document["verifier"], EngineInfo(**verdicts.document["engine"]))
    with transaction(story.stage.database) as connection:
        judged_history.live(connection, story.repo.id, judge, **how)


def test_outcomes_turn_votes_into_probabilities(learning):
    story = learning
    first, pulls = story.open_judged_issue()
    before = story.verdict(first)
    assert "No probabilities yet: not enough history." in before.body
    assert "Judged by `r4p` side by side" in before.body
    assert (before.document["verifier"], "calibrator" in before.document) == ("r4p", False)
    assert {patch["probability"] for patch in before.document["patches"]} == {None}
    assert "Not enough history for a probability" in story.check(pulls[0]).summary

    play_history(story, before)
    story.stage.tick("calibrators")
    story.wait_for(lambda: fit_calibrator(story))

    second, (right, wrong) = story.open_judged_issue(title="Area is wrong again")
    verdict = story.verdict(second)
    assert verdict.rows == {right: "Correct", wrong: "Incorrect"}
    assert "Probabilities come from the outcomes of 80 earlier issues." in verdict.body
    assert "| P(correct) |" in verdict.body
    chances = [patch["probability"] for patch in verdict.document["patches"]]
    assert chances[0] > 0.8
    assert chances[1] < 0.2
    assert verdict.document["calibrator"]["issues"] == 80
    assert f"Probability correct: {chances[0]:.0%}".replace("%", " %") in story.check(right).summary
    assert ", probability correct " in story.check(right).title
    assert (story.check(right).conclusion, story.check(wrong).conclusion) == ("success", "neutral")


def test_votes_that_outcomes_did_not_bear_out_claim_nothing(learning):
    story = learning
    first, _ = story.open_judged_issue()
    play_history(story, story.verdict(first), wrong_votes=3)
    story.stage.tick("calibrators")
    story.wait_for(lambda: fit_calibrator(story))
    second, pulls = story.open_judged_issue(title="Area is wrong again")
    verdict = story.verdict(second)
    assert verdict.rows == dict.fromkeys(pulls, "Unsure")
    assert "Uncalibrated, this would be correct." in verdict.body
    assert {story.check(pull).conclusion for pull in pulls} == {"neutral"}


def test_votes_nobody_could_read_stay_without_a_claim_whatever_was_learnt(learning):
    story = learning
    first, _ = story.open_judged_issue()
    play_history(story, story.verdict(first))
    story.stage.tick("calibrators")
    story.wait_for(lambda: fit_calibrator(story))
    second, pulls = story.open_judged_issue(title="Area is wrong, and the engine babbles")
    verdict = story.verdict(second)
    assert verdict.rows == dict.fromkeys(pulls, "Unsure")
    assert "No probabilities: no patch was judged in full." in verdict.body
    assert {patch["probability"] for patch in verdict.document["patches"]} == {None}
