"""The page of a group names everything that a verdict rests on, in the words of the comment and the check run."""

import re
from dataclasses import dataclass, replace

import pytest

from app.comments import write_check_run, write_verdict_comment
from app.web.pages.patch_view import build_group_evidence
from model import typed_json
from model.coverage import ShownCode
from model.domain import (
    CiResult,
    CiState,
    Coverage,
    GradedLine,
    ObservedEvidence,
    RegressionResult,
    ReproductionResult,
    RubricKind,
    RubricLine,
    RubricMark,
    Verdict,
    VoteCount,
)
from model.verdict_json import PACKAGED, write_evidence
from tests.app.comments.views import build_row, view

TIED = VoteCount(2, 2)
KEPT = RegressionResult(812, 0)
BROKEN = RegressionResult(812, 5, ("t.py::test_a", "t.py::test_b[x-1]", "t.py::test_c", "t::d"))
LINES = (
    GradedLine(RubricLine(RubricKind.SPECIFICATION, 3, "`total([])` is Money"), RubricMark.MET),
    GradedLine(
        RubricLine(RubricKind.INTEGRITY, 2, "Tests stay"), RubricMark.NOT_MET, "one is gone"
    ),
    GradedLine(RubricLine(RubricKind.RUNTIME, 1, "One pass"), RubricMark.CANNOT_TELL),
)


def build_patch(number=12, verdict=Verdict.UNSURE, votes=TIED, rubric=(), **evidence):
    """A row of the comment, whose verdict is also a patch of the document."""
    observed = ObservedEvidence(**evidence) if evidence else None
    row = build_row(number, verdict, votes)
    return replace(row, verdict=replace(row.verdict, evidence=observed, rubric=rubric))


def build_document(*rows, engine="vLLM", **parts):
    """The keys of an `r4p.verdict/1` document that the evidence is read from."""
    return {
        "schema": "r4p.verdict/1",
        "verifier": "r4p",
        "engine": {"name": engine},
        "patches": [_dump(row.verdict) for row in rows],
        **parts,
    }


def _dump(verdict):
    return {
        **typed_json.dump(verdict),
        "evidence": None if verdict.evidence is None else write_evidence(verdict.evidence),
    }


def read(*rows, **parts):
    return build_group_evidence(build_document(*rows, **parts))


@dataclass
class Case:
    """A kind of evidence of one patch, and what the page says of it."""

    evidence: dict
    column: str | None
    cell: str | None
    fact: str
    note: str | None = None


