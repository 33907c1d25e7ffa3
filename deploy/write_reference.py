"""Write the reference pages of `docs/` from the code: `python -m deploy.write_reference`, or `make docs`.

A test compares the pages with this module's output, so a change of the code that forgets them fails `make check`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from app.settings.repo_config import FILE
from deploy.reference.commands import (
    UNCOMPLETED,
    describe_comments,
    describe_exit_codes,
    describe_shell,
)
from deploy.reference.database import describe_tables
from deploy.reference.environment import describe_environment
from deploy.reference.library import describe_library
from deploy.reference.metrics import describe_metrics
from deploy.reference.settings import describe_repository, describe_settings

DOCS: Final = Path(__file__).parents[1] / "docs"
NOTE: Final = "`make docs` writes this page from the code. Do not edit it."


def build_overview() -> str:
    """`docs/reference.md`: links to the long lists, and the short lists themselves."""
    return _join(
        f"# Reference\n\n{NOTE}\n",
        "- [Commands of the shell](reference-commands.md): each command of `r4p` with its options\n"
        "- [Settings of the bot](reference-settings.md): each `R4P_…` variable\n"
        "- [Settings of a repository](#settings-of-a-repository)\n"
        "- [Commands that people write on GitHub](#commands-that-people-write-on-github)\n"
        "- [Metrics](#metrics)\n"
        "- [Exit codes](#exit-codes)\n"
        "- [Database](reference-database.md): each table and column\n"
        "- [Python](reference-python.md): each public name of `import model`\n",
        "The [glossary](glossary.md) explains the words. [Deployment](deployment.md) and [operations](operations.md) show how the settings fit together.\n",
        "## Settings of a repository\n",
        f"A repository keeps them in `{FILE}` on its default branch.\n",
        describe_repository(),
        "## Commands that people write on GitHub\n",
        describe_comments(),
        "## Metrics\n",
        "The web process answers them on its second port at `/metrics` ([monitoring](operations.md#monitoring)). Metrics with a star come "
        "from the database: they cover all workers, and every web process answers the same. The others are the web process's own.\n",
        describe_metrics(),
        "## Exit codes\n",
        describe_exit_codes(),
    )


def build_commands() -> str:
    """`docs/reference-commands.md`."""
    return _join(
        f"# Commands of the shell\n\n{NOTE} The [exit codes](reference.md#exit-codes) are the same for all commands. "
        "`r4p --install-completion` lets your shell complete commands when you press TAB, and options, too. Only the options of "
        f"{', '.join(f'`{path}`' for path in UNCOMPLETED[:-1])} and `{UNCOMPLETED[-1]}` are not completed: these commands load them when they run.\n",
        *describe_shell(),
    )


def build_settings() -> str:
    """`docs/reference-settings.md`."""
    return _join(
        f"# Settings of the bot\n\n{NOTE}\n",
        "Each process reads only the settings of its own work. Before it starts, it lists every mistake with the variable, the "
        "value and the fix, and ends with exit code 2. An unknown `R4P_…` name is a mistake, too.\n",
        *describe_settings(),
    )


def build_database() -> str:
    """`docs/reference-database.md`."""
    return _join(
        f"# Database\n\n{NOTE}\n",
        "The bot keeps its state in PostgreSQL. Read the tables as you like, and let only the bot write them: their columns may "
        "change with each version. [Privacy](privacy.md) says how long the rows stay.\n",
        *describe_tables(),
    )


def build_library() -> str:
    """`docs/reference-python.md`."""
    return _join(
        f"# Python\n\n{NOTE} [Library](library.md) shows examples.\n",
        "These are all public names of `import model`. Everything else may change without notice.\n",
        *describe_library(),
    )


def build_environment() -> str:
    """`deploy/settings.env.example`."""
    return _join(*describe_environment())


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "reference.md": build_overview,
    "reference-commands.md": build_commands,
    "reference-settings.md": build_settings,
    "reference-database.md": build_database,
    "reference-python.md": build_library,
    "../deploy/settings.env.example": build_environment,
}
"""The files that this module writes, by their path from `docs/`."""


def write() -> None:
    """Replace the pages by what the code says today."""
    for name, build in PAGES.items():
        (DOCS / name).write_text(build(), encoding="utf-8")


def _join(*parts: str) -> str:
    return "\n".join(parts)


if __name__ == "__main__":
    write()
