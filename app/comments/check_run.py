"""The check run on each pull request: one word, and where to read more (pure)."""

from dataclasses import dataclass

from app.comments.phrases import (
    CHECK_NAME,
    VERDICTS,
    agreement,
    coverage,
    listed,
    one_line,
    probability,
    probably,
    quotation,
    why_not_judged,
    why_unsure,
)
from app.comments.views import Row, VerdictView
from app.policy.commands import Button
from app.settings.repo_config import Mode
from app.values.identifiers import CommitSha
from app.values.quoting import phrase
from model.domain import Verdict, VoteCount

_REASON_LIMIT = 8_000
_TITLE_LIMIT = 200


@dataclass(frozen=True, slots=True)
class ButtonText:
    """A button as GitHub wants it: label and identifier of 20 characters at most, description of 40."""

    identifier: Button
    label: str
    description: str


BUTTONS = (
    ButtonText(Button.VERIFY, "Re-verify", "Judge this issue's patches again"),
    ButtonText(Button.AGREE, "Verdict right", "Teach the bot that it was right"),
    ButtonText(Button.DISAGREE, "Verdict wrong", "Teach the bot that it was wrong"),
)
"""GitHub shows three at most."""


@dataclass(frozen=True, slots=True)
class CheckText:
    """What our check run on one head says."""

    name: str
    head: CommitSha
    conclusion: str
    """`success`, `neutral`, `failure` or `skipped`."""
    title: str
    """Begins with the verdict, for neutral and skipped checks count as passed."""
    summary: str
    details_url: str | None
    buttons: tuple[ButtonText, ...]


def check_run(view: VerdictView, row: Row, comment_url: str | None = None) -> CheckText:
    """The check run for one row; `comment_url` is where the whole verdict stands."""
    return CheckText(
        name=CHECK_NAME,
        head=row.head,
        conclusion=_conclusion(row.verdict.verdict, view.mode),
        title=_title(view, row)[:_TITLE_LIMIT],
        summary=_summary(view, row, comment_url),
        details_url=comment_url,
        buttons=BUTTONS,
    )


def _conclusion(verdict: Verdict, mode: Mode) -> str:
    match verdict:
        case Verdict.CORRECT:
            return "success"
        case Verdict.INCORRECT if mode is Mode.ENFORCE:
            return "failure"
        case Verdict.NOT_JUDGED:
            return "skipped"
        case _:
            return "neutral"


def _title(view: VerdictView, row: Row) -> str:
    word = VERDICTS[row.verdict.verdict]
    advisory = "" if view.mode is Mode.ENFORCE else " (advisory)"
    if row.verdict.verdict is Verdict.NOT_JUDGED:
        return f"{word}: {_plain(why_not_judged(row.verdict))}"
    model = ", demonstration model" if view.is_demonstration else ""
    known = row.verdict.probability
    chance = "" if known is None else f", probability correct {probability(known)}"
    return f"{word}: {_ground(row, view)}{chance}{model}{advisory}"


def _ground(row: Row, view: VerdictView) -> str:
    """What the verdict rests on."""
    verdict = row.verdict
    if not view.has_model:
        return "features of the group compared, no language model"
    if verdict.votes == VoteCount():
        return f"by {view.verifier}, without votes"
    if not verdict.votes.valid:
        return "no vote could be read"
    if verdict.verdict is Verdict.UNSURE:
        return f"votes {agreement(verdict)}"
    return f"{agreement(verdict)} votes agree"


def _plain(text: str) -> str:
    """A title is no Markdown, so what would be escaped there is left as it is, on one line."""
    return " ".join(text.split())


def _summary(view: VerdictView, row: Row, comment_url: str | None) -> str:
    verdict = row.verdict
    commit = f"`{row.head[:7]}`"
    if verdict.verdict is Verdict.NOT_JUDGED:
        said = f"Commit {commit} was not judged: {phrase(why_not_judged(verdict), 1_000)}."
    else:
        said = (
            f"Commit {commit}: **{VERDICTS[verdict.verdict]}**, {_ground(row, view)}; "
            f"{probably(verdict, view.history)}; "
            f"{coverage(verdict.coverage, has_model=view.has_model)}.\n\n"
            f"{quotation(verdict.reason, _REASON_LIMIT)}"
        )
    unsure = why_unsure([verdict], has_model=view.has_model, history=view.history)
    judged = f"Judged by `{one_line(view.verifier, 100)}`{_beside(view)}."
    is_judged = verdict.verdict is not Verdict.NOT_JUDGED
    link = f"[The whole verdict]({comment_url})" if comment_url else ""
    blocks = [said, unsure, judged if is_judged else "", link]
    return "\n\n".join(block for block in blocks if block)


def _beside(view: VerdictView) -> str:
    """The rivals."""
    rivals, ours = len(view.rows) - 1, len(view.alternatives)
    named = [f"{rivals} other pull request{'' if rivals == 1 else 's'}"] if rivals else []
    named += [f"{ours} alternative{'' if ours == 1 else 's'} by the bot"] if ours else []
    return f" beside {listed(named)}" if named else ""
