"""Notes for any reply: links that the bot did not read, and settings that it cannot use (pure)."""

from collections.abc import Sequence

from app.comments.check_run import CheckText
from app.comments.markers import format_notice_marker
from app.comments.phrases import join_names, quote_line
from app.comments.views import SuiteState, SuiteStatus
from app.policy.commands import PREFIX
from app.settings.repo_config import FILE, ConfigError
from app.values.identifiers import CommitSha, PullNumber

CONFIG_CHECK_NAME = "r4p/config"

LINKS_NOTE = (
    "The bot did not read all links of this issue, because it has more than 250 closing references or "
    f"500 mentions. If a pull request is missing here, add it with `{PREFIX} group add #N`."
)

MOVED_NOTE = (
    "The votes are about earlier commits. Later commits change only blank lines, comments or the base, so the verdict "
    f"moved to them. `{PREFIX} verify` adds votes."
)

_PROBLEMS_AT_MOST = 20
_NAMED_AT_MOST = 10


def write_early_notice(group: int, pulls: Sequence[PullNumber]) -> str:
    """Return the comment that several pull requests claim the issue of `group`. It judges nothing."""
    names = join_names(f"#{number}" for number in pulls[:_NAMED_AT_MOST])
    more = len(pulls) - _NAMED_AT_MOST
    named = f"{names} and {more} more" if more > 0 else names
    return (
        f"{format_notice_marker(group)}\n"
        f"{named} are open for this issue, and each claims to resolve it. Their authors may want to look at each "
        "other's work before they go on. This note judges nothing.\n\n"
        f"`{PREFIX} verify` asks the bot to compare them, and `{PREFIX} status` shows how far it is.\n"
    )


def write_suite_note(tests: SuiteStatus) -> str:
    """Return one line about the repository's tests: how far they are, or why they say nothing."""
    match tests.state:
        case SuiteState.WAITING:
            return "The repository's tests wait for a worker."
        case SuiteState.RUNNING:
            return f"The repository's tests are running: {quote_line(tests.detail, 100)}."
        case SuiteState.UNKNOWN:
            why = quote_line(tests.detail, 300)
            return f"There is no evidence from the repository's tests: {why}."
    flaky = f" {tests.flaky:,} more are flaky there and do not count." if tests.flaky else ""
    noun = "test" if tests.written == 1 else "tests"
    written = f" {tests.written:,} {noun} written for the issue ran too." if tests.written else ""
    return f"The repository's tests ran: {tests.expected:,} pass on the base.{flaky}{written}"


def write_config_note(problem: str) -> str:
    """Return one line about `problem`, the error in the settings file `.github/r4p.yml` on the default branch."""
    text = quote_line(problem, 500)
    return f"The bot can't use `{FILE}` and keeps the last good settings: {text}."


def write_config_check(error: ConfigError, path: str, head: CommitSha) -> CheckText:
    """Return the failing check run for a pull request that would break the settings file, ready to send.

    `path` is the file, and `head` is the pull request's commit.
    """
    problems = len(error.problems)
    return CheckText(
        name=CONFIG_CHECK_NAME,
        head=head,
        conclusion="failure",
        title=f"The bot can't use {path}: {problems} problem{'' if problems == 1 else 's'}",
        summary=_list_problems(error, path),
        details_url=None,
        buttons=(),
    )


def _list_problems(error: ConfigError, path: str) -> str:
    shown = error.problems[:_PROBLEMS_AT_MOST]
    lines = [f"- {quote_line(str(problem), 500)}" for problem in shown]
    rest = len(error.problems) - len(shown)
    if rest:
        lines.append(f"- and {rest} more")
    return "\n\n".join(
        [
            f"**The bot can't use `{path}`.** If you merge it like this, the bot keeps the last good settings.",
            "\n".join(lines),
        ]
    )
