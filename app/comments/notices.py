"""What the bot says unasked beside verdicts: that a configuration can't be used (pure)."""

from app.comments.checks import CheckText
from app.comments.hidden import config_marker
from app.comments.words import one_line
from app.identifiers import CommitSha
from app.repo_config import ConfigError

CONFIG_CHECK_NAME = "r4p/config"

_PROBLEMS_AT_MOST = 20


def config_notice(error: ConfigError, path: str) -> str:
    """Tells maintainers what is wrong with the file, and what holds until it is mended."""
    return f"{config_marker()}\n{_broken(error, path)}\n"


def config_check(error: ConfigError, path: str, head: CommitSha) -> CheckText:
    """The failing check on a pull request that would break the configuration."""
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
            f"**`{path}` can't be used.** Until it is mended, the last good settings hold.",
            "\n".join(lines),
            "`r4p config validate` checks the file before it is pushed.",
        ]
    )
