"""Fitting: probabilities that come true on issues not seen, and nothing where there is too little history."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.calibration.calibration import NO_HISTORY, Evidence
from model.domain import Verdict
from model.voting.thresholds import Thresholds
from training.calibrators.claims import ClaimTargets, choose_thresholds
from training.calibrators.evidence import PatchEvidence
from training.calibrators.fitting import (
    _choose_held_out_thresholds,
    fit_calibrator,
    predict_held_out,
)
from training.calibrators.reliability_diagram import bin_beliefs, count_effective_trials


def draw_rows(count, come_true, *, seed=0, each=4, consensus=False):
    """Rows of `count` issues whose patches are correct as often as `come_true(score)` says."""
    randomness = random.Random(seed)
    drawn_rows = []
    for issue in range(count):
        for _ in range(each):
            score = randomness.randrange(11) / 10
            evidence = Evidence(consensus=score) if consensus else Evidence(score=score, valid=10)
            drawn_rows.append(
                PatchEvidence(evidence, randomness.random() < come_true(score), str(issue))
            )
    return drawn_rows


def build_rows(labels):
    """Rows of which only the truth matters."""
    return [PatchEvidence(Evidence(), label, str(at)) for at, label in enumerate(labels)]


def be_overconfident(score):
    return 0.35 + 0.3 * score


def be_stepped(score):
    return 0.9 if score > 0.75 else 0.2


def test_held_out_probabilities_are_calibrated():
    rows = draw_rows(300, be_overconfident)
    labels = np.asarray([row.correct for row in rows], dtype=float)
    raw = np.asarray([row.evidence.score for row in rows])
    fitted = fit_calibrator(rows, fitted_at="now")
    assert np.mean((fitted.held_out - labels) ** 2) < np.mean((raw - labels) ** 2) - 0.03
    gaps = [
        abs(one.belief - one.correct)
        for one in bin_beliefs(fitted.held_out, labels, np.arange(len(labels)))
    ]
    assert np.mean(gaps) < 0.06
    assert fitted.calibrator.predict_probability(Evidence(score=0.5, valid=10)) == pytest.approx(
        0.5, abs=0.06
    )


def test_row_is_held_out_with_its_issue():
    rows = draw_rows(60, be_overconfident)
    changed = [
        PatchEvidence(row.evidence, not row.correct, row.issue) if row.issue == "7" else row
        for row in rows
    ]
    same = [at for at, row in enumerate(rows) if row.issue == "7"]
    before, after = predict_held_out(rows), predict_held_out(changed)
    assert before[same] == pytest.approx(after[same])
    assert not np.allclose(before, after)


@pytest.mark.parametrize("come_true", [be_overconfident, be_stepped])
def test_order_of_rows_does_not_matter(come_true):
    rows = draw_rows(60, come_true)
    shuffled = random.Random(1).sample(rows, len(rows))
    first, second = (
        fit_calibrator(issue_of, fitted_at="now").calibrator for issue_of in (rows, shuffled)
    )
    assert first.kind is second.kind
    for score in (0.0, 0.4, 1.0):
        evidence = Evidence(score=score, valid=10)
        assert first.predict_probability(evidence) == pytest.approx(
            second.predict_probability(evidence), abs=1e-4
        )


def test_short_history_fits_nothing():
    fitted = fit_calibrator(draw_rows(20, be_overconfident), fitted_at="now")
    assert fitted.briers == {}
    assert np.isnan(fitted.held_out).all()
    assert fitted.calibrator.explain_silence(Evidence(score=1.0)) == NO_HISTORY
    assert fit_calibrator([], fitted_at="now").calibrator.history.issues == 0


def test_rows_without_evidence_are_no_history():
    silent = [PatchEvidence(Evidence(), True, f"silent-{at}") for at in range(50)]
    fitted = fit_calibrator(draw_rows(60, be_overconfident) + silent, fitted_at="now")
    assert fitted.calibrator.history.issues == 60
    assert np.isnan(fitted.held_out).sum() == 50


def test_inverted_votes_get_no_weight():
    fitted = fit_calibrator(draw_rows(100, lambda score: 0.8 - 0.6 * score), fitted_at="now")
    assert fitted.calibrator.weights == {}
    assert fitted.calibrator.predict_probability(Evidence(score=1.0)) == pytest.approx(0.5, abs=0.1)


def test_fold_of_one_class_is_fitted():
    # all incorrect patches are in one issue: the folds without it hold one truth only
    rows = [PatchEvidence(Evidence(score=0.9, valid=4), True, str(at)) for at in range(40)]
    rows += [PatchEvidence(Evidence(score=0.1, valid=4), False, "odd") for _ in range(20)]
    fitted = fit_calibrator(rows, fitted_at="now")
    assert ((fitted.held_out > 0) & (fitted.held_out < 1)).all()


def test_thresholds_claim_the_most_at_their_target():
    beliefs = np.repeat([0.1, 0.4, 0.6, 0.9], 100)
    labels = build_rows(at < share for share in (5, 40, 60, 95) for at in range(100))
    strict = choose_thresholds(beliefs, labels, ClaimTargets(accept=0.85, reject=0.85))
    assert (strict.correct, strict.incorrect) == (0.9, 0.1)
    # together 155 of 200 are right, of which Wilson promises 0.71
    loose = choose_thresholds(beliefs, labels, ClaimTargets(accept=0.7, reject=0.7))
    assert (loose.correct, loose.incorrect) == (0.6, 0.4)
    never = choose_thresholds(beliefs, labels, ClaimTargets(accept=0.99, reject=0.99))
    assert (never.correct, never.incorrect) == (None, None)


def test_claims_reach_their_targets_on_new_issues():
    calibrator = fit_calibrator(draw_rows(300, be_stepped), fitted_at="now").calibrator
    claimed = [
        (calibrator.thresholds.decide(calibrator.predict_probability(row.evidence)), row.correct)
        for row in draw_rows(400, be_stepped, seed=9)
    ]
    accepted = [correct for verdict, correct in claimed if verdict is Verdict.CORRECT]
    rejected = [not correct for verdict, correct in claimed if verdict is Verdict.INCORRECT]
    assert len(accepted) > 200
    assert np.mean(accepted) >= ClaimTargets().accept
    assert len(rejected) > 200
    assert np.mean(rejected) >= ClaimTargets().reject


def test_thresholds_of_a_row_ignore_its_labels():
    rows = draw_rows(400, be_stepped)
    probabilities = np.asarray([0.9 if row.evidence.score > 0.75 else 0.2 for row in rows])
    changed = [
        PatchEvidence(row.evidence, not row.correct, row.issue) if row.issue == "7" else row
        for row in rows
    ]
    own = next(at for at, row in enumerate(rows) if row.issue == "7")
    first, second = (
        _choose_held_out_thresholds(issue_of, probabilities, ClaimTargets())
        for issue_of in (rows, changed)
    )
    assert first[own] == second[own] == Thresholds(0.9, 0.2)
    assert len(first) == len(rows)


def test_few_claims_set_no_threshold():
    lucky = choose_thresholds(
        np.full(8, 0.9), build_rows([True] * 8), ClaimTargets(accept=0.8, reject=0.8)
    )
    assert lucky.correct is None


def test_patches_of_one_issue_are_one_trial():
    assert count_effective_trials(np.ones(12), np.arange(12)) == 12
    assert count_effective_trials(np.ones(12), np.repeat([0, 1, 2], 4)) == 3
    assert count_effective_trials(np.ones(0), np.arange(0)) == 0
    beliefs, issues = np.full(20, 0.9), np.arange(20)
    rows_of_four = [PatchEvidence(Evidence(), True, str(at // 4)) for at in range(80)]
    alone = [PatchEvidence(Evidence(), True, str(at)) for at in range(80)]
    believed = np.full(80, 0.9)
    assert choose_thresholds(believed, alone, ClaimTargets(accept=0.9)).correct == 0.9
    assert choose_thresholds(believed, rows_of_four, ClaimTargets(accept=0.9)).correct is None
    wide, narrow = (
        bin_beliefs(beliefs, np.ones(20), issue_of)[0].low for issue_of in (issues // 4, issues)
    )
    assert wide < narrow


def test_light_labels_count_less():
    assert count_effective_trials(np.full(12, 0.5), np.arange(12)) == 6
    sure = [PatchEvidence(Evidence(), True, str(at)) for at in range(40)]
    weak = [PatchEvidence(Evidence(), True, str(at), 0.5) for at in range(40)]
    believed = np.full(40, 0.9)
    assert choose_thresholds(believed, sure, ClaimTargets(accept=0.9)).correct == 0.9
    assert choose_thresholds(believed, weak, ClaimTargets(accept=0.9)).correct is None
    twice = [PatchEvidence(Evidence(), True, str(at), 0.5) for at in range(80)]
    assert choose_thresholds(np.full(80, 0.9), twice, ClaimTargets(accept=0.9)).correct == 0.9


def test_diagram_counts_every_patch_with_a_belief():
    beliefs = np.asarray([0.1] * 6 + [0.8] * 4 + [np.nan])
    labels = np.asarray([0.0] * 6 + [1, 1, 1, 0] + [1])
    low, high = bin_beliefs(beliefs, labels, np.arange(11))
    assert (low.patches, low.belief, low.correct) == (6, pytest.approx(0.1), 0.0)
    assert (high.patches, high.correct) == (4, 0.75)
    assert high.low < 0.75 < high.high


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans()), min_size=80, max_size=120)
)
def test_any_history_gives_ordered_probabilities(history):
    rows = [
        PatchEvidence(Evidence(score=score, valid=4, consensus=consensus), correct, str(at // 2))
        for at, (score, consensus, correct) in enumerate(history)
    ]
    calibrator = fit_calibrator(rows, fitted_at="now").calibrator
    steps = [
        calibrator.predict_probability(Evidence(score=at / 20, valid=4, consensus=at / 20))
        for at in range(21)
    ]
    if calibrator.history.is_enough:
        assert all(0 < step < 1 for step in steps)
        assert steps == sorted(steps)
    else:
        assert steps == [None] * 21
