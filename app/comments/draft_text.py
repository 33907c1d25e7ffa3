"""What is said of draft pull requests: in them, and to who asked for one (pure)."""

from dataclasses import dataclass

from app.comments.markers import draft_marker, reply_marker
from app.comments.phrases import VERDICTS
from app.policy.draft_policy import NotOpened
from app.settings.repo_config import FILE
from app.values.identifiers import AskedIn, CommitSha, IssueNumber, PullNumber
from app.values.quoting import phrase
from model.domain import PatchId, Verdict

_RIGHTS = "`contents: write` and `pull_requests: write`"

WHY_NOT_OPENED = {
    NotOpened.NOT_WANTED: f"this repository has not asked for it: `draft_pull_requests: true` in `{FILE}` on the default branch does",
    NotOpened.NO_WRITER: "the bot may not write code: its operator has to give it a second GitHub App "
    f"(`R4P_WRITER_APP_ID` and `R4P_WRITER_PRIVATE_KEY_PATH`) with {_RIGHTS}",
    NotOpened.NOT_INSTALLED: "the bot's second App, which opens pull requests, is not installed on this repository",
    NotOpened.NO_RIGHT: f"GitHub does not let the bot's second App write here: it needs {_RIGHTS}, and not to be suspended",
    NotOpened.BAD_DIFF: "its diff changes what a patch of the bot may not change",
    NotOpened.MOVED: "the code has moved on since it was written, and the diff does not apply any more; `/r4p propose` has a new one written",
    NotOpened.NO_CODE: "the branch that it is for could not be read",
    NotOpened.BRANCH_TAKEN: "there is a branch of its name already that is not the bot's; delete or rename that, and ask again",
    NotOpened.REFUSED: "GitHub refuses it; the operator's log says why",
}


@dataclass(frozen=True, slots=True)
class DraftView:
    """What a draft pull request tells of itself."""

    issue: IssueNumber
    alternative: PatchId
    agent: str
    model: str
    verdict: Verdict | None
    """None: nobody judged it."""
    written_on: CommitSha
    asked_by: str
    comment: str | None
    """Where the verdict can be read; None: it was not published."""


def draft_title(issue: IssueNumber, alternative: PatchId) -> str:
    """Also the commit's message. Nothing that a stranger wrote is in it, and no word that closes an issue."""
    return f"Alternative {alternative} for issue #{issue}"


def draft_body(view: DraftView) -> str:
    """It mentions the issue without a keyword: a rival of others it is already, as an alternative."""
    said = "It was not judged" if view.verdict is None else f"Verdict: {VERDICTS[view.verdict]}"
    where = f" ([the verdict]({view.comment}))" if view.comment else ""
    author = f"{phrase(view.agent, 60)}, {phrase(view.model, 100)}"
    untested = (
        f"**Untested.** The bot's own agent ({author}) wrote this for #{view.issue}: it read the code and ran nothing of it, "
        "and nobody has run the result."
    )
    origin = (
        f"It is alternative {view.alternative}, written on `{view.written_on}`, and was opened because "
        f"{phrase(view.asked_by, 60)} asked for it. {said}{where}."
    )
    rest = (
        f"Whoever marks it as ready answers for it. Merging it leaves #{view.issue} open, unless somebody links the two. "
        "The bot does not judge it once more, and does not learn from what becomes of it."
    )
    return f"{untested}\n\n{origin}\n\n{rest}\n"


def opened_reply(asked_in: AskedIn, draft: int, alternative: PatchId, pull: PullNumber) -> str:
    """What was asked for is there."""
    said = f"{alternative} is open as a draft pull request: #{pull}. Nobody has tested it."
    return f"{draft_marker(draft, asked_in)}\n\n{said}\n"


def not_opened_reply(asked_in: AskedIn, draft: int, alternative: PatchId, why: NotOpened) -> str:
    """What was taken up came to nothing."""
    return f"{draft_marker(draft, asked_in)}\n\n{_no_draft(alternative, why)}\n"


def not_opening_reply(answers: AskedIn, alternative: PatchId, why: NotOpened) -> str:
    """`/r4p open` is refused at once."""
    return f"{reply_marker(answers)}\n\n{_no_draft(alternative, why)}\n"


def open_already_reply(answers: AskedIn, alternative: PatchId, pull: PullNumber) -> str:
    """One alternative has one draft, whatever became of it."""
    return f"{reply_marker(answers)}\n\n{alternative} was opened already: #{pull}.\n"


def own_draft_reply(answers: AskedIn, pull: PullNumber) -> str:
    """`/r4p group add` of our own draft."""
    said = f"#{pull} is the bot's own draft of an alternative: it is compared as that, and not once more."
    return f"{reply_marker(answers)}\n\n{said}\n"


def _no_draft(alternative: PatchId, why: NotOpened) -> str:
    return f"No draft pull request of {alternative}: {WHY_NOT_OPENED[why]}."
