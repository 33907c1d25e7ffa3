"""What people are told of patches that nobody judged, and of verdicts that claimed nothing."""

from dataclasses import replace

import pytest

from model.domain import Verdict
from tests.builders.history.pull_outcomes import LATER, MERGED, build_judgement, build_record
from training.labels import labels
from training.labels.explanation import IssueExplanation, format_lines, to_document


def explain(*fates, **about):
    known = [build_record(*fates, **about)]
    return IssueExplanation("octo/cat#3", LATER, known, labels.label_patches(known, LATER), True)


def test_unjudged_patch_has_no_verdict():
    expected = explain(MERGED, judgements=[])
    assert not [line for line in format_lines(expected) if " said: " in line]
    assert to_document(expected)["patches"][0]["verdict"] is None


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (Verdict.CORRECT, "  r4p said: correct, rightly by this label"),
        (Verdict.INCORRECT, "  r4p said: incorrect, wrongly by this label"),
        (Verdict.UNSURE, "  r4p said: unsure"),
    ],
)
def test_only_a_claim_is_right_or_wrong(verdict, expected):
    assert expected in format_lines(explain(MERGED, judgements=[build_judgement(verdict=verdict)]))


def test_event_without_an_actor_has_no_name():
    silent = replace(MERGED, actor=None, permission=None)
    assert "  2026-03-02 09:00  #12     merged" in format_lines(explain(silent))
