"""Every verifier with an engine runs end to end on a small real model (SmolLM2-135M)."""

from pathlib import Path

import pytest

from model import catalog
from model.catalog import EngineChoice
from model.domain import Issue, RubricKind, RubricLine, Verdict
from model.verifiers.reports.rubric_source import RubricSource, TreeReaders
from model.voting.rubric import Rubric
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


@pytest.mark.parametrize(
    ("name", "seats"),
    [
        ("pointwise", [1, 1]),
        ("pairwise", [2, 2]),
        ("swiss", [2, 2]),
        ("review", [1, 1]),
        ("test-report", [1, 1]),
        ("r4p-two-rounds", [4]),
        ("hybrid", [1, 1, 4]),
    ],
)
def test_voting_verifier_runs_end_to_end(engine, name, seats):
    verdict = catalog.load_verifier(name, engine, reply_tokens=8).verify(ISSUE, CANDIDATES, votes=1)
    assert verdict.asked == len(verdict.votes) >= len(seats)
    assert [len(vote.seats) for vote in verdict.votes][: len(seats)] == seats
    assert all(vote.correct is not None or (vote.reply and vote.failure) for vote in verdict.votes)
    assert [patch.id for patch in verdict.patches] == ["a", "b"]
    assert all(patch.verdict is not Verdict.NOT_JUDGED for patch in verdict.patches)
    assert verdict.engine.model == "smollm2-135m-instruct"


def test_yes_probability_is_read_from_the_model(engine):
    verdict = catalog.load_verifier("yes-no", engine).verify(ISSUE, CANDIDATES, votes=1)
    again = catalog.load_verifier("yes-no", engine).verify(ISSUE, CANDIDATES[::-1], votes=1)
    scores = {patch.id: patch.score for patch in verdict.patches}
    assert all(0 < score < 1 for score in scores.values())
    assert {patch.id: patch.score for patch in again.patches} == pytest.approx(scores, abs=0.02)


def test_patches_are_graded_by_a_checklist(engine):
    line = RubricLine(RubricKind.SPECIFICATION, 3, "an empty list gives an empty list")
    source = RubricSource("fixed", lambda _issue, _complete: Rubric((line,), "a test"))
    verifier = catalog.load_verifier("rubric", engine, reply_tokens=16, readers=TreeReaders(source))
    verdict = verifier.verify(ISSUE, CANDIDATES, votes=1)
    assert [len(patch.rubric) for patch in verdict.patches] == [1, 1]
    assert len(verdict.votes) == 2
    assert all(vote.correct is not None or (vote.reply and vote.failure) for vote in verdict.votes)
