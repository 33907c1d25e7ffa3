"""Output of the commands for people: the progress on stderr, verdicts and metrics on stdout."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from model import catalog
from model.catalog import EngineChoice
from model.commands.exit_codes import STDERR
from model.domain import GradedLine, GroupVerdict, PatchVerdict, Verdict
from model.evaluation.report.paper_results import CEILING
from model.prompts.untrusted import escape_invisible
from model.rivals.difference_text import write_sentences
from model.verdict_json import Calibration
from model.verifiers import judge_prompts
from model.voting.verdict_summary import sort_by_verdict, summarise_verdicts

_COLOURS = {
    Verdict.CORRECT: "green",
    Verdict.INCORRECT: "red",
    Verdict.UNSURE: "yellow",
    Verdict.NOT_JUDGED: "bright_black",
}

_WITHOUT_MODEL = {
    "consensus": "consensus compared the patches, fitted on all issues with labels",
    "regression": "tests ran on the base and on each patch",
    "execution": "tests ran on the base and on each patch",
}


@contextmanager
def show_progress(
    total: int | None = None,
) -> Iterator[tuple[Callable[[str], None], Callable[[int], None]]]:
    """Show a command's progress on a terminal: the current step and, with `total`, a bar. In a file, show nothing.

    Yields a function that shows a step's text, and a function that shows how many of `total` items are finished.
    """
    step, elapsed = TextColumn("{task.description}"), TimeElapsedColumn()
    counted = (step, BarColumn(), MofNCompleteColumn(), elapsed, TimeRemainingColumn())
    columns = counted if total is not None else (SpinnerColumn(), step, elapsed)
    shown = STDERR.is_terminal
    with Progress(*columns, console=STDERR, transient=True, disable=not shown) as bar:
        task = bar.add_task("starting", total=total)
        yield (
            lambda text: bar.update(task, description=escape_invisible(text)),
            lambda done: bar.update(task, completed=done),
        )


def report_loading(choice: EngineChoice, say: Callable[[str], None]) -> EngineChoice:
    """Return a copy of an engine choice that passes each step of the engine's loading to `say`, as text."""
    return replace(choice, on_step=lambda step, done, _total: say(f"{step} {done or ''}"))


def print_verdict(verdict: GroupVerdict, calibration: Calibration | None = None) -> None:
    """Print a group's verdicts on stdout: a headline, a table, the reason of each verdict, and the cost of the votes.

    The patches are sorted by verdict and probability. `calibration` says what the probabilities rest on.
    """
    out = Console(highlight=False, markup=False)
    patches = sort_by_verdict(verdict.patches)
    verdicts = {escape_invisible(patch.id): patch.verdict for patch in patches}
    headline = summarise_verdicts(verdicts, f"{len(patches)} patches")
    out.print(Text(f"R4P verdict: {headline}", style="bold"))
    out.print(_build_table(patches, has_votes=verdict.asked > 0))
    for sentence in write_sentences(verdict.differences, str, "`{}`".format):
        out.print(Text(escape_invisible(sentence)))
    for patch in patches:
        out.print(Text(escape_invisible(f"{patch.id}: {patch.reason}")))
        for graded in patch.rubric:
            out.print(Text(f"  {_describe_line(graded)}"))
    if calibration and any(patch.probability is not None for patch in patches):
        kind = "benchmark issues (packaged prior)" if calibration.origin else "earlier issues"
        out.print(Text(f"probabilities: from the outcomes of {calibration.issues} {kind}"))
    out.print(Text(_describe_cost(verdict)))


def _build_table(patches: Sequence[PatchVerdict], *, has_votes: bool) -> Table:
    """Build the table of verdicts. Only the names of the patches wrap, so that the headings stay whole at 80 columns."""
    votes = ("votes for", "against", "none") if has_votes else ()
    weighed = any(patch.probability is not None for patch in patches)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("patch", overflow="fold")
    names = ("verdict", *votes, "files seen", "score", *["probability"] * weighed)
    for name in names:
        table.add_column(name, no_wrap=True)
    for patch in patches:
        counts = (patch.votes.correct, patch.votes.incorrect, patch.votes.none)
        table.add_row(
            Text(escape_invisible(patch.id)),
            Text(patch.verdict.value.replace("_", " "), style=_COLOURS[patch.verdict]),
            *(str(count) for count in counts[: len(votes)]),
            f"{patch.coverage.files_seen} of {patch.coverage.files}",
            *(_format(value, 2) for value in (patch.score, patch.probability)[: 1 + weighed]),
        )
    return table


