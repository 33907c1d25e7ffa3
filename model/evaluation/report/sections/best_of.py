"""Section: Best@K where each drawn set of candidates was judged anew (pure)."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from model.evaluation.best_of.best_of_document import BestOfDocument
from model.evaluation.report.content import (
    Figure,
    Part,
    Section,
    Table,
    format_count,
    format_estimate,
)
from model.evaluation.report.drawing import GREY, draw_curves
from model.evaluation.report.paper_results import BEST_OF_NOTE
from model.evaluation.report.series import clean_name
from model.prompts.untrusted import escape_invisible

_TEXT = (
    "Share of issues whose chosen candidate is correct: K candidates of an issue are drawn and "
    "judged by themselves, as R4P does (section 5.2, figure 4). Each issue counts the same. "
    "Random and oracle are those of the same draws. The gain is the difference from random, "
    "within each issue."
)
_CAUTION = (
    "Issues with fewer than K candidates are left out at that K, so a larger K may stand for "
    "fewer and other issues: compare within a row first. A set is unknown where a failed or "
    "unreadable vote leaves the choice open; it counts neither as resolved nor as not resolved."
)
_HEAD = ("K", "issues", "too few", "sets", "unknown", "resolved", "random", "oracle", "gain")


def build_best_of_section(runs: Sequence[tuple[str, BestOfDocument]]) -> Section:
    """Build the report section on re-judged Best@K, with a curve and a table for each run.

    `runs` has, for each run, the name of its file of groups and its document.
    """
    parts = chain.from_iterable(_show_run(number, *run) for number, run in enumerate(runs, 1))
    return Section("best-of", "Best@K, judged anew", (_TEXT, _CAUTION, BEST_OF_NOTE, *parts))


def _show_run(number: int, name: str, document: BestOfDocument) -> Iterator[Part]:
    caption = _build_caption(name, document)
    measured = [point for point in document.points if point.issues]
    curves = [
        (
            clean_name(document.verifier),
            0,
            [(index, point.resolved) for index, point in enumerate(measured)],
        ),
        ("random", GREY, [(index, point.random) for index, point in enumerate(measured)]),
        ("oracle", GREY, [(index, point.oracle) for index, point in enumerate(measured)]),
    ]
    values = "; ".join(f"{format_estimate(point.resolved)} for K = {point.k}" for point in measured)
    yield Figure(
        f"best-of-{number}",
        clean_name(name),
        f"With 95 % intervals by issue. {caption}",
        f"Share of issues resolved on {clean_name(name)}: {values}.",
        partial(
            draw_curves,
            curves,
            ("K", "the chosen patch is correct"),
            ticks=[str(point.k) for point in measured],
        ),
    )
    rows = [
        (*map(str, (point.k, point.issues, point.too_few, point.sets, point.unknown)),
         point.resolved, point.random.value, point.oracle.value, point.gain)
        for point in document.points
    ]  # fmt: skip
    yield Table(caption, _HEAD, rows)
    if document.caution:
        yield f"{clean_name(name)}: {escape_invisible(document.caution)}"


def _build_caption(name: str, document: BestOfDocument) -> str:
    votes = f", {format_count(document.votes, 'vote')}" if document.votes else ""
    judge_name = f"{clean_name(document.verifier)} with {clean_name(document.engine.model)}{votes}"
    counts = f"{format_count(document.issues, 'issue')}, up to {format_count(document.draws, 'draw')} of each"
    return f"{clean_name(name)}: {judge_name}; {counts}."
