"""This module reads an edit leniently, to compare rivals: lines of code, tokens, names and places (pure).

Comments, docstrings and blank lines are left out, and so are prose files beside code. They are style, and their author
can claim anything in them. Lock files beside code are left out too: a package manager wrote them.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from model.patches.comment_stripping import strip_comments
from model.patches.unread_parts import DOCUMENTATION, LOCK_FILES

TOKEN = re.compile(r"[A-Za-z_]\w*|\d+|[^\s\w]")
WORD = re.compile(r"[A-Za-z_]\w*")
KEYWORDS = frozenset(
    word
    for line in """if else elif for while return def class try except raise import from as with not and or in is None True False
    lambda self cls pass yield assert del global nonlocal break continue finally async await print const let var
    function new this null true false public private static void int String final throw throws catch""".splitlines()
    for word in line.split()
)
_WORD_OR_SIGN = re.compile(r"\w+|[^\w\s]")
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@ ?(.*)")
_DEFINITION = re.compile(r"^\s*(?:async )?(?:def|class)\s+(\w+)")
_NO_CODE = (*DOCUMENTATION, *LOCK_FILES)
"""Ends of the names of files that are not compared beside code."""

Place = tuple[str, int]
"""A file and a line number before the edit."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines and places that one pass over a diff collects."""

    files: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    code: dict[str, list[str]] = field(default_factory=lambda: {"+": [], "-": []})
    """Added and removed lines that are code."""
    coded: set[str] = field(default_factory=set)
    context: list[str] = field(default_factory=list)
    places: set[Place] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)
    sections: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PatchEdit:
    """The changed code of one patch: its lines, tokens, names and places, by which rival patches are compared.

    Text outside the hunks of a unified diff is ignored.
    """

    files: tuple[str, ...]
    code_files: frozenset[str]
    """The files whose code changes, not only their comments."""
    added: tuple[str, ...]
    """Added lines of code, without comments."""
    removed: tuple[str, ...]
    """Removed lines of code, without comments."""
    context: tuple[str, ...]
    """Unchanged lines that the hunks show."""
    places: frozenset[Place]
    """(file, old line number) of each removed line, and of each place where lines are added."""
    functions: frozenset[tuple[str, str]]
    """(file, function or class) around the edits, as far as the diff shows them."""
    sections: tuple[str, ...]
    """The text after the second @@ of each hunk."""
    identity: int
    """A hash that is equal for equal lines at equal places, comments included. It is valid within one process."""

    @cached_property
    def file_set(self) -> frozenset[str]:
        """Paths of the changed files, without order."""
        return frozenset(self.files)

    @cached_property
    def areas(self) -> frozenset[Place]:
        """(file, block number) of each edited place, where a block is four lines of the old file."""
        return frozenset((file, line // 4) for file, line in self.places)

    @cached_property
    def lines_added(self) -> frozenset[str]:
        """Distinct added lines of code, without white space around them."""
        return frozenset(line.strip() for line in self.added)

    @cached_property
    def lines_removed(self) -> frozenset[str]:
        """Distinct removed lines of code, without white space around them."""
        return frozenset(line.strip() for line in self.removed)

    @cached_property
    def code(self) -> str:
        """All added, then all removed lines of code as one text, each with its sign and without indentation."""
        signed = [("+", self.added), ("-", self.removed)]
        return "\n".join(sign + line.strip() for sign, lines in signed for line in lines)

    @cached_property
    def tokens_added(self) -> Counter[str]:
        """Counts of the words, numbers and signs in the added lines."""
        return _count_tokens(self.added)

    @cached_property
    def tokens_removed(self) -> Counter[str]:
        """Counts of the words, numbers and signs in the removed lines."""
        return _count_tokens(self.removed)

    @cached_property
    def new_tokens(self) -> Counter[str]:
        """Tokens that the edit adds more often than it removes, with the difference of the counts."""
        return self.tokens_added - self.tokens_removed

    @cached_property
    def tokens_gone(self) -> Counter[str]:
        """Tokens that the edit removes more often than it adds, with the difference of the counts."""
        return self.tokens_removed - self.tokens_added

    @cached_property
    def changes(self) -> frozenset[str]:
        """Set of the code tokens that the edit adds or removes. A removed token is written with a leading `-`."""
        return frozenset(self.new_tokens) | {f"-{token}" for token in self.tokens_gone}

    @cached_property
    def names(self) -> frozenset[str]:
        """Identifiers that the edit adds more often than it removes, without keywords."""
        return select_names(self.new_tokens)

    @cached_property
    def context_names(self) -> frozenset[str]:
        """Identifiers in the unchanged lines around the edit, without keywords."""
        return find_names("\n".join(self.context))

    @cached_property
    def unseen_names(self) -> frozenset[str]:
        """Identifiers in the added lines that neither the removed nor the unchanged lines contain."""
        return self.names - select_names(self.tokens_removed) - self.context_names


def read_edit(diff: str) -> PatchEdit:
    """Return the changed code of a unified diff, to compare rival patches. It ignores unreadable text, never raises."""
    lines = _collect_lines(diff, without=_NO_CODE)
    if not lines.files:
        lines = _collect_lines(diff, without=())
    return PatchEdit(
        files=tuple(lines.files),
        code_files=frozenset(lines.coded),
        added=tuple(lines.code["+"]),
        removed=tuple(lines.code["-"]),
        context=tuple(lines.context),
        places=frozenset(lines.places),
        functions=frozenset(lines.functions),
        sections=tuple(lines.sections),
        identity=hash(
            (
                (*lines.added, "", *lines.removed),
                frozenset(lines.files),
                frozenset(lines.places),
                frozenset(lines.functions),
            )
        ),
    )


def select_names(tokens: Iterator[str] | Counter[str]) -> frozenset[str]:
    """Return the tokens that are identifiers and not keywords."""
    return frozenset(token for token in tokens if WORD.match(token)) - KEYWORDS


def find_names(text: str) -> frozenset[str]:
    """Return the identifiers in a text, without keywords."""
    return frozenset(WORD.findall(text)) - KEYWORDS


def _collect_lines(diff: str, without: tuple[str, ...]) -> _Lines:
    """Collect the lines of all files except files whose names end with one of `without`."""
    kept, left_out = _Lines(), _Lines()
    path, lines = "", iter(diff.split("\n"))
    for line in lines:
        if hunk := _HUNK.match(line):
            target = left_out if path.endswith(without) else kept
            target.sections.append(hunk[4])
            _read_hunk(lines, target, path, hunk)
        elif line.startswith(("--- ", "+++ ")):
            name = line[4:].strip()
            if name != "/dev/null":
                path = name[2:] if name[:2] in {"a/", "b/"} else name
                target = left_out if path.endswith(without) else kept
                if not target.files or target.files[-1] != path:
                    target.files.append(path)
    return kept


def _read_hunk(lines: Iterator[str], target: _Lines, path: str, header: re.Match[str]) -> None:
    number = int(header[1])
    body = list(_read_body(lines, header))
    function = _find_definition(header[4]) or header[4].strip()
    for sign, code in target.code.items():
        changed = list(
            _strip_side(path, [line for line in body if line[0] in {sign, ""}], top=number < 2)
        )
        code.extend(changed)
        target.coded.update([path] * bool(changed))
    for sign, text in body:
        texts = {"+": target.added, "-": target.removed}.get(sign, target.context)
        texts.append(text)
        if sign:
            target.places.add((path, number))
            if function:
                target.functions.add((path, function))
        if sign != "-":
            function = _find_definition(text) or function
        # Added lines have no number before the edit.
        number += sign != "+"


def _read_body(lines: Iterator[str], header: re.Match[str]) -> Iterator[tuple[str, str]]:
    """Yield sign and text of as many lines as the header announces. A removed `-- x` must not become a file name."""
    old, new = int(header[2] or 1), int(header[3] or 1)
    while (old > 0 or new > 0) and (line := next(lines, None)) is not None:
        sign = line[:1]
        if sign != "\\":
            yield (sign if sign in {"+", "-"} else ""), line[1:]
            old, new = old - (sign != "+"), new - (sign != "-")


def _strip_side(path: str, side: Sequence[tuple[str, str]], *, top: bool) -> Iterator[str]:
    """Yield the changed lines of code on one side of a hunk, without their comments."""
    if not any(sign for sign, _ in side):
        return iter(())
    stripped = strip_comments(path, [text for _, text in side], top=top)
    return (code for (sign, _), code in zip(side, stripped, strict=True) if sign and code.strip())


def _find_definition(line: str) -> str | None:
    definition = _DEFINITION.match(line)
    return definition[1] if definition else None


def _count_tokens(lines: Sequence[str]) -> Counter[str]:
    return Counter(token for line in lines for token in TOKEN.findall(line))


def count_changed_words(diff: str) -> Counter[str]:
    """Count the words and signs on the removed and added lines of a diff, as keys such as `-old` and `+new`."""
    return Counter(
        line[0] + word
        for line in diff.splitlines()
        if line[:1] in {"+", "-"} and not line.startswith(("+++", "---"))
        for word in _WORD_OR_SIGN.findall(line[1:])
    )


def measure_overlap(left: Counter[str], right: Counter[str]) -> float:
    """Return the share of words that two word counts have in common, from 0 to 1 (Jaccard with repeats).

    Two empty counters give 1.
    """
    union = (left | right).total()
    return (left & right).total() / union if union else 1.0
