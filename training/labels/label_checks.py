"""Let people check labels: sample patches, read their answers, print what the labels are worth (pure)."""

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from app.outcomes.judgement import PatchKey
from training.labels.audit import LabelAudit
from training.labels.label_rule import LabelGrade
from training.labels.labels import LabelledPatch
from training.labels.rules import CHECKED_RULES, RULES


def sample_labels(
    labels: Sequence[LabelledPatch], count: int, seed: int = 0
) -> list[LabelledPatch]:
    """Return at most `count` random labelled patches that nobody has checked, as evenly over the rules as possible."""
    dice = random.Random(seed)
    by_rule = defaultdict(list)
    for label in labels:
        if label.label is not LabelGrade.UNKNOWN and label.rule_name not in CHECKED_RULES.values():
            by_rule[label.rule_name].append(label)
    for labels_of_rule in by_rule.values():
        dice.shuffle(labels_of_rule)
    turns = sorted(
        (turn, rule)
        for rule, labels_of_rule in by_rule.items()
        for turn in range(len(labels_of_rule))
    )
    chosen = [by_rule[rule][turn] for turn, rule in turns[:count]]
    dice.shuffle(chosen)
    return chosen


def format_questions(labels: Iterable[LabelledPatch]) -> Iterator[str]:
    """Yield a JSON line for each patch to check by hand: its issue, pull request, SHA-256 and an empty answer."""
    for label in labels:
        yield json.dumps(
            {
                "issue": _format_issue(label),
                "pull": label.pull,
                "patch": label.patch,
                "correct": None,
            }
        )


def parse_answers(lines: Iterable[str], labels: Iterable[LabelledPatch]) -> dict[PatchKey, bool]:
    """Return people's answers (True: the patch is correct) by patch key.

    `lines` are those of `format_questions` with answers filled in. `labels` are all labelled patches; lines about other
    patches and lines without an answer are skipped. Raises ValueError that names the unreadable line.
    """
    keys = {(_format_issue(label), label.pull, label.patch): label.key for label in labels}
    answers = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            answer = _parse_answer(number, line)
            key = keys.get((answer["issue"], answer["pull"], answer["patch"]))
            if key is not None and answer["correct"] is not None:
                answers[key] = answer["correct"]
    return answers


def format_audit(audit: LabelAudit, rule_counts: Mapping[str, int]) -> Iterator[str]:
    """Yield a label audit as lines of text. `rule_counts` is how many patches each rule labels."""
    if not audit.checked:
        yield 'No label was checked: write true or false after "correct".'
        return
    yield f"{'rule':<18}{'checked':>8}{'correct':>9}   P(correct) from now on"
    for rule in RULES:
        if count := audit.checked.get(rule, 0):
            belief = audit.estimate_probability(rule)
            change = (
                "unknown"
                if belief is None
                else f"{belief:.2f}, before {RULES[rule].probability:.2f}"
            )
            yield f"{rule:<18}{count:>8}{audit.correct.get(rule, 0):>9}   {change}"
    rates = audit.estimate_flip_rates(rule_counts)
    if rates is None:
        yield "Too few were checked to say how often labels flip."
        return
    yield (
        f"Labels say correct of {rates.wrong_to_right:.1%} of incorrect patches,"
        f" and incorrect of {rates.right_to_wrong:.1%} of correct ones."
    )


def _parse_answer(number: int, line: str) -> dict[str, Any]:
    try:
        document = json.loads(line)
        answer = {name: document[name] for name in ("issue", "pull", "patch", "correct")}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"line {number} was not printed by `r4p labels sample`: {error}"
        ) from error
    if not any(answer["correct"] is value for value in (True, False, None)):
        raise ValueError(
            f'line {number}: "correct" is {answer["correct"]!r}; write true, false, or leave null'
        )
    return answer


def _format_issue(label: LabelledPatch) -> str:
    return f"{label.issue.repository.full_name}#{label.issue.number}"
