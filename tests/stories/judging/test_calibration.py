"""From "not enough history" to probabilities: what became of earlier verdicts changes what the next one says."""

import pytest
from sqlalchemy import delete, select

from app.db.session import transaction
from app.db.tables.schema import calibrators
from app.outcomes.judgement import Judge
from model.domain import EngineInfo
from tests.builders import judged_history

pytestmark = pytest.mark.services


@pytest.fixture
def learning(story):
    """A story whose bot forgets at its end what it has learnt."""
    yield story
    with transaction(story.stage.database) as connection:
        connection.execute(delete(calibrators))


def fitted(story):
    with transaction(story.stage.database) as connection:
        return list(connection.scalars(select(calibrators.c.id)))


def live(story, said, **how):
    """Issues that whoever spoke here has judged, and what became of them."""
    judge = Judge(said.document["verifier"], EngineInfo(**said.document["engine"]))
    with transaction(story.stage.database) as connection:
        judged_history.live(connection, story.repo.id, judge, **how)


def test_outcomes_turn_votes_into_probabilities(learning):
    story = learning
    first, pulls = story.judged()
    before = story.verdict(first)
    assert "No probabilities yet: not enough history." in before.body
    assert "Judged by `r4p` side by side" in before.body
    assert (before.document["verifier"], "calibrator" in before.document) == ("r4p", False)
    assert {one["probability"] for one in before.document["patches"]} == {None}
    assert "not enough history for a probability" in story.check(pulls[0]).summary

    live(story, before)
    story.stage.tick("calibrators")
    story.wait_for(lambda: fitted(story))

    second, (right, wrong) = story.judged(title="Area is wrong again")
    said = story.verdict(second)
    assert said.rows == {right: "Correct", wrong: "Incorrect"}
    assert "Probabilities rest on what became of 80 earlier issues." in said.body
    assert "| P(correct) |" in said.body
    chances = [one["probability"] for one in said.document["patches"]]
    assert chances[0] > 0.8
    assert chances[1] < 0.2
    assert said.document["calibrator"]["issues"] == 80
    assert f"probability correct: {chances[0]:.0%}".replace("%", " %") in story.check(right).summary
    assert ", probability correct " in story.check(right).title
    assert (story.check(right).conclusion, story.check(wrong).conclusion) == ("success", "neutral")


def test_votes_that_outcomes_did_not_bear_out_claim_nothing(learning):
    story = learning
    first, _ = story.judged()
    live(story, story.verdict(first), wrong_votes=3)
    story.stage.tick("calibrators")
    story.wait_for(lambda: fitted(story))
    second, pulls = story.judged(title="Area is wrong again")
    said = story.verdict(second)
    assert said.rows == dict.fromkeys(pulls, "Unsure")
    assert "Uncalibrated, this would be correct." in said.body
    assert {story.check(pull).conclusion for pull in pulls} == {"neutral"}


def test_votes_nobody_could_read_stay_without_a_claim_whatever_was_learnt(learning):
    story = learning
    first, _ = story.judged()
    live(story, story.verdict(first))
    story.stage.tick("calibrators")
    story.wait_for(lambda: fitted(story))
    second, pulls = story.judged(title="Area is wrong, and the engine babbles")
    said = story.verdict(second)
    assert said.rows == dict.fromkeys(pulls, "Unsure")
    assert "No probabilities: there is no opinion to weigh." in said.body
    assert {one["probability"] for one in said.document["patches"]} == {None}
