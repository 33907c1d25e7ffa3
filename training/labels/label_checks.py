"""Checking labels by hand: which patches to look at, what the file of answers says, what labels turn out to be worth (pure)."""

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from app.outcomes.judgement import PatchKey
from training.labels.audit import Audit
from training.labels.labels import LabelledPatch
from training.labels.rules import CHECKED, RULES, Grade


def sample(labels: Sequence[LabelledPatch], count: int, seed: int = 0) -> list[LabelledPatch]:
    """That many labelled patches that nobody has checked, at random, from every rule as evenly as there are, mixed."""
    dice = random.Random(seed)
    by_rule = defaultdict(list)
    for one in labels:
        if one.label is not Grade.UNKNOWN and one.why not in CHECKED.values():
            by_rule[one.why].append(one)
    for found in by_rule.values():
        dice.shuffle(found)
    turns = sorted((turn, rule) for rule, found in by_rule.items() for turn in range(len(found)))
    chosen = [by_rule[rule][turn] for turn, rule in turns[:count]]
    dice.shuffle(chosen)
    return chosen


def questions(chosen: Iterable[LabelledPatch]) -> Iterator[str]:
    """A JSON object a line. The label is not among them: whoever checks should not be led."""
    for one in chosen:
        yield json.dumps(
            {
                "issue": _issue(one),
                "pull": one.pull,
                "patch": one.patch,
                "correct": None,
            }
        )


def answered(lines: Iterable[str], labels: Iterable[LabelledPatch]) -> dict[PatchKey, bool]:
    """Which patches are correct. Questions left open, and patches that were purged, are passed over.

    Raises ValueError naming the line that can't be read.
    """
    known = {(_issue(one), one.pull, one.patch): one.key for one in labels}
    found = {}
    for at, line in enumerate(lines, start=1):
        if line.strip():
            said = _answer(at, line)
            key = known.get((said["issue"], said["pull"], said["patch"]))
            if key is not None and said["correct"] is not None:
                found[key] = said["correct"]
    return found


def report(found: Audit, patches: Mapping[str, int]) -> Iterator[str]:
    """What hand-checked labels are worth, as text; `patches`: how many each rule labels."""
    if not found.checked:
        yield 'No label was checked: write true or false after "correct".'
        return
    yield f"{'rule':<18}{'checked':>8}{'correct':>9}   P(correct) from now on"
    for rule in RULES:
        if count := found.checked.get(rule, 0):
            belief = found.belief(rule)
            told = (
                "unknown"
                if belief is None
                else f"{belief:.2f}, before {RULES[rule].probability:.2f}"
            )
            yield f"{rule:<18}{count:>8}{found.correct.get(rule, 0):>9}   {told}"
    rates = found.flip_rates(patches)
    if rates is None:
        yield "Too few were checked to say how often labels flip."
        return
    yield (
        f"Labels say correct of {rates.wrong_to_right:.1%} of incorrect patches,"
        f" and incorrect of {rates.right_to_wrong:.1%} of correct ones."
    )


def _answer(at: int, line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
        found = {name: said[name] for name in ("issue", "pull", "patch", "correct")}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"line {at} is not one that `r4p labels sample` prints: {error}"
        ) from error
    if not any(found["correct"] is one for one in (True, False, None)):
        raise ValueError(
            f'line {at}: "correct" is {found["correct"]!r}; write true, false, or leave null'
        )
    return found


def _issue(one: LabelledPatch) -> str:
    return f"{one.issue.repository.full_name}#{one.issue.number}"