def _describe_line(graded: GradedLine) -> str:
    """Describe a graded line of a checklist: mark, weight, text and note."""
    note = f" ({graded.note})" if graded.note else ""
    mark = graded.mark.value.replace("_", " ")
    return escape_invisible(f"{mark:<12}weight {graded.line.weight}: {graded.line.text}{note}")


def _describe_cost(verdict: GroupVerdict) -> str:
    """Describe which engine was asked and what it cost."""
    parts = verdict.engine.name.split(" + ")
    if catalog.ENGINELESS_VERIFIERS.issuperset(parts):
        ways = [_WITHOUT_MODEL[part] for part in parts]
        return f"no model was asked: {', and '.join(ways)}"
    spared = f" ({verdict.spared} more could change nothing)" if verdict.spared else ""
    count = verdict.count_forced_votes()
    forced = f" ({count} only when asked again)" if count else ""
    fingerprint = verdict.engine.prompt_fingerprint
    prompt = judge_prompts.find_prompt_name(fingerprint) or fingerprint
    return (
        f"{verdict.engine.model}, prompt {prompt}: {verdict.valid} of {verdict.asked} votes read{forced}{spared}, "
        f"{verdict.tokens.prompt:,} + {verdict.tokens.completion:,} tokens, {verdict.total_seconds:.1f} s"
    )


def print_evaluation(document: dict[str, Any]) -> None:
    """Print an `r4p.evaluate/1` document on stdout: a table of metrics beside constant baselines, and the speed."""
    out = Console(highlight=False, markup=False)
    baselines = document["constant_baselines"] | {"majority": document["majority"] or {}}
    names = (name.replace("_", " ") for name in baselines)
    table = Table("metric", "value", "95 % interval", *names, box=SIMPLE_HEAD, padding=0)
    for name, metric in document.items():
        if isinstance(metric, dict) and "low" in metric:
            beside = [base.get(name) for base in baselines.values()]
            table.add_row(
                name.replace("_", " "),
                _format(metric["value"], 3),
                _format_interval(metric),
                *(_format(base["value"], 3) if base else "" for base in beside),
            )
    out.print(table)
    seconds, engine = document["seconds_per_patch"], document["engine"]
    out.print(
        escape_invisible(
            f"{document['verifier']} with {engine['model']}: {document['groups']} groups of "
            f"{document['issues']} issues, {document['patches']} patches, "
            f"{seconds['mean']:.3g} s a patch (p50 {seconds['p50']:.3g}, p95 {seconds['p95']:.3g})"
        )
    )
    out.print(CEILING)
    for kind, tests in document.get("tests", {}).items():
        out.print(_describe_tests(kind, tests))
    if document["pair_accuracy"]:
        out.print(_describe_pairs(document))


def _describe_tests(kind: str, tests: dict[str, Any]) -> str:
    """Say how much the tests of one kind tell about the patches, with 95 % intervals."""
    rates = [
        f"{name} {_format(tests[name]['value'], 3)} ({_format_interval(tests[name])})"
        for name in ("distinguishability", "toxicity")
    ]
    return f"{kind} tests, {tests['tests']:,} in {tests['groups']} groups: {', '.join(rates)}"


def _describe_pairs(document: dict[str, Any]) -> str:
    """Say which pairs `pair_accuracy` is about. A coin reaches 0.5 on any."""
    if document["patches"] == 2 * document["groups"]:
        return "pair accuracy is that of R4P, section 5.2, figure 3 (b): each pair judged alone; a coin reaches 0.500"
    return (
        "pair accuracy compares ranks within whole groups; --pairs judges each pair alone, as R4P does (section 5.2, "
        "figure 3 (b)); a coin reaches 0.500"
    )


def _format_interval(estimate: dict[str, Any]) -> str:
    return f"{_format(estimate['low'], 3)} … {_format(estimate['high'], 3)}"


def _format(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
