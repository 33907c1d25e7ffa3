"""Texts about what a verdict rests on: tests that ran, CI, the checklist, the votes and the history (pure)."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from app.comments.phrases import (
    MARKDOWN,
    TextStyle,
    describe_coverage,
    format_agreement,
    format_probability,
    join_names,
    quote_name,
)
from app.comments.views import GroupGrounds
from app.policy.evidence_policy import find_passing
from model.domain import (
    CiResult,
    CiState,
    ObservedEvidence,
    PatchVerdict,
    RegressionResult,
    ReproductionResult,
    RivalDifference,
    RubricMark,
    Verdict,
    VoteCount,
)
from model.execution.regression import describe_rewritten
from model.rivals.difference_text import write_sentences

MERGEABLE_NOTE: Final = (
    "*Correct* does not mean *mergeable*. Of agents' patches that pass a benchmark's tests, stronger tests reject about "
    "20 % (SWE-ABS), and maintainers would merge about half (METR)."
)
"""What even a perfect judge leaves open. docs/limits.md names the sources."""
NO_VALUE: Final = "–"
"""The cell of a table where the value is unknown."""
_SHOWN_NAMES: Final = 3
"""Broken tests and failed checks that are named; all are counted."""
_REASON_CHARACTERS: Final = 300
_LINE_CHARACTERS: Final = 200
_NOTHING: Final = ObservedEvidence()
_CI: Final = {
    CiState.PASSED: "passes",
    CiState.FAILED: "fails",
    CiState.RUNNING: "running",
    CiState.NOT_RUN: NO_VALUE,
}
_MARKS: Final = {
    RubricMark.MET: "met",
    RubricMark.NOT_MET: "not met",
    RubricMark.CANNOT_TELL: "cannot tell",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the verdict's table."""

    title: str
    write: Callable[[PatchVerdict], str]
    """Returns the cell of one patch; a dash where the value is unknown."""


def list_columns(
    verdicts: Sequence[PatchVerdict], style: TextStyle = MARKDOWN
) -> tuple[Column, ...]:
    """Return the columns of evidence in which at least one patch has a value."""
    all_columns = (
        Column("Broken tests", partial(_format_tests, style=style)),
        Column("Reproduction tests passed", _format_reproduction),
        Column("CI", partial(_format_ci, style=style)),
        Column("Checklist met", _format_checklist),
    )
    return tuple(
        column
        for column in all_columns
        if any(column.write(verdict) != NO_VALUE for verdict in verdicts)
    )


def _format_tests(verdict: PatchVerdict, style: TextStyle) -> str:
    evidence = verdict.evidence or _NOTHING
    if evidence.regression is None:
        return "unknown" if evidence.unknown is not None else NO_VALUE
    broken, expected = evidence.regression.broken, evidence.regression.expected
    share = f"{broken:,} of {expected:,}"
    return style.strong(share) if broken else share


def _format_reproduction(verdict: PatchVerdict) -> str:
    result = (verdict.evidence or _NOTHING).reproduction
    return f"{result.passed} of {result.tests}" if result and result.tests else NO_VALUE


def _format_ci(verdict: PatchVerdict, style: TextStyle) -> str:
    ci = (verdict.evidence or _NOTHING).ci
    if ci is None:
        return NO_VALUE
    return style.strong(_CI[ci.state]) if ci.state is CiState.FAILED else _CI[ci.state]


def _format_checklist(verdict: PatchVerdict) -> str:
    if not verdict.rubric:
        return NO_VALUE
    met = sum(graded.mark is RubricMark.MET for graded in verdict.rubric)
    return f"{met} of {len(verdict.rubric)}"


def list_group_notes(
    verdicts: Sequence[PatchVerdict], style: TextStyle = MARKDOWN
) -> Iterator[str]:
    """Yield what ran on the patches of a group, with the names that a table has no room for."""
    for verdict in verdicts:
        evidence = verdict.evidence or _NOTHING
        if evidence.regression is not None and evidence.regression.broken:
            yield f"{verdict.id} {_describe_tests(evidence.regression, style)}."
        if evidence.ci is not None and evidence.ci.state is CiState.FAILED:
            checks = _format_failed_checks(evidence.ci, style)
            yield f"CI fails on {verdict.id}, and not on the default branch{checks}."
    yield from _list_unknown(verdicts, style)
    yield from _list_reproduction(verdicts)


def _list_unknown(verdicts: Sequence[PatchVerdict], style: TextStyle) -> Iterator[str]:
    """Yield each reason why tests say nothing once, with the patches that it is about."""
    patches: dict[tuple[str, str], list[str]] = defaultdict(list)
    for verdict in verdicts:
        evidence = verdict.evidence or _NOTHING
        if evidence.unknown is not None:
            patches["tests", evidence.unknown].append(verdict.id)
        if evidence.reproduction_unknown is not None:
            patches["reproduction tests", evidence.reproduction_unknown].append(verdict.id)
    for (kind, reason), ids in patches.items():
        about = "" if len(ids) == len(verdicts) else f" about {join_names(ids)}"
        yield f"There is no evidence from {kind}{about}: {style.line(reason, _REASON_CHARACTERS)}."


def _list_reproduction(verdicts: Sequence[PatchVerdict]) -> Iterator[str]:
    """Yield with which patches all reproduction tests pass."""
    evidence = {verdict.id: verdict.evidence for verdict in verdicts}
    results = [shown.reproduction for shown in evidence.values() if shown is not None]
    count = max((result.tests for result in results if result is not None), default=0)
    if not count:
        return
    tests = "The reproduction test" if count == 1 else f"All {count} reproduction tests"
    verb = "passes" if count == 1 else "pass"
    passing = find_passing(evidence)
    patches = join_names(passing) if passing else "no patch"
    yield f"{tests}, written for the issue, {verb} with {patches}."


