"""Open what reads a source tree for `r4p verify`: the agent that writes checklists, and the one that reviews."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from model import catalog
from model.commands.index import locate_index
from model.errors import IncompatibleOptions, NoCodeGraph, WorkspaceError
from model.protocols import Engine
from model.verifiers import judge_prompts

if TYPE_CHECKING:
    from model.verifiers.reports.rubric_source import TreeReaders

READING_VERIFIERS: Final = frozenset({"rubric", "review"})
"""Verifiers that can read the code, besides those that run its tests."""
UNREADABLE_TREE: Final = (NoCodeGraph, WorkspaceError)
"""Errors of a tree that the agent cannot read."""


@contextmanager
def open_readers(
    verifier: str,
    engine: Engine | None,
    tree: Path | None,
    say: Callable[[str], None],
    prompt: str | None = None,
) -> "Iterator[TreeReaders | None]":
    """Yield what reads the code of `tree` for the verifier `verifier`; None if there is nothing to read.

    Checklists are kept in `~/.cache/r4p/rubrics`. Without a tree, or if the agent hands none in, they are written from
    the issue alone. A template of `prompt` may show the definitions that the patches touch. Raises the errors in
    UNREADABLE_TREE, and IncompatibleOptions for a tree that nothing reads.
    """
    parts = catalog.parse_verifier_name(verifier)
    reads = not READING_VERIFIERS.isdisjoint(parts)
    shows = tree is not None and judge_prompts.shows_code(parts, prompt)
    if engine is None or not (reads or shows):
        if tree and not catalog.EXECUTION_VERIFIERS.intersection(parts):
            raise _refuse_tree(verifier)
        yield None
        return
    from model.agents import attempt_setup
    from model.agents.mini_se.tree_reader import build_tree_source
    from model.agents.mini_se.tree_reviewer import TreeReviewer
    from model.agents.tools.touched_code import describe_touched_code
    from model.verifiers.reports.rubric_source import (
        RubricFolder,
        TreeReaders,
        build_issue_source,
        chain_sources,
        keep_rubrics,
    )

    kept = RubricFolder(Path.home() / ".cache" / "r4p" / "rubrics")
    alone = keep_rubrics(build_issue_source(engine), kept, engine.model)
    if tree is None:
        yield TreeReaders(alone)
        return
    say("reading the code")
    with attempt_setup.open_tool_contexts(tree, locate_index(tree)) as open_context:
        with open_context() as context:
            key = engine.model, context.tree
        source = keep_rubrics(build_tree_source(engine, open_context), kept, *key)

        def read_code(diffs: Sequence[str], characters: int) -> str:
            with open_context() as context:
                return describe_touched_code(context, diffs, characters)

        reviewer = TreeReviewer(engine, open_context)
        yield TreeReaders(chain_sources(source, alone), reviewer, read_code)


def _refuse_tree(verifier: str) -> IncompatibleOptions:
    """Return the error for a tree that neither the verifier nor its prompt reads."""
    return IncompatibleOptions(
        f"--tree does nothing for verifier {verifier} with this prompt, which shows no code; add "
        "--prompt r4p_group_v2, or leave it out"
    )
