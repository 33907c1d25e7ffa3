"""Rubrics: read the checklist that a model wrote, read its grades of a patch, and compute the score (pure).

Agentic Rubrics (arXiv 2601.04171, section 3) writes one weighted checklist for an issue and grades each patch against it
without running code. Every bound here is ours. Replies are read leniently and bounded strictly.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, ValidationError

from model.domain import GradedLine, RubricKind, RubricLine, RubricMark

MAX_LINES = 20
"""The most lines of a rubric. Later lines are dropped."""
TEXT_CHARACTERS = 300
"""The longest text of a line, and the longest note about one."""
MIN_GRADED = 0.5
"""The share of the weight that needs a readable grade. Below it a patch has no score."""

_READ = json.JSONDecoder(strict=False)
_GRADE = re.compile(
    r"^[ \t*_#>-]*(?:line[ \t]*)?#?(\d{1,2})\W{1,6}(not[ _]met|unmet|met|cannot[ _]tell|can['’]t tell)\b[*_`\"']*[,:;.]*\*{0,2}[ \t:–—-]*(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_MARKS = {"met": RubricMark.MET, "not met": RubricMark.NOT_MET, "unmet": RubricMark.NOT_MET}


@dataclass(frozen=True, slots=True)
class Rubric:
    """The checklist of one issue, at least one line long."""

    lines: tuple[RubricLine, ...]
    grounds: str
    """What the writer read, as a reason names it: `the issue and the code`, or `the issue alone`."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The answer of one grading about one line."""

    mark: RubricMark
    note: str = ""


def _fold_name(value: Any) -> Any:
    return re.sub(r"[\s-]+", "_", value.strip().lower()) if isinstance(value, str) else value


def _fold_space(value: Any) -> Any:
    return clean_text(value) if isinstance(value, str) else value


class _WrittenLine(BaseModel):
    """A line as a model writes it. Another kind, weight or length makes it invalid."""

    kind: Annotated[RubricKind, BeforeValidator(_fold_name)]
    weight: Annotated[int, Field(ge=1, le=3)]
    text: Annotated[
        str,
        BeforeValidator(_fold_space),
        StringConstraints(min_length=4, max_length=TEXT_CHARACTERS),
    ]


def read_lines(reply: str) -> tuple[RubricLine, ...]:
    """Return the valid lines of a reply with JSON, at most MAX_LINES; empty if there are none.

    A line is an object with `kind`, `weight` and `text`, alone or in a list. Lines before a cut end count. An invalid
    or repeated line is dropped.
    """
    lines: dict[str, RubricLine] = {}
    for value in _find_objects(reply):
        try:
            line = _WrittenLine.model_validate(value)
        except ValidationError:
            continue
        lines.setdefault(line.text.lower(), RubricLine(line.kind, line.weight, line.text))
    return tuple(lines.values())[:MAX_LINES]


def read_grades(reply: str, count: int) -> dict[int, Grade]:
    """Return the grades in a reply by line number, 1 to `count`. Two different grades of a line are no grade."""
    grades: dict[int, Grade] = {}
    disputed: set[int] = set()
    for number, word, note in _GRADE.findall(reply):
        line = int(number)
        mark = _MARKS.get(re.sub(r"[ _]+", " ", word.lower()), RubricMark.CANNOT_TELL)
        if line in grades and grades[line].mark is not mark:
            disputed.add(line)
        grades.setdefault(line, Grade(mark, clean_text(note)[:TEXT_CHARACTERS]))
    return {
        line: grade for line, grade in grades.items() if 1 <= line <= count and line not in disputed
    }


def combine_grades(
    lines: Sequence[RubricLine], gradings: Sequence[Mapping[int, Grade]]
) -> tuple[GradedLine, ...]:
    """Return each line with the mark of most gradings. A tie, and a line that no grading could tell, is CANNOT_TELL."""
    return tuple(
        _combine_line(line, [grades[number] for grades in gradings if number in grades])
        for number, line in enumerate(lines, 1)
    )


def compute_score(graded: Sequence[GradedLine]) -> float | None:
    """Return the weighted share of met lines, from 0 to 1, among the lines that could be graded.

    None if these carry less than MIN_GRADED of all weight. A line that nobody could grade counts for no side.
    """
    readable = [line for line in graded if line.mark is not RubricMark.CANNOT_TELL]
    weight, total = _sum_weights(readable), _sum_weights(graded)
    if not readable or weight < MIN_GRADED * total:
        return None
    return _sum_weights([line for line in readable if line.mark is RubricMark.MET]) / weight


def explain_grades(graded: Sequence[GradedLine], grounds: str) -> str:
    """Return the reason of a verdict: how many lines are met, and the heaviest line that is not."""
    counts = Counter(line.mark for line in graded)
    text = f"Meets {counts[RubricMark.MET]} of {len(graded)} lines of a checklist written from {grounds}"
    if unknown := counts[RubricMark.CANNOT_TELL]:
        text += f"; {unknown} could not be graded"
    missed = [line for line in graded if line.mark is RubricMark.NOT_MET]
    if not missed:
        return text
    worst = max(missed, key=lambda line: line.line.weight)
    return f"{text}. Not met: {worst.line.text}" + (f" ({worst.note})" if worst.note else "")


def render_rubric(lines: Sequence[RubricLine]) -> str:
    """Return the rubric as numbered lines for the prompt of a grading."""
    return "\n".join(f"{number}. {line.text}" for number, line in enumerate(lines, 1))


def clean_text(text: str) -> str:
    """Return text on one line, without characters that neither a database nor a request accepts."""
    return " ".join(text.replace("\0", " ").encode(errors="replace").decode().split())


def _find_objects(reply: str) -> Iterator[Any]:
    """Yield every JSON object of a reply that holds no other one, in order."""
    end = 0
    while (start := reply.find("{", end)) >= 0:
        try:
            value, end = _READ.raw_decode(reply, start)
        except (ValueError, RecursionError):
            end = start + 1
            continue
        nested = [item for item in value.values() if isinstance(item, list)]
        if nested:
            yield from (item for items in nested for item in items if isinstance(item, dict))
        else:
            yield value


def _combine_line(line: RubricLine, grades: Sequence[Grade]) -> GradedLine:
    votes = Counter(grade.mark for grade in grades if grade.mark is not RubricMark.CANNOT_TELL)
    met, missed = votes[RubricMark.MET], votes[RubricMark.NOT_MET]
    mark = RubricMark.CANNOT_TELL
    if met != missed:
        mark = RubricMark.MET if met > missed else RubricMark.NOT_MET
    notes = (grade.note for grade in grades if grade.mark is mark and grade.note)
    return GradedLine(line, mark, next(notes, ""))


def _sum_weights(graded: Sequence[GradedLine]) -> int:
    return sum(line.line.weight for line in graded)
