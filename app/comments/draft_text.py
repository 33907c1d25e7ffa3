"""Texts of draft pull requests, and replies to the people who asked for them (pure)."""

from dataclasses import dataclass

from app.comments.markers import format_draft_marker, format_reply_marker
from app.comments.phrases import VERDICTS
from app.policy.draft_policy import DraftRefusal
from app.settings.repo_config import FILE
from app.values.identifiers import CommandSource, CommitSha, IssueNumber, PullNumber
from app.values.quoting import quote_phrase
from model.domain import PatchId, Verdict

_RIGHTS = "`contents: write` and `pull_requests: write`"

WHY_NOT_OPENED = {
    DraftRefusal.NOT_WANTED: f"this repository does not allow it: set `draft_pull_requests: true` in `{FILE}` on the default branch",
    DraftRefusal.NO_WRITER: "the bot may not write code: its operator must configure a second GitHub App "
    f"(`R4P_WRITER_APP_ID` and `R4P_WRITER_PRIVATE_KEY_PATH`) with {_RIGHTS}",
    DraftRefusal.NOT_INSTALLED: "the bot's second App, which opens pull requests, is not installed on this repository",
    DraftRefusal.NO_RIGHT: f"the bot's second App may not write here: it needs {_RIGHTS}, and it must not be suspended",
    DraftRefusal.BAD_DIFF: "its diff changes files that a patch of the bot may not change",
    DraftRefusal.MOVED: "the code has changed, and the diff does not apply any more; `/r4p propose` asks for a new alternative",
    DraftRefusal.NO_CODE: "the bot could not read the base branch",
    DraftRefusal.BRANCH_TAKEN: "a branch of its name exists that the bot did not make; delete or rename that branch, and ask again",
    DraftRefusal.REFUSED: "GitHub refuses it; the operator's log has the reason",
}


@dataclass(frozen=True, slots=True)
class DraftView:
    """Values for the text of a draft pull request."""

    issue: IssueNumber
    alternative: PatchId
    agent: str
    model: str
    verdict: Verdict | None
    """None: not judged."""
    written_on: CommitSha
    asked_by: str
    comment: str | None
    """URL of the verdict; None: not published."""


def write_draft_title(issue: IssueNumber, alternative: PatchId) -> str:
    """Return the title of the draft pull request for `alternative`. It is also the commit's message.

    It quotes no text from other people and has no closing keyword.
    """
    return f"Alternative {alternative} for issue #{issue}"


def write_draft_body(view: DraftView) -> str:
    """Return the description of a draft pull request in Markdown.

    It mentions the issue without a closing keyword, because the bot already judges the alternative itself.
    """
    verdict = (
        "The bot has not judged it"
        if view.verdict is None
        else f"Verdict: {VERDICTS[view.verdict]}"
    )
    where = f" ([the verdict]({view.comment}))" if view.comment else ""
    author = f"{quote_phrase(view.agent, 60)}, {quote_phrase(view.model, 100)}"
    untested = (
        f"**Untested.** The bot's own agent ({author}) wrote this patch for #{view.issue}. The agent read the code and ran "
        "nothing. Nobody has run the result."
    )
    origin = (
        f"This is alternative {view.alternative}, written on `{view.written_on}`. "
        f"{quote_phrase(view.asked_by, 60)} asked for this pull request. {verdict}{where}."
    )
    rest = (
        f"The person who marks it as ready is responsible for it. Merging it leaves #{view.issue} open, unless somebody links "
        "the two. The bot does not judge this pull request again and does not learn from its outcome."
    )
    return f"{untested}\n\n{origin}\n\n{rest}\n"


def write_draft_opened_reply(
    asked_in: CommandSource, draft: int, alternative: PatchId, pull: PullNumber
) -> str:
    """Return the reply to `/r4p open`: `alternative` is open now as the draft pull request `pull`.

    `asked_in` is the comment or review with the command, and `draft` is the draft's id in the database.
    """
    text = f"{alternative} is open as a draft pull request: #{pull}. Nobody has tested it."
    return f"{format_draft_marker(draft, asked_in)}\n\n{text}\n"


def write_draft_failed_reply(
    asked_in: CommandSource, draft: int, alternative: PatchId, why: DraftRefusal
) -> str:
    """Return the later reply to an accepted `/r4p open`: the bot could not open the draft, and `why`.

    `asked_in` is the comment or review with the command, and `draft` is the draft's id in the database.
    """
    return f"{format_draft_marker(draft, asked_in)}\n\n{_explain_no_draft(alternative, why)}\n"


def write_draft_refused_reply(
    answers: CommandSource, alternative: PatchId, why: DraftRefusal
) -> str:
    """Return the reply to `/r4p open` in the comment or review `answers`: the bot refuses the command, and `why`."""
    return f"{format_reply_marker(answers)}\n\n{_explain_no_draft(alternative, why)}\n"


def write_draft_exists_reply(answers: CommandSource, alternative: PatchId, pull: PullNumber) -> str:
    """Return the reply to `/r4p open` in the comment or review `answers`: the draft `pull` exists already.

    An alternative never gets a second draft.
    """
    return f"{format_reply_marker(answers)}\n\n{alternative} already has a draft pull request: #{pull}.\n"


def write_own_draft_reply(answers: CommandSource, pull: PullNumber) -> str:
    """Return the reply to `/r4p group add` in the comment or review `answers`: the bot itself opened `pull`."""
    text = f"#{pull} is the bot's own draft of an alternative. The bot already compares that alternative."
    return f"{format_reply_marker(answers)}\n\n{text}\n"


def _explain_no_draft(alternative: PatchId, why: DraftRefusal) -> str:
    return f"No draft pull request of {alternative}: {WHY_NOT_OPENED[why]}."
