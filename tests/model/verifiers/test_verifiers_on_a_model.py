"""Every verifier with an engine runs end to end on a small real model (SmolLM2-135M)."""

from pathlib import Path

import pytest

from model import catalog
from model.catalog import EngineChoice
from model.domain import Issue, Verdict
from tests.model.builders import build_patch

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]

ISSUE = Issue("It breaks", "when the list is empty")
CANDIDATES = [build_patch("a", "return items or []"), build_patch("b", "raise ValueError")]


@pytest.fixture(scope="module")
def engine():
    choice = EngineChoice(
        "local_transformers",
        model="smollm2-135m-instruct",
        cache=Path.home() / ".cache" / "r4p" / "models",
    )
    engine = catalog.load_engine(choice)
    yield engine
    engine.close()


@pytest.mark.parametrize(("name", "ballots"), [("pointwise", 2), ("pairwise", 2)])
def test_votes_are_cast_and_read(engine, name, ballots):
    verdict = catalog.load_verifier(name, engine, reply_tokens=8).verify(ISSUE, CANDIDATES, votes=1)
    assert verdict.asked == len(verdict.votes) == ballots
    assert all(vote.correct is not None or (vote.reply and vote.failure) for vote in verdict.votes)
    assert [patch.id for patch in verdict.patches] == ["a", "b"]
    assert verdict.engine.model == "smollm2-135m-instruct"


def test_second_round_names_a_passing_patch(engine):
    verifier = catalog.load_verifier("r4p-two-rounds", engine, reply_tokens=8)
    verdict = verifier.verify(ISSUE, CANDIDATES, votes=1)
    assert all(len(vote.correct or "x") == 1 for vote in verdict.votes[1:])
    assert verdict.asked == len(verdict.votes) >= 1


def test_the_chance_of_yes_is_read_from_the_model(engine):
    verdict = catalog.load_verifier("yes-no", engine).verify(ISSUE, CANDIDATES, votes=1)
    again = catalog.load_verifier("yes-no", engine).verify(ISSUE, CANDIDATES[::-1], votes=1)
    scores = {patch.id: patch.score for patch in verdict.patches}
    assert all(0 < score < 1 for score in scores.values())
    assert {patch.id: patch.score for patch in again.patches} == pytest.approx(scores, abs=0.02)


def test_hybrid_judges_its_shortlist(engine):
    verifier = catalog.load_verifier("hybrid", engine, reply_tokens=8)
    verdict = verifier.verify(ISSUE, CANDIDATES, votes=1)
    assert [len(vote.seats) for vote in verdict.votes] == [1, 1, 4]
    assert all(patch.verdict is not Verdict.NOT_JUDGED for patch in verdict.patches)
    assert all(patch.score is not None for patch in verdict.patches)
