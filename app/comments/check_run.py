"""The check run on each pull request: the verdict in one word, and a link to the comment (pure)."""

from dataclasses import dataclass

from app.comments.evidence_text import (
    describe_ground,
    summarize_damage,
    write_differences,
    write_grounds,
)
from app.comments.phrases import (
    CHECK_NAME,
    VERDICTS,
    explain_not_judged,
    explain_unsure,
    format_percent,
    join_names,
    quote_block,
    quote_line,
)
from app.comments.views import VerdictRow, VerdictView
from app.policy.commands import Button
from app.settings.repo_config import Mode
from app.values.identifiers import CommitSha
from app.values.quoting import quote_phrase
from model.domain import Verdict

_REASON_LIMIT = 8_000
_CHECKLIST_LIMIT = 4_000
_TITLE_LIMIT = 200


@dataclass(frozen=True, slots=True)
class ButtonText:
    """A button on a check run: label and identifier have up to 20 characters, the description up to 40."""

    identifier: Button
    label: str
    description: str


BUTTONS = (
    ButtonText(Button.VERIFY, "Re-verify", "Judge this issue's patches again"),
    ButtonText(Button.AGREE, "Verdict right", "Record that the verdict is right"),
    ButtonText(Button.DISAGREE, "Verdict wrong", "Record that the verdict is wrong"),
)
"""GitHub shows at most three."""


@dataclass(frozen=True, slots=True)
class CheckText:
    """Content of the bot's check run on the head commit of one pull request."""

    name: str
    head: CommitSha
    conclusion: str
    """GitHub's word for the result: `success`, `neutral`, `failure` or `skipped`."""
    title: str
    """Begins with the verdict, because GitHub counts neutral and skipped checks as passed."""
    summary: str
    details_url: str | None
    buttons: tuple[ButtonText, ...]


def write_check_run(
    view: VerdictView, row: VerdictRow, comment_url: str | None = None
) -> CheckText:
    """Return the check run for the pull request in `row`, ready to send.

    `comment_url` links to the comment with the whole verdict; None: no link.
    """
    return CheckText(
        name=CHECK_NAME,
        head=row.head,
        conclusion=_choose_conclusion(row.verdict.verdict, view.mode),
        title=_write_title(view, row)[:_TITLE_LIMIT],
        summary=_write_summary(view, row, comment_url),
        details_url=comment_url,
        buttons=BUTTONS,
    )


def _choose_conclusion(verdict: Verdict, mode: Mode) -> str:
    match verdict:
        case Verdict.CORRECT:
            return "success"
        case Verdict.INCORRECT if mode is Mode.ENFORCE:
            return "failure"
        case Verdict.NOT_JUDGED:
            return "skipped"
        case _:
            return "neutral"


def _write_title(view: VerdictView, row: VerdictRow) -> str:
    word = VERDICTS[row.verdict.verdict]
    advisory = "" if view.mode is Mode.ENFORCE else " (advisory)"
    if row.verdict.verdict is Verdict.NOT_JUDGED:
        return f"{word}: {_join_lines(explain_not_judged(row.verdict))}"
    model = ", demonstration model" if view.is_demonstration else ""
    probability = row.verdict.probability
    chance = "" if probability is None else f", probability correct {format_percent(probability)}"
    damage = "".join(f", {fact}" for fact in summarize_damage(row.verdict.evidence))
    ground = describe_ground(row.verdict, view.grounds)
    return f"{word}: {ground}{damage}{chance}{model}{advisory}"


def _join_lines(text: str) -> str:
    """Put the text on one line. GitHub shows titles without Markdown, so nothing needs an escape."""
    return " ".join(text.split())


def _write_summary(view: VerdictView, row: VerdictRow, comment_url: str | None) -> str:
    verdict = row.verdict
    commit = f"`{row.head[:7]}`"
    if verdict.verdict is Verdict.NOT_JUDGED:
        text = f"The bot did not judge commit {commit}: {quote_phrase(explain_not_judged(verdict), 1_000)}."
    else:
        text = (
            f"Commit {commit}: **{VERDICTS[verdict.verdict]}**. What this rests on:\n\n"
            f"{write_grounds(verdict, view.grounds, _CHECKLIST_LIMIT)}\n\n"
            f"{quote_block(verdict.reason, _REASON_LIMIT)}"
        )
    unsure = explain_unsure([verdict], has_model=view.has_model, history=view.history)
    judged = f"Judged by `{quote_line(view.verifier, 100)}`{_name_rivals(view)}."
    is_judged = verdict.verdict is not Verdict.NOT_JUDGED
    link = f"[The whole verdict]({comment_url})" if comment_url else ""
    differences = write_differences(view.differences)
    blocks = [text, unsure, differences, judged if is_judged else "", link]
    return "\n\n".join(block for block in blocks if block)


def _name_rivals(view: VerdictView) -> str:
    """Name the rivals."""
    rivals, own = len(view.rows) - 1, len(view.alternatives)
    names = [f"{rivals} other pull request{'' if rivals == 1 else 's'}"] if rivals else []
    names += [f"{own} alternative{'' if own == 1 else 's'} by the bot"] if own else []
    return f" beside {join_names(names)}" if names else ""
