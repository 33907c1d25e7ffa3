"""What people are told of patches that nobody judged, and of verdicts that claimed nothing."""

from dataclasses import replace

import pytest

from model.domain import Verdict
from tests.builders.pull_outcomes import LATER, MERGED, judgement, record
from training.labels import labels
from training.labels.explanation import IssueExplanation, format_lines, to_document


def explained(*fates, **about):
    known = [record(*fates, **about)]
    return IssueExplanation("octo/cat#3", LATER, known, labels.label_patches(known, LATER), True)


def test_a_patch_that_nobody_judged_has_no_verdict():
    told = explained(MERGED, judgements=[])
    assert not [line for line in format_lines(told) if " said: " in line]
    assert to_document(told)["patches"][0]["verdict"] is None


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (Verdict.CORRECT, "  r4p said: correct, rightly by this label"),
        (Verdict.INCORRECT, "  r4p said: incorrect, wrongly by this label"),
        (Verdict.UNSURE, "  r4p said: unsure"),
    ],
)
def test_only_a_claim_is_right_or_wrong(verdict, told):
    assert told in format_lines(explained(MERGED, judgements=[judgement(verdict=verdict)]))


def test_a_deed_of_nobody_is_told_without_a_name():
    silent = replace(MERGED, actor=None, permission=None)
    assert "  2026-03-02 09:00  #12     merged" in format_lines(explained(silent))
