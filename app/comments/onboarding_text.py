"""The pull request that sets the bot up in a repository: its title, its description and the settings file (pure)."""

import textwrap
from typing import Final

from app.policy.commands import PREFIX
from app.settings.config_layers import write_value
from app.settings.repo_config import FILE, WITHOUT_FILE, Mode, RepoConfig

ONBOARDING_TITLE: Final = "Set up R4P bot"
_WRITTEN: Final = frozenset({"version", "mode"})
"""Keys that the file sets. The others stand in comments."""
_EXAMPLES: Final = {"tests": "{command: pytest -q, environment: py311}"}
"""Values to show for keys that have no default."""
_COLUMNS: Final = 98


def write_onboarding_file() -> str:
    """Return a `.github/r4p.yml` that publishes verdicts.

    Every further key stands in a comment beside its default, or beside an example if it has none.
    """
    head = [
        f"# Settings of R4P bot. The bot reads this file from the default branch. `{PREFIX} config` in a comment",
        "# on an issue lists the settings in force. A key in a comment below shows its default.",
        f"# These keys have no default, and their comments show an example: {', '.join(_EXAMPLES)}.",
        "version: 1",
        "",
        *_write_meaning("mode"),
        f"mode: {Mode.ADVISORY.value}",
    ]
    return "\n".join([*head, *_list_defaults(), ""])


def _list_defaults() -> list[str]:
    lines = []
    for key in RepoConfig.model_fields:
        if key not in _WRITTEN:
            value = _EXAMPLES.get(key) or write_value(getattr(WITHOUT_FILE, key))
            lines += ["", *_write_meaning(key), f"# {key}: {value}"]
    return lines


def _write_meaning(key: str) -> list[str]:
    meaning = RepoConfig.model_fields[key].description or ""
    wrapped = textwrap.wrap(" ".join(meaning.split()), _COLUMNS)
    return [f"# {line}" for line in wrapped]


def write_onboarding_body() -> str:
    """Return the description of the setup pull request in Markdown. It quotes no text from other people."""
    return f"""R4P bot is installed on this repository, and it works in **shadow mode**: it judges, and publishes only
answers to commands. This pull request adds `{FILE}`. Merge it if the bot may publish its verdicts.

### What the bot does

- When an issue has two or more open pull requests, the bot compares them. It judges each one as correct, incorrect or unsure.
- It writes one comment on the issue and one check run on each pull request. With `mode: {Mode.ADVISORY.value}` no check fails.
- It does not merge, close, approve or change a pull request.

### What the bot reads

- Issues and pull requests: their texts, diffs and commits, reviews, reactions and checks.
- The git objects of the default branch and of the pull requests. It does not run their code, unless you set `tests`.
- Afterwards, what became of each pull request. With `training: off`, the default, nothing is learnt from it.

### What you can do

| you | the bot |
| --- | --- |
| merge this pull request | publishes verdicts by the settings in the file |
| change the file here first | follows the changed file after the merge |
| leave this pull request open | stays in shadow mode |
| close it | stays in shadow mode and never asks again; you can add the file at any time |

To remove the bot, uninstall the GitHub App.

### Ask for a verdict

Write `{PREFIX} verify` in a comment on an issue, or on one of its pull requests. This also works in shadow mode. `{PREFIX} help` lists
all commands.
"""
