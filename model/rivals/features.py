"""This module computes cheap features about the rivals of one issue, the same list for every patch (pure).

The features describe how alike rivals are, where they agree, how large they are, and which words of the issue they
touch. No feature names an author, a system or a repository, and comments are not read, so style has little influence.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import combinations
from statistics import fmean, pstdev

from rapidfuzz.distance import Indel

from model.domain import Issue
from model.patches.edits import KEYWORDS, PatchEdit, find_names, read_edit, select_names
from model.rivals.issue_names import IssueNames, measure_quotes, read_issue_names

Features = dict[str, float]

MAX_COMPARED_CHARACTERS = 8_000
"""Characters of a patch's code that are compared. Indel's time grows with their square."""
_SIMILARITIES = ("text", "added", "lines", "removed", "tokens", "names", "files", "areas", "places")
_ALIKE = (*_SIMILARITIES, "functions")
_SPREAD = ("text", "tokens", "functions", "areas")
_STRING = re.compile(r"(['\"])(?:\\.|(?!\1).)*\1")


def list_columns() -> tuple[str, ...]:
    """Return the names of a patch's features, in the order of the keys that `compute_features` returns."""
    return tuple(compute_features(Issue("", ""), [read_edit("")])[0])


def list_own_columns() -> tuple[str, ...]:
    """Return the names of the features that a patch has without regard to its rivals."""
    return tuple(_measure_edit(read_edit(""), read_issue_names("")))


def compute_features(issue: Issue, edits: Sequence[PatchEdit]) -> list[Features]:
    """Return the features of each patch by name, in the order of `edits`.

    The order of the rivals does not change the features of a patch.
    """
    issue_names = read_issue_names(issue.text)
    own = [_measure_edit(edit, issue_names) for edit in edits]
    size = len(edits)
    alike: list[list[Features]] = [[{}] * size for _ in edits]
    for left, right in combinations(range(size), 2):
        alike[left][right] = alike[right][left] = compare_edits(edits[left], edits[right])
    group = _measure_group(edits, own, [alike[i][j] for i, j in combinations(range(size), 2)])
    # Row i, column j: likeness of edits i and j. The diagonal is empty and is skipped.
    central = [fmean([a["text"] for a in row if a] or [0.0]) for row in alike]
    rows = []
    for seat in range(size):
        rivals = [rival for rival in range(size) if rival != seat]
        rows.append(
            {
                **own[seat],
                **_compare_with_mean(own, seat, rivals),
                **_summarise_likeness(alike[seat], rivals, group),
                "medoid": _compute_rank(central, seat, rivals),
                **_measure_support(edits, seat, rivals),
                **_compare_with_distinct(
                    edits, own, alike[seat], _select_distinct(edits, seat, rivals), seat
                ),
                **group,
            }
        )
    return rows


def compare_edits(left: PatchEdit, right: PatchEdit) -> Features:
    """Return how alike two edits are, by name of the measure, from 0 to 1.

    Only `size` is 0 for equal sizes, and negative otherwise.
    """
    return {
        "text": _compare_texts(left.code, right.code),
        "added": _compare_texts("\n".join(left.added), "\n".join(right.added)),
        "lines": _measure_overlap(left.lines_added, right.lines_added),
        "removed": _measure_overlap(left.lines_removed, right.lines_removed),
        "tokens": _measure_overlap(left.changes, right.changes),
        "names": _measure_overlap(left.names, right.names),
        "files": _measure_overlap(left.file_set, right.file_set),
        "areas": _measure_overlap(left.areas, right.areas),
        "places": _measure_overlap(left.places, right.places),
        "functions": _measure_overlap(left.functions, right.functions),
        "same": float(left.identity == right.identity),
        "size": -abs(_log(len(left.code)) - _log(len(right.code))),
    }


