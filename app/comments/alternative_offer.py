"""Texts about alternatives: their author, what is untested, and the best one as a diff (pure)."""

from collections.abc import Iterator

from app.comments.phrases import (
    REFUSALS,
    describe_coverage,
    explain_not_judged,
    format_percent,
    join_names,
)
from app.comments.views import AlternativesStatus, AlternativeView, VerdictView
from app.policy.alternative_policy import choose_best, format_alternative_id
from app.values.quoting import fence_code, is_copyable, quote_phrase
from model.domain import Verdict

_REASON_LIMIT = 300


def describe_author(alternative: AlternativeView) -> str:
    """Return an alternative's agent, model and number of steps as Markdown for a table cell."""
    steps = "1 step" if alternative.steps == 1 else f"{alternative.steps} steps"
    origin = (
        f", after {format_alternative_id(alternative.second_to)} with feedback"
        if alternative.second_to
        else ""
    )
    return f"**the bot**: {quote_phrase(alternative.agent, 60)}, {quote_phrase(alternative.model, 100)}, {steps}{origin}"


def list_notes(view: VerdictView) -> Iterator[str]:
    """Yield notes about the alternatives of a verdict: who wrote them, which were not judged, why one is missing.

    A reader of the verdict comment needs them before using its table.
    """
    if view.alternatives:
        yield _describe_provenance(view)
    for alternative in view.alternatives:
        name, verdict = format_alternative_id(alternative.number), alternative.verdict
        if verdict.verdict is Verdict.NOT_JUDGED:
            yield f"The bot did not judge {name}: {quote_phrase(explain_not_judged(verdict), _REASON_LIMIT)}."
        elif not verdict.coverage.is_whole:
            seen = describe_coverage(verdict.coverage, has_model=view.has_model)
            yield f"The bot judged only a part of {name}: {seen}."
    if view.no_alternative is not None:
        more = "further alternative" if view.alternatives else "alternative"
        yield f"No {more}: {REFUSALS[view.no_alternative]}."


def _describe_provenance(view: VerdictView) -> str:
    """Warn that alternatives are not a contributor's tested work."""
    written = [patch for patch in view.alternatives if patch.model == view.engine.model]
    names = join_names(format_alternative_id(patch.number) for patch in view.alternatives)
    several = len(view.alternatives) > 1
    origin = f"The bot's own agent wrote {names}. It read the code and ran nothing"
    if not all(map(_is_tested, view.alternatives)):
        origin += f", so {'they are' if several else names + ' is'} untested"
    judge = ". The same model wrote and judged" if written else ""
    return f"{origin}{judge}."


def _is_tested(alternative: AlternativeView) -> bool:
    evidence = alternative.verdict.evidence
    return evidence is not None and evidence.regression is not None


def offer_best(view: VerdictView, limit: int) -> str:
    """Return Markdown that offers the best correct alternative: its folded diff, or the reason why it is not shown.

    `limit` is the most characters of the diff. The text is empty if no alternative is correct, or if the model is only
    good for a demonstration.
    """
    chosen = (
        None
        if view.is_demonstration
        else choose_best(alternative.verdict for alternative in view.alternatives)
    )
    if chosen is None:
        return ""
    best = next(patch for patch in view.alternatives if patch.verdict.id == chosen)
    opening = (
        f"`/r4p open {chosen}` opens {chosen} as a draft pull request." if view.may_open else ""
    )
    return "\n\n".join(filter(None, (_show_diff(best, limit), opening)))


def _show_diff(alternative: AlternativeView, limit: int) -> str:
    name = format_alternative_id(alternative.number)
    if not is_copyable(alternative.diff):
        return f"The diff of {name} is not shown: it holds characters that copying would change."
    if len(alternative.diff) > limit:
        return f"The diff of {name} is not shown: {len(alternative.diff):,} characters are too many for this comment."
    return _fold(alternative)


def _fold(alternative: AlternativeView) -> str:
    name = format_alternative_id(alternative.number)
    probability = alternative.verdict.probability
    chance = "" if probability is None else f", probability correct {format_percent(probability)}"
    untested = "" if _is_tested(alternative) else "; untested"
    file = f"{name}.diff"
    how = (
        f"The diff is for commit `{alternative.base}`. Read it first. Then copy the second block into a file `{file}`, and "
        "run this in a checkout of that commit:"
    )
    blocks = [
        f"<details>\n<summary>{name} as a diff (judged correct{chance}{untested})</summary>",
        how,
        fence_code(f"git apply --check {file} && git apply {file}\n", "console"),
        fence_code(alternative.diff, "diff"),
        "</details>",
    ]
    return "\n\n".join(blocks)


def list_status(status: AlternativesStatus) -> str:
    """Return an issue's alternatives, attempts, cost and last failure as a Markdown list, for `/r4p status`."""
    names = (
        join_names(map(format_alternative_id, status.alternatives))
        if status.alternatives
        else "none"
    )
    running = f", {status.running} in progress" if status.running else ""
    spent, budget = status.spent, status.budget
    lines = [
        f"Alternatives by the bot: {names}{running}.",
        f"Used today: {spent.tokens:,} of {budget.tokens:,} tokens, {spent.seconds:,.0f} of {budget.seconds:,} s.",
    ]
    if status.last_failure is not None:
        lines.append(f"The last attempt failed: {REFUSALS[status.last_failure]}.")
    return "\n".join(f"- {line}" for line in lines)
