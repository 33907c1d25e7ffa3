"""What a diff does, read leniently for comparing rivals: its lines of code, words, names and places (pure).

Comments, docstrings and blank lines are left out, and files of prose beside code: they are style, and anybody can claim
anything in them.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from model.patches.comment_stripping import uncommented

TOKEN = re.compile(r"[A-Za-z_]\w*|\d+|[^\s\w]")
WORD = re.compile(r"[A-Za-z_]\w*")
KEYWORDS = frozenset(
    word
    for line in """if else elif for while return def class try except raise import from as with not and or in is None True False
    lambda self cls pass yield assert del global nonlocal break continue finally async await print const let var
    function new this null true false public private static void int String final throw throws catch""".splitlines()
    for word in line.split()
)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@ ?(.*)")
_DEFINITION = re.compile(r"^\s*(?:async )?(?:def|class)\s+(\w+)")
_PROSE = (".adoc", ".markdown", ".md", ".rst", ".txt")

Place = tuple[str, int]
"""A file and a line of it before the edit."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """What one pass over a diff gathers."""

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
class Edit:
    """The code of one patch. Anything that is no hunk of a unified diff is passed over."""

    files: tuple[str, ...]
    coded: frozenset[str]
    """Those of them in which code changes, and not comments alone."""
    added: tuple[str, ...]
    removed: tuple[str, ...]
    context: tuple[str, ...]
    places: frozenset[Place]
    """Old lines that are removed or added at."""
    functions: frozenset[tuple[str, str]]
    """(file, function or class) that the edits stand in, as far as the diff shows it."""
    sections: tuple[str, ...]
    """What stands behind the second @@ of each hunk."""
    identity: int
    """Equal for edits that change the same lines at the same places, comments and all; good within one process."""

    @cached_property
    def file_set(self) -> frozenset[str]:
        """The files, once each."""
        return frozenset(self.files)

    @cached_property
    def areas(self) -> frozenset[Place]:
        """The places, four lines to one."""
        return frozenset((file, line // 4) for file, line in self.places)

    @cached_property
    def added_lines(self) -> frozenset[str]:
        """Added lines without their indentation."""
        return frozenset(line.strip() for line in self.added)

    @cached_property
    def removed_lines(self) -> frozenset[str]:
        """Removed lines without their indentation."""
        return frozenset(line.strip() for line in self.removed)

    @cached_property
    def code(self) -> str:
        """All changed lines as one text, signs in front, indentation left out."""
        signed = [("+", self.added), ("-", self.removed)]
        return "\n".join(sign + line.strip() for sign, lines in signed for line in lines)

    @cached_property
    def added_tokens(self) -> Counter[str]:
        """Words, numbers and signs of the added lines."""
        return _tokens(self.added)

    @cached_property
    def removed_tokens(self) -> Counter[str]:
        """Words, numbers and signs of the removed lines."""
        return _tokens(self.removed)

    @cached_property
    def new(self) -> Counter[str]:
        """Tokens that the edit adds and does not merely keep."""
        return self.added_tokens - self.removed_tokens

    @cached_property
    def gone(self) -> Counter[str]:
        """Tokens that the edit takes away."""
        return self.removed_tokens - self.added_tokens

    @cached_property
    def changes(self) -> frozenset[str]:
        """What is new, and with a minus what is gone."""
        return frozenset(self.new) | {f"-{token}" for token in self.gone}

    @cached_property
    def names(self) -> frozenset[str]:
        """Names that the edit introduces in its lines."""
        return names(self.new)

    @cached_property
    def context_names(self) -> frozenset[str]:
        """Names that stand around the edit."""
        return words("\n".join(self.context))

    @cached_property
    def unseen_names(self) -> frozenset[str]:
        """Names that neither the removed lines nor those around them hold."""
        return self.names - names(self.removed_tokens) - self.context_names


def read(diff: str) -> Edit:
    """The edit that a unified diff makes; what can't be read of it is passed over. Never raises."""
    lines = _gathered(diff, without=_PROSE)
    if not lines.files:
        lines = _gathered(diff, without=())
    return Edit(
        files=tuple(lines.files),
        coded=frozenset(lines.coded),
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


def names(tokens: Iterator[str] | Counter[str]) -> frozenset[str]:
    """Those that are names and no keywords."""
    return frozenset(token for token in tokens if WORD.match(token)) - KEYWORDS


def words(text: str) -> frozenset[str]:
    """The names in a text."""
    return frozenset(WORD.findall(text)) - KEYWORDS


def _gathered(diff: str, without: tuple[str, ...]) -> _Lines:
    """All but the files whose names end with one of `without`."""
    found, left_out = _Lines(), _Lines()
    path, lines = "", iter(diff.split("\n"))
    for line in lines:
        if hunk := _HUNK.match(line):
            into = left_out if path.endswith(without) else found
            into.sections.append(hunk[4])
            _hunk(lines, into, path, hunk)
        elif line.startswith(("--- ", "+++ ")):
            name = line[4:].strip()
            if name != "/dev/null":
                path = name[2:] if name[:2] in {"a/", "b/"} else name
                into = left_out if path.endswith(without) else found
                if not into.files or into.files[-1] != path:
                    into.files.append(path)
    return found


def _hunk(lines: Iterator[str], found: _Lines, path: str, header: re.Match[str]) -> None:
    at = int(header[1])
    body = list(_body(lines, header))
    function = _function(header[4]) or header[4].strip()
    for sign, code in found.code.items():
        read = list(_code(path, [line for line in body if line[0] in {sign, ""}], top=at < 2))
        code.extend(read)
        found.coded.update([path] * bool(read))
    for sign, text in body:
        gathered = {"+": found.added, "-": found.removed}.get(sign, found.context)
        gathered.append(text)
        if sign:
            found.places.add((path, at))
            if function:
                found.functions.add((path, function))
        if sign != "-":
            function = _function(text) or function
        at += sign != "+"


def _body(lines: Iterator[str], header: re.Match[str]) -> Iterator[tuple[str, str]]:
    """Sign and text of as many lines as the header promises, so that a removed `-- x` is no file's name."""
    old, new = int(header[2] or 1), int(header[3] or 1)
    while (old > 0 or new > 0) and (line := next(lines, None)) is not None:
        sign = line[:1]
        if sign != "\\":
            yield (sign if sign in {"+", "-"} else ""), line[1:]
            old, new = old - (sign != "+"), new - (sign != "-")


def _code(path: str, side: Sequence[tuple[str, str]], *, top: bool) -> Iterator[str]:
    """The changed lines of one side of a hunk that are code, without their comments."""
    if not any(sign for sign, _ in side):
        return iter(())
    read = uncommented(path, [text for _, text in side], top=top)
    return (code for (sign, _), code in zip(side, read, strict=True) if sign and code.strip())


def _function(line: str) -> str | None:
    definition = _DEFINITION.match(line)
    return definition[1] if definition else None


def _tokens(lines: Sequence[str]) -> Counter[str]:
    return Counter(token for line in lines for token in TOKEN.findall(line))
