"""A finding of `r4p doctor`: the checked thing, its value, and the fix of what is wrong (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from model.prompts.untrusted import escape_invisible

SCHEMA: Final = "r4p.doctor/1"


class Mark(StrEnum):
    """Result of one check of `r4p doctor`, at the start of its line."""

    OK = "ok"
    LESS = "less"
    """The bot works, but with less quality or at a higher price."""
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of `r4p doctor`."""

    mark: Mark
    about: str
    """The checked thing."""
    message: str
    """Its present state."""
    fix: str = ""
    """What the operator can do; empty: nothing is to be done, or the message says it."""

    @property
    def text(self) -> str:
        """The state and the fix as one text."""
        return f"{self.message}: {self.fix}" if self.fix else self.message


def build_line(about: str, is_good: bool, message: str) -> Line:
    """Build a line about something that the bot can work without."""
    return Line(Mark.OK if is_good else Mark.LESS, about, message)


def has_failure(lines: Sequence[Line]) -> bool:
    """Report whether a finding keeps the bot from working."""
    return any(line.mark is Mark.FAIL for line in lines)


def format_lines(lines: Sequence[Line]) -> list[str]:
    """Return the findings as aligned lines of text. Names from GitHub or a server cannot hide control characters."""
    width = max((len(line.about) for line in lines), default=0)
    return [
        escape_invisible(f"{line.mark:<5} {line.about:<{width}}  {line.text}") for line in lines
    ]


def build_document(lines: Sequence[Line]) -> Mapping[str, object]:
    """Build the document of `r4p doctor --json`."""
    findings = [
        {"mark": line.mark, "thing": line.about, "value": line.message, "fix": line.fix}
        for line in lines
    ]
    return {"schema": SCHEMA, "works": not has_failure(lines), "findings": findings}