def write_grounds(verdict: PatchVerdict, grounds: GroupGrounds, limit: int) -> str:
    """Return what the verdict on one patch rests on, as a Markdown list with `limit` characters of the checklist."""
    facts = [f"- {fact}" for fact in list_facts(verdict, grounds)]
    lines = [f"  - {line}" for line in list_checklist(verdict, limit)]
    return "\n".join([*facts, *lines])


def list_facts(
    verdict: PatchVerdict, grounds: GroupGrounds, style: TextStyle = MARKDOWN
) -> Iterator[str]:
    """Yield what the verdict on one patch rests on, one phrase for each kind of ground; the checklist comes last."""
    yield _capitalize(describe_ground(verdict, grounds))
    yield from _list_observations(verdict.evidence or _NOTHING, style)
    probability = format_probability(verdict, grounds.history, is_prior=grounds.is_packaged_prior)
    yield _capitalize(probability)
    seen, has_model = verdict.coverage, grounds.has_model
    yield _capitalize(describe_coverage(seen, has_model=has_model, phrase=style.phrase))
    if verdict.rubric:
        yield f"Checklist for the issue: {_format_checklist(verdict)} lines met"


def describe_ground(verdict: PatchVerdict, grounds: GroupGrounds) -> str:
    """Describe the votes or features behind the verdict."""
    if not grounds.has_model:
        return "comparison of features, no language model"
    if verdict.votes == VoteCount():
        return f"by {grounds.verifier}, without votes"
    if not verdict.votes.valid:
        return "no readable vote"
    if verdict.verdict is Verdict.UNSURE:
        return f"votes {format_agreement(verdict)}"
    return f"{format_agreement(verdict)} votes agree"


def write_differences(differences: Sequence[RivalDifference]) -> str:
    """Write how the rivals differ, as far as their diffs prove it; empty if they prove nothing."""
    sentences = write_sentences(differences, str, quote_name)
    return f"How they differ: {' '.join(sentences)}" if sentences else ""


def summarize_damage(evidence: ObservedEvidence | None) -> Iterator[str]:
    """Yield what speaks against a patch, in a few words without Markdown."""
    if evidence is None:
        return
    if (tests := evidence.regression) is not None and tests.broken:
        own = describe_rewritten(tests.broken, tests.rewritten)
        yield f"breaks {tests.broken:,} of {tests.expected:,} tests{own}"
    if evidence.ci is not None and evidence.ci.state is CiState.FAILED:
        yield "CI fails"


def _list_observations(evidence: ObservedEvidence, style: TextStyle) -> Iterator[str]:
    if evidence.regression is not None:
        yield f"Tests: {_describe_tests(evidence.regression, style)}"
    elif evidence.unknown is not None:
        yield f"Tests: unknown, {style.line(evidence.unknown, _REASON_CHARACTERS)}"
    if evidence.reproduction is not None and evidence.reproduction.tests:
        yield f"Reproduction tests: {_describe_reproduction(evidence.reproduction)}"
    elif evidence.reproduction_unknown is not None:
        why = style.line(evidence.reproduction_unknown, _REASON_CHARACTERS)
        yield f"Reproduction tests: unknown, {why}"
    if evidence.ci is not None and evidence.ci.state is not CiState.NOT_RUN:
        yield _describe_ci(evidence.ci, style)


def _describe_tests(result: RegressionResult, style: TextStyle) -> str:
    count = f"{result.broken:,}" if result.broken else "none"
    own = describe_rewritten(result.broken, result.rewritten)
    text = f"breaks {count} of {result.expected:,} tests that pass on the base{own}"
    return f"{text}: {_join_some(result.names, result.broken, style)}" if result.names else text


def _describe_reproduction(result: ReproductionResult) -> str:
    return f"passes {result.passed} of {result.tests}"


def _describe_ci(result: CiResult, style: TextStyle) -> str:
    if result.state is not CiState.FAILED:
        checks = f", {result.checks:,} checks" if result.checks > 1 else ""
        return f"CI: {_CI[result.state]}{checks}"
    return f"CI: fails, and not on the default branch{_format_failed_checks(result, style)}"


def _format_failed_checks(result: CiResult, style: TextStyle) -> str:
    """Return the failed checks as the end of a clause: their names, else their number; empty if both are unknown."""
    if result.names:
        return f": {_join_some(result.names, result.failed, style)}"
    noun = "check" if result.failed == 1 else "checks"
    return f": {result.failed:,} {noun}" if result.failed else ""


def _join_some(names: Sequence[str], count: int, style: TextStyle) -> str:
    """Join the first of `count` untrusted names, and count the rest."""
    shown = [style.name(name) for name in names[:_SHOWN_NAMES]]
    more = count - len(shown)
    return join_names([*shown, f"{more:,} more"] if more > 0 else shown)


def list_checklist(verdict: PatchVerdict, limit: int, style: TextStyle = MARKDOWN) -> Iterator[str]:
    """Yield the graded lines of a patch's checklist, the unmet ones first, of `limit` characters in all."""
    order = [RubricMark.NOT_MET, RubricMark.CANNOT_TELL, RubricMark.MET]
    for graded in sorted(verdict.rubric, key=lambda graded: order.index(graded.mark)):
        note = f" ({style.line(graded.note, _LINE_CHARACTERS)})" if graded.note else ""
        word = _MARKS[graded.mark]
        mark = style.strong(word) if graded.mark is RubricMark.NOT_MET else word
        line = f"{mark}: {style.line(graded.line.text, _LINE_CHARACTERS)}{note}"
        limit -= len(line)
        if limit < 0:
            return
        yield line


def _capitalize(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
