"""Take a patch apart into blocks of changed lines, choose some of them, and put them together again (pure)."""

import ast
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from model.execution.tree_changes import TreeChanges


@dataclass(frozen=True, slots=True)
class ChangeBlock:
    """Neighbouring lines of one file that a patch replaces, adds or removes."""

    path: str
    start: int
    """Index of the first replaced line before the patch."""
    end: int
    """Index after the last replaced line; equal to `start` if lines are only added."""
    lines: tuple[bytes, ...] | None
    """The new lines; None if the patch deletes the file."""


def split_patch(changes: TreeChanges) -> tuple[ChangeBlock, ...]:
    """Return the blocks of a patch in order. A new file is one block, and so is a deleted one."""
    blocks = [ChangeBlock(path, 0, 0, None) for path in changes.deleted]
    for path, content in changes.written.items():
        old, new = _split(changes.before.get(path, b"")), _split(content)
        steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        blocks += [
            ChangeBlock(path, start, end, tuple(new[first:last]))
            for kind, start, end, first, last in steps
            if kind != "equal"
        ]
    return tuple(sorted(blocks, key=lambda block: (block.path, block.start)))


def join_blocks(changes: TreeChanges, blocks: Sequence[ChangeBlock]) -> TreeChanges:
    """Return the changes that only these blocks of a patch make. `changes` are those of the whole patch."""
    written = {}
    for path in sorted({block.path for block in blocks if block.lines is not None}):
        lines = _split(changes.before.get(path, b""))
        for block in reversed([block for block in blocks if block.path == path]):
            lines[block.start : block.end] = block.lines or ()
        written[path] = b"".join(lines)
    deleted = tuple(block.path for block in blocks if block.lines is None)
    return TreeChanges(
        written, deleted, changes.before, frozenset(changes.executable & written.keys())
    )


def list_parts(changes: TreeChanges) -> Iterator[TreeChanges]:
    """Yield proper parts of a patch: without one of its blocks, and without one of its new lines. Syntax is valid."""
    blocks = split_patch(changes)
    smaller: list[Sequence[ChangeBlock]] = [
        [*blocks[:index], *blocks[index + 1 :]] for index in range(len(blocks)) if len(blocks) > 1
    ]
    for index, block in enumerate(blocks):
        for number in range(len(block.lines or ())):
            lines = (block.lines or ())[:number] + (block.lines or ())[number + 1 :]
            cut = ChangeBlock(block.path, block.start, block.end, lines)
            smaller.append([*blocks[:index], cut, *blocks[index + 1 :]])
    for part in smaller:
        smaller_patch = join_blocks(changes, part)
        if (
            smaller_patch.written != changes.written
            and is_valid(smaller_patch)
            and not is_unchanged(smaller_patch)
        ):
            yield smaller_patch


def is_unchanged(changes: TreeChanges) -> bool:
    """Return whether changes leave every file as it is."""
    return not changes.deleted and all(
        changes.before.get(path) == content for path, content in changes.written.items()
    )


def is_valid(changes: TreeChanges) -> bool:
    """Return whether Python accepts each written Python file."""
    texts = (content for path, content in changes.written.items() if path.endswith(".py"))
    return all(parse_python(text) is not None for text in texts)


def parse_python(text: bytes) -> ast.Module | None:
    """Return the syntax tree of a Python file; None if its syntax is broken."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def minimise(
    changes: TreeChanges, passes: Callable[[TreeChanges], bool], most_runs: int
) -> TreeChanges:
    """Return the smallest part of a patch that `passes`, by ddmin over its blocks (Zeller and Hildebrandt, 2002).

    The whole patch must pass. After `most_runs` calls of `passes` the smallest part so far is returned.
    """
    kept, runs, pieces = list(split_patch(changes)), 0, 2
    while len(kept) > 1 and runs < most_runs:
        for candidate, is_piece in _list_candidates(kept, pieces):
            part = join_blocks(changes, candidate)
            runs += is_valid(part)
            if is_valid(part) and passes(part):
                kept, pieces = candidate, 2 if is_piece else max(pieces - 1, 2)
                break
            if runs >= most_runs:
                break
        else:
            if pieces >= len(kept):
                break
            pieces = min(2 * pieces, len(kept))
    return join_blocks(changes, kept)


def _list_candidates(
    blocks: Sequence[ChangeBlock], pieces: int
) -> Iterator[tuple[list[ChangeBlock], bool]]:
    """Yield each piece of the blocks, and then what is left without each piece."""
    bounds = [len(blocks) * index // pieces for index in range(pieces + 1)]
    spans = list(pairwise(bounds))
    yield from ((list(blocks[start:end]), True) for start, end in spans)
    if pieces > 2:  # with two pieces, the rest is the other piece
        yield from (([*blocks[:start], *blocks[end:]], False) for start, end in spans)


def shuffle(parts: Iterator[TreeChanges], seed: str) -> list[TreeChanges]:
    """Return parts in an order that depends on the seed alone."""
    shuffled = list(parts)
    random.Random(seed).shuffle(shuffled)
    return shuffled


def _split(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)
