"""The simplest way to a probability that is good enough: votes count once they have shown that they carry something."""

import math
import random

import numpy as np
import pytest

from model.calibration.calibration import CalibrationMethod, Evidence, History, sigmoid
from tests.training.calibrators.test_fitting import be_overconfident, be_stepped, draw_rows
from training.calibrators.evidence import PatchEvidence
from training.calibrators.evidence_table import fit_recipe
from training.calibrators.fitting import cross_validate, select_simplest
from training.calibrators.recipes import AS_IT_IS, RECIPES, compute_brier

HISTORY = History(100, 100, 100)


def draw_judged_rows(count, *, says, bias=0.0, seed=0):
    """Rows of `count` issues of four patches; consensus believes with a bias, votes show the truth so often."""
    randomness = random.Random(seed)
    drawn = []
    for issue in range(count):
        for _ in range(4):
            belief = randomness.choice([0.2, 0.4, 0.6, 0.8])
            correct = randomness.random() < sigmoid(math.log(belief / (1 - belief)) + bias)
            voted = correct if randomness.random() < says else not correct
            evidence = Evidence(score=float(voted), valid=4, valid_share=1.0, consensus=belief)
            drawn.append(PatchEvidence(evidence, correct, str(issue)))
    return drawn


def choose(rows):
    return select_simplest(cross_validate(rows), rows)


@pytest.mark.parametrize("count", [40, 200])
def test_random_votes_are_left_out(count):
    names = [choose(draw_judged_rows(count, says=0.5, seed=seed)) for seed in range(10)]
    # one standard error is no proof: a lucky draw may pass it
    assert names.count(AS_IT_IS) >= 8


@pytest.mark.parametrize("seed", range(5))
def test_informative_votes_are_weighed(seed):
    recipe = choose(draw_judged_rows(60, says=0.8, seed=seed))
    assert recipe.features == ("votes", "consensus")


def test_biased_consensus_is_corrected():
    assert choose(draw_judged_rows(200, says=0.5, bias=-1.0)).name == "consensus"


@pytest.mark.parametrize(
    ("count", "come_true", "kind"),
    [
        (40, be_overconfident, CalibrationMethod.PLATT),
        (400, be_stepped, CalibrationMethod.ISOTONIC),
    ],
    ids=["little and smooth", "much and stepped"],
)
def test_isotonic_needs_a_clear_gain(count, come_true, kind):
    assert choose(draw_rows(count, come_true)).kind is kind


def test_recipes_follow_the_available_evidence():
    def names(*evidence):
        rows = [PatchEvidence(one, True, str(at)) for at, one in enumerate(evidence * 10)]
        return [recipe.name for recipe in cross_validate(rows)]

    votes, consensus = Evidence(score=1.0, valid=1), Evidence(consensus=0.7)
    both = Evidence(score=1.0, valid=1, consensus=0.7)
    everything = ["everything", "everything, isotonic"]
    assert names(votes) == ["votes", *everything]
    assert names(consensus) == ["consensus as it is", "consensus", *everything]
    assert names(both) == [one.name for one in RECIPES]
    # where some were not looked at, nobody can be taken at his word alone
    assert names(votes, both) == ["consensus", "votes", "votes and consensus", *everything]


def test_unchanged_consensus_keeps_its_belief():
    calibrator = fit_recipe([], AS_IT_IS, HISTORY, "now")
    assert calibrator.predict_probability(Evidence(consensus=0.73)) == pytest.approx(0.73)


@pytest.mark.parametrize("recipe", RECIPES[1:], ids=lambda recipe: recipe.name)
def test_row_of_weight_two_counts_like_two_rows(recipe):
    rows = draw_judged_rows(60, says=0.8)
    twice = [*rows, *rows[:40]]
    heavy = [PatchEvidence(one.evidence, one.correct, one.issue, 2.0) for one in rows[:40]] + rows[
        40:
    ]
    first, second = (fit_recipe(rows, recipe, HISTORY, "now") for rows in (twice, heavy))
    for row in rows[::7]:
        # the scale of features is taken from rows, of which there are fewer
        assert first.predict_probability(row.evidence) == pytest.approx(
            second.predict_probability(row.evidence), abs=0.02
        )


def test_brier_score_weighs_rows_without_unknown_ones():
    rows = [
        PatchEvidence(Evidence(), True, "1", 3.0),
        PatchEvidence(Evidence(), False, "2"),
        PatchEvidence(Evidence(), True, "3"),
    ]
    assert compute_brier(np.asarray([0.5, 1.0, np.nan]), rows) == pytest.approx(
        (3 * 0.25 + 1.0) / 4
    )
