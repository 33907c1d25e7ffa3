"""What is told of patches by our own agent: whose they are, what was not done to them, the best one as a diff (pure)."""

from collections.abc import Iterator

from app.comments.phrases import VERDICTS, WHY_NOT, coverage, listed, probability, why_not_judged
from app.comments.views import AlternativeView, VerdictView
from app.policy.alternative_policy import alternative_id, best
from app.values.quoting import fenced, is_copyable, phrase
from model.domain import Verdict

_REASON_LIMIT = 300


def count(view: VerdictView) -> str:
    """How many are correct, for a headline."""
    verdicts = [one.verdict.verdict for one in view.alternatives]
    if len(verdicts) == 1:
        return f"1 alternative by the bot: {VERDICTS[verdicts[0]].lower()}"
    correct = verdicts.count(Verdict.CORRECT)
    return f"{correct or 'none'} of {len(verdicts)} alternatives by the bot judged correct"


def author(one: AlternativeView) -> str:
    """Who wrote it and in how many steps, for a cell of a table."""
    steps = "1 step" if one.steps == 1 else f"{one.steps} steps"
    second = f", after {alternative_id(one.second_to)} with a hint" if one.second_to else ""
    return f"**ours**: {phrase(one.agent, 60)}, {phrase(one.model, 100)}, {steps}{second}"


def notes(view: VerdictView) -> Iterator[str]:
    """What a reader should know of them before relying on the table."""
    if view.alternatives:
        yield _provenance(view)
    for one in view.alternatives:
        name, verdict = alternative_id(one.number), one.verdict
        if verdict.verdict is Verdict.NOT_JUDGED:
            yield f"{name} was not judged: {phrase(why_not_judged(verdict), _REASON_LIMIT)}."
        elif verdict.coverage.files_seen < verdict.coverage.files:
            seen = coverage(verdict.coverage, has_model=view.has_model)
            yield f"{name} was judged in part: {seen}."
    if view.no_alternative is not None:
        more = "further alternative" if view.alternatives else "alternative"
        yield f"No {more}: {WHY_NOT[view.no_alternative]}."


def _provenance(view: VerdictView) -> str:
    """No one should take these for a contributor's tested work."""
    written = [one for one in view.alternatives if one.model == view.engine.model]
    names = listed(alternative_id(one.number) for one in view.alternatives)
    several = len(view.alternatives) > 1
    said = (
        f"{names} {'are' if several else 'is'} by the bot's own agent, which read the code and ran nothing of it: "
        f"{'they are' if several else 'it is'} untested"
    )
    judge = ", and the model that wrote also judged" if written else ""
    return f"{said}{judge}."


def offer(view: VerdictView, limit: int) -> str:
    """The best alternative that was judged correct, folded, to be copied; or why its diff is not shown.

    `limit` is the most characters of a diff. The demonstration model's word is not enough to offer anything.
    """
    chosen = None if view.is_demonstration else best(one.verdict for one in view.alternatives)
    if chosen is None:
        return ""
    one = next(each for each in view.alternatives if each.verdict.id == chosen)
    opening = (
        f"`/r4p open {chosen}` opens {chosen} as a draft pull request." if view.may_open else ""
    )
    return "\n\n".join(filter(None, (_diff(one, limit), opening)))


def _diff(one: AlternativeView, limit: int) -> str:
    name = alternative_id(one.number)
    if not is_copyable(one.diff):
        return f"{name}'s diff is not shown: it holds characters that would not survive being copied from here."
    if len(one.diff) > limit:
        return f"{name}'s diff is not shown: {len(one.diff):,} characters don't fit in here."
    return _folded(one)


def _folded(one: AlternativeView) -> str:
    name = alternative_id(one.number)
    known = one.verdict.probability
    chance = "" if known is None else f", probability correct {probability(known)}"
    file = f"{name}.diff"
    how = (
        f"It is against commit `{one.base}`. Read it first; then copy the second block into a file `{file}`, and in a "
        "checkout of that commit run:"
    )
    blocks = [
        f"<details>\n<summary>{name} as a diff (judged correct{chance}; untested)</summary>",
        how,
        fenced(f"git apply --check {file} && git apply {file}\n", "console"),
        fenced(one.diff, "diff"),
        "</details>",
    ]
    return "\n\n".join(blocks)