def _measure_edit(edit: PatchEdit, issue: IssueNames) -> Features:
    added, removed = len(edit.added), len(edit.removed)
    both = bool(added and removed)
    before, after = "\n".join(edit.removed), "\n".join(edit.added)
    kept = select_names(edit.tokens_removed) | select_names(edit.tokens_added) | edit.context_names
    around = find_names(" ".join(edit.sections))
    parts = {part for path in edit.files for part in re.split(r"[/.]", path)} - {"py", "js", "java"}
    return {
        "added lines": _log(added),
        "removed lines": _log(removed),
        "net lines": max(-50.0, min(50.0, added - removed)),
        "balance": (added - removed) / (added + removed + 1),
        "characters": _log(len(edit.code)),
        "hunks": _log(len(edit.sections)),
        "files": _log(len(edit.file_set)),
        "functions": _log(len(edit.functions)),
        "areas": _log(len(edit.areas)),
        "new tokens": _log(edit.new_tokens.total()),
        "gone tokens": _log(edit.tokens_gone.total()),
        "rewrite": _compare_texts(before, after) if both else 0.0,
        "only adds": float(not removed),
        "only removes": float(not added),
        "signature": float(_is_definition(edit.added) and _is_definition(edit.removed)),
        "only strings": float(both and _STRING.sub("S", before) == _STRING.sub("S", after)),
        "unseen names": _log(len(edit.unseen_names)),
        "unseen share": _measure_share(edit.unseen_names, edit.names),
        "depth": float(edit.files[0].count("/")) if edit.files else 0.0,
        "issue names it adds": len(edit.names & issue.names) / (len(edit.names) + 1),
        "issue names it touches": len(kept & issue.distinctive) / (len(issue.distinctive) + 1),
        "issue names its path": len(parts & issue.names) / (len(parts) + 1),
        "issue names its function": len(around & issue.names) / (len(around) + 1),
        "issue shows its code": measure_quotes(edit, issue),
    }


_RELATIVE = (
    *("added lines", "removed lines", "net lines", "balance", "characters", "hunks", "files"),
    *("functions", "areas", "new tokens", "gone tokens", "rewrite", "unseen names", "unseen share"),
    *("depth",),
)


def _compare_with_mean(own: Sequence[Features], seat: int, rivals: Sequence[int]) -> Features:
    """Subtract the mean of the rivals from a patch's own features."""
    return {
        f"{name} beyond rivals": own[seat][name]
        - fmean([own[rival][name] for rival in rivals] or [own[seat][name]])
        for name in _RELATIVE
    }


def _summarise_likeness(
    alike: Sequence[Features], rivals: Sequence[int], group: Features
) -> Features:
    features: Features = {}
    for name in (*_ALIKE, "same", "size"):
        ranked = sorted((alike[rival][name] for rival in rivals), reverse=True) or [0.0]
        features[f"rivals' {name}"] = mean = fmean(ranked)
        features[f"nearest rival's {name}"] = ranked[0]
        if name != "same":
            features[f"farthest rival's {name}"] = ranked[-1]
            features[f"{name} beyond the group"] = mean - group[f"group's {name}"]
        if name in _SPREAD:
            features[f"second rival's {name}"] = ranked[min(1, len(ranked) - 1)]
    for near in (0.5, 0.7, 0.9):
        close = sum(alike[rival]["text"] >= near for rival in rivals)
        features[f"rivals within {near}"] = close / max(1, len(rivals))
    return features


def _measure_support(edits: Sequence[PatchEdit], seat: int, rivals: Sequence[int]) -> Features:
    """Measure how much of this patch its rivals share, and how much of their common changes it lacks."""
    counts = Counter(token for rival in rivals for token in edits[rival].changes)
    changes = edits[seat].changes
    common = {token for token, count in counts.items() if count > 1}
    return {
        "support": sum(counts[token] for token in changes)
        / (len(changes) * max(1, len(rivals)) + 1),
        "lacking": _measure_share(common - changes, common),
        "alone": sum(not counts[token] for token in changes) / (len(changes) + 1),
    }


def _select_distinct(edits: Sequence[PatchEdit], seat: int, rivals: Sequence[int]) -> list[int]:
    """Select the rivals that make another edit, and only the first of equal ones. Copies are no further opinion."""
    # Reversed, so that the first of several equal rivals stays.
    first = {edits[rival].identity: rival for rival in reversed(rivals)}
    first.pop(edits[seat].identity, None)
    return sorted(first.values())


