"""Decide which commits are small enough for a gym, by the limits of R2E-Gym (appendix A), and name each refusal (pure)."""

import ast
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from model.codegraph.definition_reader import DefinitionRow
from training.gym.commits.history import HistoryCommit

NO_SOURCE: Final = "changes no source file"
NO_PYTHON: Final = "changes no Python source file"
NO_TESTS: Final = "changes no Python test"
BINARY: Final = "changes a binary file"


@dataclass(frozen=True, slots=True)
class CommitLimits:
    """The most that a commit may change in files that are no tests. None sets no limit."""

    files: int = 5
    lines: int = 100
    characters: int | None = None
    """Length of the diff."""
    deleted_entities: int | None = None
    """Entities are classes, functions and methods."""
    added_entities: int | None = None
    edited_entities: int | None = None
    statements: int | None = None
    """Python statements that the commit adds, removes or edits."""


SIZE_LIMITS: Final = CommitLimits()
"""The limits of files and lines only."""
PAPER_LIMITS: Final = CommitLimits(5, 100, 2_000, 1, 3, 3, 10)
"""All limits of R2E-Gym (appendix A)."""


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A version of a source file: its text and its definitions."""

    text: bytes
    definitions: Sequence[DefinitionRow] = ()


@dataclass(frozen=True, slots=True)
class SourceEdit:
    """A changed source file before and after a commit; None where it does not exist."""

    before: SourceVersion | None
    after: SourceVersion | None


def explain_refusal(commit: HistoryCommit, limits: CommitLimits) -> str | None:
    """Return why a commit gives no task, from its list of files; None when it may give one."""
    sources = commit.sources
    if not sources:
        return NO_SOURCE
    if not any(file.path.endswith(".py") for file in sources):
        return NO_PYTHON
    lines = [file.lines for file in (*sources, *commit.tests)]
    if None in lines:
        return BINARY
    if len(sources) > limits.files:
        return f"changes more than {limits.files} source files"
    if sum(file.lines or 0 for file in sources) > limits.lines:
        return f"changes more than {limits.lines} source lines"
    return None


def explain_content_refusal(
    diff: str, edits: Sequence[SourceEdit], limits: CommitLimits
) -> str | None:
    """Return why a commit gives no task, from the diff and the contents of its source files; None when it may."""
    entities = Counter(kind for edit in edits for kind in _compare_entities(edit))
    statements = sum(map(_count_statements, edits))
    limited = (
        (len(diff), limits.characters, "characters of diff"),
        (entities["deleted"], limits.deleted_entities, "deleted entities"),
        (entities["added"], limits.added_entities, "added entities"),
        (entities["edited"], limits.edited_entities, "edited entities"),
        (statements, limits.statements, "changed statements"),
    )
    for number, most, name in limited:
        if most is not None and number > most:
            return f"has more than {most:,} {name}"
    return None


def _compare_entities(edit: SourceEdit) -> Iterator[str]:
    """Yield `deleted`, `added` or `edited` for each entity that differs."""
    before, after = (_read_entities(version) for version in (edit.before, edit.after))
    yield from ("deleted" for key in before if key not in after)
    yield from ("added" for key in after if key not in before)
    yield from ("edited" for key in before if key in after and before[key] != after[key])


def _read_entities(version: SourceVersion | None) -> dict[tuple[str, str, str, int], bytes]:
    """Return the own text of each entity, without the entities inside it. Equal names are told apart by their order."""
    entities: dict[tuple[str, str, str, int], bytes] = {}
    rows = sorted(version.definitions, key=lambda row: row.start_byte) if version else []
    seen: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        name = (row.construct, row.scope, row.name)
        inner = [
            item
            for item in rows
            if row.start_byte < item.start_byte and item.end_byte <= row.end_byte
        ]
        entities[*name, seen[name]] = _cut(version.text if version else b"", row, inner)
        seen[name] += 1
    return entities


def _cut(text: bytes, row: DefinitionRow, inner: Sequence[DefinitionRow]) -> bytes:
    """Return the text of an entity without that of the entities inside, with single spaces."""
    parts, position = [], row.start_byte
    for item in inner:
        if item.start_byte >= position:
            parts.append(text[position : item.start_byte])
            position = item.end_byte
    parts.append(text[position : row.end_byte])
    return b" ".join(b"".join(parts).split())


def _count_statements(edit: SourceEdit) -> int:
    """Count changed statements. An edited statement counts once; the body of a compound statement counts on its own."""
    before, after = (Counter(_list_statements(version)) for version in (edit.before, edit.after))
    return max((before - after).total(), (after - before).total())


def _list_statements(version: SourceVersion | None) -> Iterator[str]:
    """Yield each statement of a file without its position and its body. Broken syntax yields each line."""
    text = version.text if version else b""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from text.decode(errors="replace").splitlines()
        return
    for node in nodes:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            if isinstance(getattr(node, name, None), list):
                setattr(node, name, [])
        if not _is_docstring(node):
            yield ast.dump(node)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