CASES = {
    "kept tests": Case(
        {"regression": KEPT},
        "Broken tests",
        "0 of 812",
        "Tests: breaks none of 812 tests that pass on the base",
    ),
    "broken tests": Case(
        {"regression": BROKEN},
        "Broken tests",
        "5 of 812",
        "Tests: breaks 5 of 812 tests that pass on the base: t.py::test_a, t.py::test_b[x-1], t.py::test_c and 2 more",
        "#12 breaks 5 of 812 tests that pass on the base: t.py::test_a, t.py::test_b[x-1], t.py::test_c and 2 more.",
    ),
    "rewritten tests": Case(
        {"regression": RegressionResult(812, 1, ("t.py::test_a",), rewritten=1)},
        "Broken tests",
        "1 of 812",
        "Tests: breaks 1 of 812 tests that pass on the base, and rewrites or removes it itself: t.py::test_a",
        "#12 breaks 1 of 812 tests that pass on the base, and rewrites or removes it itself: t.py::test_a.",
    ),
    "unknown tests": Case(
        {"unknown": "the run took longer than 60 s"},
        "Broken tests",
        "unknown",
        "Tests: unknown, the run took longer than 60 s",
        "There is no evidence from tests: the run took longer than 60 s.",
    ),
    "reproduction tests": Case(
        {"reproduction": ReproductionResult(2, 2)},
        "Reproduction tests passed",
        "2 of 2",
        "Reproduction tests: passes 2 of 2",
        "All 2 reproduction tests, written for the issue, pass with #12.",
    ),
    "no reproduction tests": Case(
        {"reproduction_unknown": "none of 4 written tests shows the issue on the base"},
        None,
        None,
        "Reproduction tests: unknown, none of 4 written tests shows the issue on the base",
        "There is no evidence from reproduction tests: none of 4 written tests shows the issue on the base.",
    ),
    "passed CI": Case(
        {"ci": CiResult(CiState.PASSED, 12)}, "CI", "passes", "CI: passes, 12 checks"
    ),
    "failed CI": Case(
        {"ci": CiResult(CiState.FAILED, 12, 1, ("lint",))},
        "CI",
        "fails",
        "CI: fails, and not on the default branch: lint",
        "CI fails on #12, and not on the default branch: lint.",
    ),
    "checklist": Case(
        {"rubric": LINES}, "Checklist met", "1 of 3", "Checklist for the issue: 1 of 3 lines met"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_kind_of_evidence_is_a_cell_and_a_fact(case):
    shown = read(build_patch(**case.evidence))
    assert shown.columns == ((case.column,) if case.column else ())
    assert shown.patches["#12"].cells == ((case.cell,) if case.cell else ())
    assert case.fact in shown.patches["#12"].facts
    assert shown.notes == ((case.note,) if case.note else ())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_words_are_those_of_the_comment_and_the_check_run(case):
    row = build_patch(**case.evidence)
    comment = _strip(write_verdict_comment(view(row)))
    check = _strip(write_check_run(view(row), row).summary)
    shown = read(row)
    assert [note for note in shown.notes if _strip(note) not in comment] == []
    assert [fact for fact in shown.patches["#12"].facts if _strip(fact) not in check] == []
    assert [line for line in shown.patches["#12"].checklist if _strip(line) not in check] == []
    assert [title for title in shown.columns if f"| {title} |" not in comment] == []


def _strip(text):
    """Markdown without its marks and escapes."""
    return re.sub(r"[\\`*\u200b]", "", text)


def test_checklist_shows_unmet_lines_first():
    assert read(build_patch(rubric=LINES)).patches["#12"].checklist == (
        "not met: Tests stay (one is gone)",
        "cannot tell: One pass",
        "met: `total([])` is Money",
    )


@pytest.mark.parametrize(
    ("calibrator", "probability", "source", "fact"),
    [
        (
            {"issues": 388, "origin": PACKAGED},
            0.31,
            "Probabilities are a packaged prior from 388 issues of benchmarks, not from outcomes here.",
            "Probability correct: 31 % (packaged prior)",
        ),
        (
            {"issues": 57},
            0.31,
            "Probabilities come from the outcomes of 57 earlier issues.",
            "Probability correct: 31 %, from the outcomes of 57 earlier issues",
        ),
        (
            {"issues": 57},
            None,
            "No probabilities: no patch was judged in full.",
            "No opinion for a probability",
        ),
        (
            {},
            None,
            "No probabilities yet: not enough history.",
            "Not enough history for a probability",
        ),
    ],
    ids=["packaged prior", "own history", "no opinion", "no history"],
)
def test_the_origin_of_a_probability_is_named(calibrator, probability, source, fact):
    row = build_patch()
    row = replace(row, verdict=replace(row.verdict, probability=probability))
    shown = read(row, calibrator=calibrator)
    assert shown.sources == (source,)
    assert fact in shown.patches["#12"].facts


def test_votes_and_coverage_are_grounds_too():
    row = build_patch(verdict=Verdict.CORRECT, votes=VoteCount(3, 1))
    row = replace(row, verdict=replace(row.verdict, coverage=Coverage(3, 2)))
    assert read(row).patches["#12"].facts == (
        "3 of 4 votes agree",
        "Not enough history for a probability",
        "2 of 3 files were read",
    )


def test_consensus_says_that_no_model_read_the_patch_and_why_it_is_unsure():
    shown = read(build_patch(votes=VoteCount()), engine="consensus")
    assert shown.patches["#12"].facts[0] == "Comparison of features, no language model"
    assert shown.sources[1].startswith("Unsure: the score is too close to the middle.")


def test_code_that_the_model_saw_is_named():
    seen = read(build_patch(), code=typed_json.dump(ShownCode(definitions=3)))
    assert seen.sources[-1] == "The model saw 3 definitions of the base that the patches touch."
    unseen = read(build_patch(), code=typed_json.dump(ShownCode(missing="the tree is gone")))
    assert unseen.sources[-1] == "The model saw no code of the base, because the tree is gone."


def test_patch_that_was_not_judged_has_no_grounds():
    shown = read(build_patch(verdict=Verdict.NOT_JUDGED, votes=VoteCount()))
    assert (shown.patches["#12"].facts, shown.sources, shown.columns) == ((), (), ())


def test_document_without_patches_has_no_evidence():
    assert build_group_evidence({}).patches == {}