def _compare_with_distinct(
    edits: Sequence[PatchEdit],
    own: Sequence[Features],
    alike: Sequence[Features],
    rivals: Sequence[int],
    seat: int,
) -> Features:
    features: Features = {"distinct rivals": float(len(rivals))}
    for name in _ALIKE:
        values = [alike[rival][name] for rival in rivals] or [0.5]
        features[f"distinct rivals' {name}"] = fmean(values)
        features[f"nearest distinct {name}"] = max(values)
        features[f"farthest distinct {name}"] = min(values)
    sizes = [own[rival]["characters"] for rival in rivals] or [own[seat]["characters"]]
    own_size = own[seat]["characters"]
    features["size beyond distinct"] = own_size - fmean(sizes)
    features["larger than distinct"] = fmean([size < own_size for size in sizes]) if rivals else 0.5
    for name, parts in _PARTS.items():
        features |= _measure_agreement(
            name, parts(edits[seat]), [parts(edits[rival]) for rival in rivals]
        )
    return features


def _select_telling_changes(edit: PatchEdit) -> frozenset[str]:
    words = {token: token.removeprefix("-") for token in edit.changes}
    return frozenset(t for t, word in words.items() if len(word) > 2 and word not in KEYWORDS)


_PARTS: dict[str, Callable[[PatchEdit], frozenset[Hashable]]] = {
    "files": lambda edit: frozenset(edit.file_set),
    "functions": lambda edit: frozenset(edit.functions),
    "changes": lambda edit: frozenset(_select_telling_changes(edit)),
}


def _measure_agreement(
    name: str, parts: frozenset[Hashable], rival_parts: Sequence[frozenset[Hashable]]
) -> Features:
    counts = Counter(part for each in rival_parts for part in each)
    agreed = {part for part, count in counts.items() if count >= max(2, 0.6 * len(rival_parts))}
    return {
        f"distinct support for {name}": sum(counts[part] for part in parts)
        / (len(parts) * max(1, len(rival_parts)) + 1),
        f"agreed {name} lacking": _measure_share(agreed - parts, agreed),
        f"{name} alone": _log(sum(not counts[part] for part in parts)),
    }


def _measure_group(
    edits: Sequence[PatchEdit], own: Sequence[Features], pairs: Sequence[Features]
) -> Features:
    features: Features = {}
    for name in (*_ALIKE, "same", "size"):
        values = [pair[name] for pair in pairs] or [0.0]
        features[f"group's {name}"] = fmean(values)
        if name in _SPREAD:
            features[f"group's highest {name}"] = max(values)
            features[f"group's lowest {name}"] = min(values)
    sizes = [edit_features["characters"] for edit_features in own]
    return features | {
        "group's characters": fmean(sizes),
        "group's spread of characters": pstdev(sizes),
        "group's issue names": fmean(
            edit_features["issue names it touches"] for edit_features in own
        ),
        "disorder of files": _compute_entropy(edit.file_set for edit in edits),
        "disorder of functions": _compute_entropy(edit.functions for edit in edits),
        "disorder of edits": _compute_entropy(edit.identity for edit in edits),
    }


def _is_definition(lines: Iterable[str]) -> bool:
    return any(line.lstrip().startswith(("def ", "async def ")) for line in lines)


def _compute_rank(values: Sequence[float], seat: int, rivals: Sequence[int]) -> float:
    """Return the share of rivals with a lower value; a tie counts half."""
    value = values[seat]
    wins = [(values[rival] < value) + 0.5 * (values[rival] == value) for rival in rivals]
    return sum(wins) / max(1, len(rivals))


def _compare_texts(left: str, right: str) -> float:
    return Indel.normalized_similarity(
        left[:MAX_COMPARED_CHARACTERS], right[:MAX_COMPARED_CHARACTERS]
    )


def _measure_overlap(left: frozenset[Hashable], right: frozenset[Hashable]) -> float:
    union = len(left | right)
    return len(left & right) / union if union else 1.0


def _measure_share(part: Iterable[Hashable], whole: Iterable[Hashable]) -> float:
    return len(frozenset(part)) / (len(frozenset(whole)) + 1)


def _compute_entropy(kinds: Iterable[Hashable]) -> float:
    counts = Counter(kinds)
    total = counts.total()
    return -sum(count / total * math.log(count / total) for count in counts.values())


def _log(count: float) -> float:
    return math.log1p(count)
