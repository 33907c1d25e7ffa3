"""A shared calibrator comes into use only if no one person and no one owner decides its thresholds."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from app.values.identifiers import InstallationId
from model.calibration.calibration import Evidence
from model.voting.thresholds import Thresholds
from training.calibrators import adoption
from training.calibrators.adoption import (
    LARGEST_MOVE,
    cap_own_rows,
    cap_shared_rows,
    decide_shared_adoption,
    find_dominant_source,
    measure_move,
)
from training.calibrators.evidence import PatchEvidence
from training.calibrators.fitting import fit_calibrator
from training.corpus import StoredCalibrator
from training.labels.weight_caps import LabelOrigin

VOTES, PEOPLE, OWNERS, EACH = 4, 400, 50, 4


def build_row(issue, votes, source, *, correct):
    belief = Evidence(score=votes / VOTES, valid=VOTES, valid_share=1.0, forced_share=0.0)
    return PatchEvidence(belief, correct, str(issue), source=source)


def build_community(people=PEOPLE, owners=OWNERS, each=EACH):
    """Labels of honest people; more votes mean more correct patches."""
    draw = random.Random(4)
    rows = []
    for person in range(people):
        owner = person % owners
        source = LabelOrigin(str(person), owner, owner)
        for _ in range(each):
            votes = draw.choice(range(VOTES + 1))
            is_correct = draw.random() < (0.05, 0.2, 0.5, 0.8, 0.95)[votes]
            rows.append(build_row(len(rows), votes, source, correct=is_correct))
    return rows


def build_lies(source_of):
    """1,000 labels by one account: patches that every vote refused are called correct."""
    return [
        build_row(10_000 + number, 0, source_of(number), correct=True) for number in range(1_000)
    ]


HONEST = build_community()
ATTACKS = {
    "20 repositories of its own": lambda number: LabelOrigin("eve", 500 + number % 20, 99),
    "one of 21 people in a shared repository": lambda _number: LabelOrigin("eve", 0, 0),
}


def fit(rows):
    return fit_calibrator(rows, fitted_at="now")


@pytest.fixture(scope="module")
def honest():
    """The calibrator of the community, which comes into use and claims on both sides."""
    rows = cap_shared_rows(HONEST)
    fitted = fit(rows)
    assert decide_shared_adoption(fitted, rows, None).is_active
    assert None not in {
        fitted.calibrator.thresholds.correct,
        fitted.calibrator.thresholds.incorrect,
    }
    return fitted


@pytest.mark.parametrize("attack", ATTACKS)
def test_thousand_labels_by_one_account_move_no_threshold(honest, attack):
    before = honest.calibrator
    rows = HONEST + build_lies(ATTACKS[attack])
    assert measure_move(before.thresholds, fit(rows).calibrator.thresholds) > LARGEST_MOVE
    capped = cap_shared_rows(rows)
    after = fit(capped)
    in_use = StoredCalibrator(1, before, frozenset(range(len(HONEST))))
    decision = decide_shared_adoption(after, capped, in_use)
    judges_with = after.calibrator if decision.is_active else before
    assert measure_move(before.thresholds, judges_with.thresholds) <= LARGEST_MOVE


def test_thresholds_that_hang_on_one_owner_are_refused():
    rows = HONEST + build_lies(lambda number: LabelOrigin(str(number), 99, 99))[:80]
    decision = decide_shared_adoption(fit(rows), rows, None)
    assert not decision.is_active
    assert decision.why.startswith("a threshold would move by 0.")
    assert decision.why.endswith("without the 80 labels of one owner")


def test_thresholds_that_hang_on_one_person_are_refused():
    rows = (
        HONEST
        + build_lies(lambda number: LabelOrigin("eve", number % OWNERS, number % OWNERS))[:40]
    )

    def refit(rows, without):
        for own in without:
            is_eve = {rows[at].source.person for at in own} == {"eve"}
            yield Thresholds(0.8, 0.189) if is_eve else Thresholds(0.8, 0.2)

    why = find_dominant_source(rows, Thresholds(0.8, 0.2), refit)
    assert why == "a threshold would move by 0.011 without the 40 labels of one person"


def test_every_owner_and_every_person_is_left_out_whole():
    left_out = []

    def refit(rows, without):
        for own in without:
            left_out.append({(rows[at].source.owner, rows[at].source.person) for at in own})
            yield Thresholds(0.8, 0.2)

    assert find_dominant_source(HONEST, Thresholds(0.8, 0.2), refit) is None
    everybody = {(row.source.owner, row.source.person) for row in HONEST}
    owners = [{each for each in everybody if each[0] == owner} for owner in range(OWNERS)]
    assert left_out == owners + [{each} for each in sorted(everybody, key=lambda it: int(it[1]))]


def test_owner_with_fewer_labels_than_the_others_is_left_out():
    honest = build_community(people=300, owners=30, each=10)
    lies = build_lies(lambda number: LabelOrigin(f"eve {number % 10}", 99, 99))[:99]
    capped = [cap_shared_rows(rows) for rows in (honest, honest + lies)]
    before, after = [fit(rows) for rows in capped]
    thresholds = before.calibrator.thresholds, after.calibrator.thresholds
    assert measure_move(*thresholds) > LARGEST_MOVE
    assert decide_shared_adoption(before, capped[0], None).is_active
    assert not decide_shared_adoption(after, capped[1], None).is_active


def test_shared_fit_keeps_the_newest_rows_of_each_owner(monkeypatch):
    monkeypatch.setattr(adoption, "MOST_SHARED", 500)
    lies = build_lies(ATTACKS["20 repositories of its own"])
    kept = Counter(row.source.owner for row in cap_shared_rows(HONEST + lies))
    assert sum(kept.values()) == 500
    assert set(kept.values()) == {9, 10}
    newest = [row.issue for row in cap_shared_rows(HONEST + lies) if row.source.owner == 99]
    assert newest == [row.issue for row in lies][-len(newest) :]


def test_weightless_rows_change_no_calibrator():
    without = fit(HONEST)
    lies = [replace(row, weight=0.0, issue=HONEST[0].issue) for row in build_lies(lambda _n: None)]
    assert fit(HONEST + lies).calibrator == without.calibrator


def test_few_maintainers_of_an_installation_are_not_capped():
    few = [row for row in HONEST if row.source.owner == 0]
    assert cap_own_rows(few) == few
    own = [replace(row, source=replace(row.source, owner=InstallationId(0))) for row in HONEST]
    eve = build_lies(ATTACKS["one of 21 people in a shared repository"])
    capped = cap_own_rows(own + eve)
    assert sum(row.weight for row in capped[-1_000:]) < 0.0101 * sum(row.weight for row in capped)
