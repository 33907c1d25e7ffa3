"""Comment, check run and explanation name per patch what a verdict rests on."""

from dataclasses import replace

import pytest

from app.comments import write_check_run, write_explanation_reply, write_verdict_comment
from model.domain import (
    CiResult,
    CiState,
    GradedLine,
    ObservedEvidence,
    RegressionResult,
    ReproductionResult,
    RubricKind,
    RubricLine,
    RubricMark,
)
from tests.app.comments.test_alternative_offer import build_alternative
from tests.app.comments.views import CORRECT, INCORRECT, NOT_JUDGED, UNSURE, render, view

KEPT = RegressionResult(1_812, 0)
BROKEN = RegressionResult(1_812, 5, ("t.py::test_a", "t.py::test_b[x-1]", "t.py::test_c", "t::d"))
PASSES = CiResult(CiState.PASSED, 12)
FAILS = CiResult(CiState.FAILED, 12, 2, ("build (3.12)", "lint"))
LINES = (
    GradedLine(RubricLine(RubricKind.SPECIFICATION, 3, "`f([])` is empty"), RubricMark.MET),
    GradedLine(RubricLine(RubricKind.INTEGRITY, 2, "It keeps @mona"), RubricMark.NOT_MET, "no #7"),
    GradedLine(RubricLine(RubricKind.RUNTIME, 1, "One pass"), RubricMark.CANNOT_TELL),
)


def observe(row, rubric=(), **evidence):
    observed = ObservedEvidence(**evidence) if evidence else None
    return replace(row, verdict=replace(row.verdict, evidence=observed, rubric=rubric))


GOOD = observe(CORRECT, regression=KEPT, reproduction=ReproductionResult(1, 1), ci=PASSES)
BAD = observe(UNSURE, LINES, regression=BROKEN, reproduction=ReproductionResult(1, 0), ci=FAILS)
UNTOLD = observe(INCORRECT, unknown="the run took longer than 60 s", ci=CiResult(CiState.RUNNING))


def read_comment(*rows, **changes):
    return write_verdict_comment(view(*rows, **changes)).replace("\u200b", "|")


def test_the_notes_count_the_tests_that_a_patch_rewrites_itself():
    both = replace(BROKEN, rewritten=5)
    assert "that pass on the base, and rewrites or removes all of them itself: " in read_comment(
        GOOD, observe(UNSURE, regression=both)
    )
    assert "rewrites" not in read_comment(GOOD, BAD)


def test_table_and_notes_say_what_ran():
    shown = read_comment(GOOD, UNTOLD, BAD, NOT_JUDGED).replace("\N{NO-BREAK SPACE}", " ")
    table = shown[shown.index("| PR") : shown.index("\n\n- ")]
    assert table == (
        """\
| PR | Verdict | Agreement | Broken tests | Reproduction tests passed | CI | Checklist met | Commit |
| --- | --- | --- | --- | --- | --- | --- | --- |
| #12 | **Correct** | 4 of 4 | 0 of 1,812 | 1 of 1 | passes | – | `ccccccc` |
| #15 | **Incorrect** | 3 of 4 | unknown | – | running | – | `fffffff` |
| #16 | **Unsure** | 2 : 2 | **5 of 1,812** | 0 of 1 | **fails** | 1 of 3 | `1010101` |
| #18 | **Not judged** | – | – | – | – | – | `1212121` |"""
    )
    notes = shown[shown.index("\n- ") + 1 : shown.index("- The bot did not judge #18")]
    assert notes == (
        """\
- #16 breaks 5 of 1,812 tests that pass on the base: `t.py::test_a`, `t.py::test_b[x-1]`, `t.py::test_c` and 2 more.
- CI fails on #16, and not on the default branch: `build (3.12)` and `lint`.
- There is no evidence from tests about #15: the run took longer than 60 s.
- The reproduction test, written for the issue, passes with #12.
"""
    )


def test_without_evidence_there_is_no_column_and_no_note():
    shown = read_comment()
    assert "| PR | Verdict | Agreement | Commit |" in shown
    assert "\n- " not in shown


@pytest.mark.parametrize(
    ("passed", "note"),
    [
        ((3, 3), "- All 3 reproduction tests, written for the issue, pass with #12 and #15."),
        ((2, 0), "- All 3 reproduction tests, written for the issue, pass with no patch."),
    ],
)
def test_reproduction_tests_name_the_patches_that_pass_all(passed, note):
    rows = [
        observe(row, reproduction=ReproductionResult(3, count))
        for row, count in zip((CORRECT, INCORRECT), passed, strict=True)
    ]
    assert note in read_comment(*rows)


def test_reason_that_all_share_is_said_once():
    why = "the operator of this bot has no test environment py311"
    shown = read_comment(observe(CORRECT, unknown=why), observe(INCORRECT, unknown=why))
    assert shown.count(why) == 1
    assert f"- There is no evidence from tests: {why}." in shown


