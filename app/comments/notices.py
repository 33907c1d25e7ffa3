"""What a reader of any answer should know: links that were not read, settings that can't be used (pure)."""

from app.comments.check_run import CheckText
from app.comments.phrases import one_line
from app.policy.commands import PREFIX
from app.settings.repo_config import FILE, ConfigError
from app.values.identifiers import CommitSha

CONFIG_CHECK_NAME = "r4p/config"

LINKS_NOTE = (
    "Not every link to this issue was looked at: it has more than 250 closing references or "
    f"500 mentions. If a pull request is missing here, `{PREFIX} group add #N` brings it in."
)

_PROBLEMS_AT_MOST = 20


def config_note(problem: str) -> str:
    """What is wrong with the file on the default branch, in one line of a larger answer."""
    said = one_line(problem, 500)
    return f"`{FILE}` can't be used, so the last good settings hold: {said}."


def config_check(error: ConfigError, path: str, head: CommitSha) -> CheckText:
    """The failing check on a pull request that would break the file: what is wrong, and what would hold."""
    problems = len(error.problems)
    return CheckText(
        name=CONFIG_CHECK_NAME,
        head=head,
        conclusion="failure",
        title=f"{path} can't be used: {problems} problem{'' if problems == 1 else 's'}",
        summary=_broken(error, path),
        details_url=None,
        buttons=(),
    )


def _broken(error: ConfigError, path: str) -> str:
    shown = error.problems[:_PROBLEMS_AT_MOST]
    lines = [f"- {one_line(str(problem), 500)}" for problem in shown]
    rest = len(error.problems) - len(shown)
    if rest:
        lines.append(f"- and {rest} more")
    return "\n\n".join(
        [
            f"**`{path}` can't be used.** Merged like this, the last good settings stay in force.",
            "\n".join(lines),
        ]
    )
