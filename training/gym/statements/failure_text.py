"""Read the text that pytest prints of a failed test: the error, where it was raised and the values of arguments (pure)."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_MOST_LETTERS: Final = 300
_HELPERS: Final = frozenset({"describe_value", "pytest.raises"})
"""Calls of tests that no user makes."""
_CHAIN: Final = re.compile(
    r"^(?:During handling of the above|The above exception was the direct cause).*$", re.MULTILINE
)
"""Separates chained exceptions in pytest's output. The last one ended the test."""
_ERROR_LINE: Final = re.compile(r"E(?:\s|$)")
_PLACE: Final = re.compile(r"^(\S[^\n:]*\.py):(\d{1,9}):", re.MULTILINE)
_ASSERTION: Final = re.compile(r"(?:AssertionError: )?assert (.*)", re.DOTALL)
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{6,}")
_HOST_PATH: Final = re.compile(r"(?<![\w.])/(?:[\w.+-]+/){2,}")
"""Folders of the machine, such as that of the test environment."""
_HINT_OF_PYTEST: Final = re.compile(
    r"Use -v+ to get (?:more diff|the full diff)|.*use '-vv' to show$|Full diff:$"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """The text of a failure, read."""

    lines: tuple[str, ...]
    """What the error says, with spaces at the ends of lines; its type stands in the first line."""
    places: tuple[tuple[str, int], ...]
    """Path and line of each call that led to the error, the test's own first."""
    head: str
    """The text before the first source line, with the values of arguments."""
    marked: tuple[str, ...] = ()
    """The source lines that raised the error or led to it."""

    @property
    def headline(self) -> str:
        """The first line of the error."""
        return self.lines[0] if self.lines else ""

    def is_raised_in(self, first: int, last: int | None) -> bool:
        """Return whether the error was raised in some lines of the test's module, not in what they call."""
        path, line = self.places[-1] if self.places else ("", 0)
        return bool(path) and path == self.places[0][0] and first <= line <= (last or first)

    def find_assertion(self) -> str | None:
        """Return the values of the failed `assert`; None if it was another error."""
        matches = (_ASSERTION.fullmatch(line) for line in self.lines)
        return next((match[1] for match in matches if match), None)

    def read_texts(self, values: str) -> tuple[str, str] | None:
        """Rebuild the two compared strings from pytest's diff.

        pytest prints the diff when it shortens `values`. None if the diff is incomplete.
        """
        start = next((i for i, line in enumerate(self.lines) if line.endswith(values)), None)
        rest = list(self.lines[start + 1 :]) if start is not None else []
        while rest and not rest[0].strip():
            rest.pop(0)
        lines = [line.removeprefix("  ") for line in rest if not line.startswith("  ? ")]
        is_whole = all(line[:2] in {"- ", "+ ", "  "} or line in {"-", "+"} for line in lines)
        if not lines or not is_whole or values[:1] not in "'\"" or "…" in "".join(lines):
            return None
        result, wanted = ([line[2:] for line in lines if line[0] in f" {sign}"] for sign in "+-")
        return repr("\n".join(result)), repr("\n".join(wanted))

    def read_arguments(self, names: Collection[str]) -> dict[str, str]:
        """Return the values of a test's arguments at the failure, by name."""
        alternatives = "|".join(map(re.escape, sorted(names)))
        starts = (
            list(re.finditer(rf"(?:^|, |,\n|\n)({alternatives}) = ", self.head))
            if alternatives
            else []
        )
        ends = [*(match.start() for match in starts[1:]), len(self.head)][: len(starts)]
        return {
            match[1]: _name_class(clean_line(self.head[match.end() : end].strip().rstrip(",")))
            for match, end in zip(starts, ends, strict=True)
        }


def read_failure(text: str) -> Failure:
    """Read the text of a failure. The lines of the error have no addresses and no folders of the machine."""
    last = _CHAIN.split(text)[-1]
    places = tuple((match[1], int(match[2])) for match in _PLACE.finditer(text))
    head = re.split(
        r"^(?: {4}|>|E |def |async def |class |@)", text, maxsplit=1, flags=re.MULTILINE
    )
    marked = tuple(line[1:].strip() for line in text.splitlines() if line.startswith(">"))
    return Failure(tuple(_read_lines(last)), places, head[0].strip(), marked)


def find_call(marked: Iterable[str]) -> ast.Call | None:
    """Return the first call in source lines; None if none can be read."""
    for line in marked:
        for text in (line, f"{line}\n    pass"):
            try:
                nodes = ast.walk(ast.parse(text))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            calls = (node for node in nodes if isinstance(node, ast.Call))
            call = next((node for node in calls if ast.unparse(node.func) not in _HELPERS), None)
            if call:
                return call
    return None


def clean_line(line: str) -> str:
    """Return a line without addresses and folders of the machine, at most 300 letters long."""
    plain = _HOST_PATH.sub("…/", _ADDRESS.sub("0x…", line))
    return plain if len(plain) <= _MOST_LETTERS else f"{plain[:_MOST_LETTERS]}…"


def _name_class(value: str) -> str:
    match = re.fullmatch(r"<(?:class|module) '([\w.]+)'.*>", value)
    return match[1] if match else value


def _read_lines(text: str) -> Iterator[str]:
    """Yield the lines that pytest marks with `E`, without the indentation of the first."""
    marked = [line[1:] for line in text.splitlines() if _ERROR_LINE.match(line)]
    indent = len(marked[0]) - len(marked[0].lstrip()) if marked else 0
    for line in marked:
        shown = line[indent:] if not line[:indent].strip() else line.strip()
        if not _HINT_OF_PYTEST.fullmatch(shown.strip()):
            yield clean_line(shown)
