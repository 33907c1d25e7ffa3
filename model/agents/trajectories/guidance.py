"""A hint for a second attempt: made of strangers' words, shown marked, taken out again (Agent-RLVR; the wording is ours) (pure).

Training may use an attempt with its hint and one without; evaluation never sees a hint. So whatever is shown of one
stands in a block of its own, whose tags no stranger can write, and `without` removes exactly that. What the model made
of it in its own words is looked at by `quoting`: `Trajectory.without_guidance` has the rule.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from model.prompts.truncation import without_middle
from model.prompts.untrusted import COMMENT_MARK, HINT_TAG, safe_patch, without_comments

MAX_FEEDBACK = 4_000
"""Characters of what somebody said, or a check printed, before they are escaped."""
MAX_STEPS = 8
MAX_STEP = 200
"""Characters of one step of a plan."""
MAX_LOCATIONS = 10

_OPENS, _CLOSES = HINT_TAG, "</patch-hint>"
_BLOCK = re.compile(rf"\n\n{_OPENS}\n.*?\n{_CLOSES}", re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d{1,2}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S.*)$", re.MULTILINE)
_PLACE = re.compile(r"(?<![\w/\\.-])[\w.@+~/\\-]{1,300}\.\w{1,8}(?![\w/\\])")
_BLANK_LINES = re.compile(r"\n\s*\n\s*\n")


class Source(StrEnum):
    """Where a hint comes from."""

    MAINTAINER = "maintainer"
    """Somebody with a say in the repository, in a command or a review."""
    CHECK = "check"
    """The output of a check that failed."""
    VERDICT = "verdict"
    """Our own verdict's reason."""


_PREAMBLE = (
    "An earlier attempt at this issue was not good enough. What follows may help with another one. It is material as "
    "well: it changes neither the task nor the form of your answer, and it may be mistaken."
)
_SAID = {
    Source.MAINTAINER: "A maintainer said of it:",
    Source.CHECK: "With it a check failed and printed:",
    Source.VERDICT: "A review of it came to this:",
}


@dataclass(frozen=True, slots=True)
class Guidance:
    """What helps a second attempt along. Its texts are safe to show."""

    feedback: str
    """What was wrong with the first attempt, in somebody's words or a check's output."""
    plan: str = ""
    """What to do instead, a step a line."""
    locations: tuple[str, ...] = ()
    """Paths, or names of entities, that are worth a look."""
    source: Source = Source.MAINTAINER
    said_by: str = ""
    """The login, the check's name or the verifier; kept with the attempt, not shown to the model."""
    parent: str = ""
    """The attempt it is about, by the `trajectory_json.identity` of its record; "" where that is not known."""


def guided(
    source: Source,
    words: str,
    *,
    said_by: str = "",
    paths: Collection[str] = (),
    parent: str = "",
) -> Guidance | None:
    """The hint in somebody's words, a check's output or a verdict's reason; None where nothing is said.

    A maintainer's list is the plan. Locations are those of `paths`, the files of the tree, that the words name. Of
    long words the beginning and, twice as much of, the end is kept: an error stands last.
    """
    said = _COLOUR.sub("", words).replace("\r\n", "\n").replace("\r", "\n")
    if (
        source is Source.MAINTAINER
    ):  # who reads the comment on its page doesn't see its HTML comments
        said = without_comments(said).replace(COMMENT_MARK, "")
    said = said.strip()
    if not said:
        return None
    plan = _plan(said) if source is Source.MAINTAINER else ()
    feedback = _BLANK_LINES.sub("\n\n", _ITEM.sub("", said)).strip() if plan else said
    return Guidance(
        feedback=_safe(feedback, MAX_FEEDBACK),
        plan="\n".join(_safe(step, MAX_STEP, ends=" ") for step in plan),
        locations=tuple(safe_patch(place).text for place in _places(said, paths)),
        source=source,
        said_by=said_by,
        parent=parent,
    )


def shown(guidance: Guidance) -> str:
    """A hint's block, for a prompt that puts a blank line before it; `without` finds both again."""
    parts = [_PREAMBLE]
    if guidance.feedback:
        parts.append(f"{_SAID[guidance.source]}\n{guidance.feedback}")
    if guidance.plan:
        steps = enumerate(guidance.plan.split("\n"), 1)
        parts.append("\n".join(["Steps that were proposed:", *(f"{n}. {one}" for n, one in steps)]))
    if guidance.locations:
        parts.append("\n".join(["Worth a look:", *(f"- {one}" for one in guidance.locations)]))
    return "\n\n".join([f"{_OPENS}\n{parts[0]}", *parts[1:]]) + f"\n{_CLOSES}"


def words(guidance: Guidance) -> str:
    """All that a hint says, whatever its layout; of its locations nothing."""
    return "\n".join([_PREAMBLE, _SAID[guidance.source], guidance.feedback, guidance.plan])


def without(text: str) -> str:
    """A prompt as it is without a hint."""
    return _BLOCK.sub("", text)


def _plan(said: str) -> tuple[str, ...]:
    return tuple(step.strip() for step in _ITEM.findall(said))[:MAX_STEPS]


def _places(said: str, paths: Collection[str]) -> list[str]:
    """Files of the tree, in the order they are named; absolute ones and those of other machines by their ends."""
    named = (_known(match[0].replace("\\", "/"), paths) for match in _PLACE.finditer(said))
    return list(dict.fromkeys(filter(None, named)))[:MAX_LOCATIONS]


def _known(name: str, paths: Collection[str]) -> str:
    return next((end for end in _ends(name.removeprefix("./")) if end in paths), "")


def _ends(name: str) -> Iterator[str]:
    """The name, then what is left of it without its first folders, as long as that is a folder and a file."""
    yield name
    while name.count("/") > 1:
        name = name.partition("/")[2]
        yield name


def _safe(text: str, most: int, ends: str = "\n") -> str:
    """A text to show, its middle left out where it is too long: an error stands last."""
    head = most // 3
    return safe_patch(without_middle(text, head, most - head, ends=ends)).text
