"""Open the source of checklists for `r4p verify --verifier rubric`: kept ones, an agent that reads a tree, or the issue."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from model import catalog
from model.commands.index import locate_index
from model.errors import NoCodeGraph, WorkspaceError
from model.protocols import Engine

if TYPE_CHECKING:
    from model.verifiers.reports.rubric_source import RubricSource

UNREADABLE_TREE: Final = (NoCodeGraph, WorkspaceError)
"""Errors of a tree that the agent cannot read."""


@contextmanager
def open_rubrics(
    verifier: str, engine: Engine | None, tree: Path | None, say: Callable[[str], None]
) -> "Iterator[RubricSource | None]":
    """Yield the source of checklists for the verifier `verifier`; None if it writes none.

    An agent reads `tree` first. Without a tree, or if the agent hands nothing in, the issue alone is read. Checklists
    are kept in `~/.cache/r4p/rubrics`. Raises the errors in UNREADABLE_TREE.
    """
    if engine is None or "rubric" not in catalog.parse_verifier_name(verifier):
        yield None
        return
    from model.agents import attempt_setup
    from model.agents.mini_se.tree_reader import build_tree_source
    from model.verifiers.reports.rubric_source import (
        build_issue_source,
        chain_sources,
        keep_rubrics,
    )

    folder = Path.home() / ".cache" / "r4p" / "rubrics"
    alone = keep_rubrics(build_issue_source(engine), folder, engine.model)
    if tree is None:
        yield alone
        return
    say("reading the code")
    with attempt_setup.open_tool_contexts(tree, locate_index(tree)) as open_context:
        with open_context() as context:
            key = engine.model, context.tree
        source = keep_rubrics(build_tree_source(engine, open_context), folder, *key)
        yield chain_sources(source, alone)