def test_missing_reproduction_tests_are_a_reason_of_their_own():
    why = "none of 4 written tests shows the issue on the base"
    rows = (
        observe(CORRECT, regression=KEPT, reproduction_unknown=why),
        observe(INCORRECT, regression=KEPT, reproduction_unknown=why),
    )
    assert f"- There is no evidence from reproduction tests: {why}." in read_comment(*rows)
    assert f"- Reproduction tests: unknown, {why}" in write_check_run(view(*rows), rows[0]).summary


def test_checklist_stands_below_the_reason_unmet_lines_first():
    assert """\
Checklist for the issue:

- **not met**: It keeps @|mona (no #|7)
- cannot tell: One pass
- met: `f([])` is empty
""" in read_comment(BAD)


def test_check_run_lists_the_grounds():
    check = write_check_run(view(GOOD, BAD, history=57), BAD)
    assert check.title == "Unsure: votes 2 : 2, breaks 5 of 1,812 tests, CI fails (advisory)"
    assert check.summary.replace("\u200b", "|").startswith(
        """\
Commit `1010101`: **Unsure**. What this rests on:

- Votes 2 : 2
- Tests: breaks 5 of 1,812 tests that pass on the base: `t.py::test_a`, `t.py::test_b[x-1]`, `t.py::test_c` and 2 more
- Reproduction tests: passes 0 of 1
- CI: fails, and not on the default branch: `build (3.12)` and `lint`
- No opinion for a probability
- 2 of 2 files were read
- Checklist for the issue: 1 of 3 lines met
  - **not met**: It keeps @|mona (no #|7)
  - cannot tell: One pass
  - met: `f([])` is empty

> """
    )


def test_passing_and_unknown_tests_are_grounds_too():
    good = write_check_run(view(GOOD, UNTOLD), GOOD)
    assert good.title == "Correct: 4 of 4 votes agree (advisory)"
    assert "- Tests: breaks none of 1,812 tests that pass on the base\n" in good.summary
    assert "- CI: passes, 12 checks\n" in good.summary
    untold = write_check_run(view(GOOD, UNTOLD), UNTOLD).summary
    assert "- Tests: unknown, the run took longer than 60 s\n- CI: running\n" in untold


@pytest.mark.parametrize(
    ("ci", "end"),
    [
        (CiResult(CiState.FAILED, 3, 3), ": 3 checks"),
        (CiResult(CiState.FAILED, 3, 1), ": 1 check"),
        (CiResult(CiState.FAILED, 3, 0), ""),
        (CiResult(CiState.FAILED, 3, 0, ("lint",)), ": `lint`"),
        (CiResult(CiState.FAILED, 9, 5, ("lint",)), ": `lint` and 4 more"),
    ],
)
def test_failing_ci_is_told_with_as_many_checks_as_are_stored(ci, end):
    row = observe(UNSURE, ci=ci)
    assert f"\n- CI fails on #16, and not on the default branch{end}.\n" in read_comment(row)
    summary = write_check_run(view(row), row).summary
    assert f"\n- CI: fails, and not on the default branch{end}\n" in summary


def test_failed_checks_count_only_if_ci_fails():
    row = observe(CORRECT, ci=CiResult(CiState.PASSED, 3, 1, ("lint",)))
    assert "CI fails" not in read_comment(row)


def test_a_group_without_reproduction_tests_passes_none():
    shown = read_comment(observe(CORRECT, reproduction=ReproductionResult(0, 0)))
    assert "written for the issue" not in shown
    assert "Reproduction tests" not in shown


def test_explanation_names_the_grounds():
    reply = write_explanation_reply("900", view(GOOD), "#12")
    assert "- 4 of 4 votes agree\n- Tests: breaks none of 1,812 tests" in reply


def test_tested_alternative_is_not_called_untested():
    tried = build_alternative(1)
    tried = replace(tried, verdict=observe(tried, regression=KEPT).verdict)
    shown = read_comment(alternatives=(tried,))
    assert "It read the code and ran nothing. " in shown or "ran nothing.\n" in shown
    assert "untested" not in shown
    assert "A1 is untested" in read_comment(alternatives=(build_alternative(1),))


def test_missing_probability_has_its_cause_in_the_evidence():
    cause = "No probabilities: tests or CI speak against what the votes say"
    assert cause in read_comment(BAD, history=57)
    assert cause not in read_comment(UNTOLD, history=57)


def test_limit_of_correct_stands_below_a_claim_only():
    assert "*Correct* does not mean *mergeable*." in read_comment(GOOD)
    assert "mergeable" not in read_comment(UNTOLD, BAD)


def test_names_of_strangers_stay_text():
    name = "`t` @mona closes #7 <img src=x> | [a](https://evil.example)\n\n- x"
    row = observe(
        CORRECT,
        regression=RegressionResult(2, 1, (name,)),
        ci=CiResult(CiState.FAILED, 1, 1, (name,)),
    )
    unknown = observe(INCORRECT, unknown=name)
    for text in (
        read_comment(row, unknown),
        write_check_run(view(row), row).summary,
        write_check_run(view(unknown), unknown).summary,
    ):
        html = render(text.replace("|", "\u200b"))
        assert "<img" not in html
        assert "<a " not in html
        assert "@mona" not in html
        assert "#7" not in html
