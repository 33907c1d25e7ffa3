"""Cheap facts about the rivals of one issue, the same list for every patch (pure).

They tell how alike rivals are, where they agree, how large they are and what of the issue they touch. Nothing in them
names an author, a system or a repository, and comments are not read, so style has little to hold on to.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, pstdev

from rapidfuzz.distance import Indel

from model.domain import Issue
from model.patches.edits import KEYWORDS, TOKEN, Edit, names, read, words

Facts = dict[str, float]

COMPARED = 8_000
"""Characters of a patch's code that are compared; Indel's time grows with their square."""
_SIMILARITIES = ("text", "added", "lines", "removed", "tokens", "names", "files", "areas", "places")
_ALIKE = (*_SIMILARITIES, "functions")
_SPREAD = ("text", "tokens", "functions", "areas")
_PHRASE = 5
_STRING = re.compile(r"(['\"])(?:\\.|(?!\1).)*\1")


@dataclass(frozen=True, slots=True)
class Named:
    """What the issue names."""

    names: frozenset[str]
    telling: frozenset[str]
    """Names that prose would not use: with an underscore, a capital inside, or of an error."""
    phrases: frozenset[tuple[str, ...]]
    """Every five tokens in a row."""


def columns() -> tuple[str, ...]:
    """What the numbers of one patch mean, in order."""
    return tuple(facts(Issue("", ""), [read("")])[0])


def facts(issue: Issue, edits: Sequence[Edit]) -> list[Facts]:
    """One set of facts per patch, in the order of `edits`; of each other they depend on no order."""
    named = _named(issue.text)
    own = [_own(edit, named) for edit in edits]
    size = len(edits)
    alike: list[list[Facts]] = [[{}] * size for _ in edits]
    for one, other in combinations(range(size), 2):
        alike[one][other] = alike[other][one] = likeness(edits[one], edits[other])
    group = _group(edits, own, [alike[i][j] for i, j in combinations(range(size), 2)])
    central = [fmean([a["text"] for a in row if a] or [0.0]) for row in alike]
    found = []
    for seat in range(size):
        others = [rival for rival in range(size) if rival != seat]
        found.append(
            {
                **own[seat],
                **_among(own, seat, others),
                **_likeness_to(alike[seat], others, group),
                "medoid": _rank(central, seat, others),
                **_support(edits, seat, others),
                **_distinct(edits, own, alike[seat], _one_of_each(edits, seat, others), seat),
                **group,
            }
        )
    return found


def likeness(one: Edit, other: Edit) -> Facts:
    """How alike two edits are, in many ways, each 0…1 (`size`: 0 for equal sizes, below for others)."""
    return {
        "text": _indel(one.code, other.code),
        "added": _indel("\n".join(one.added), "\n".join(other.added)),
        "lines": _overlap(one.added_lines, other.added_lines),
        "removed": _overlap(one.removed_lines, other.removed_lines),
        "tokens": _overlap(one.changes, other.changes),
        "names": _overlap(one.names, other.names),
        "files": _overlap(one.file_set, other.file_set),
        "areas": _overlap(one.areas, other.areas),
        "places": _overlap(one.places, other.places),
        "functions": _overlap(one.functions, other.functions),
        "same": float(one.identity == other.identity),
        "size": -abs(_log(len(one.code)) - _log(len(other.code))),
    }


def _own(edit: Edit, issue: Named) -> Facts:
    added, removed = len(edit.added), len(edit.removed)
    both = bool(added and removed)
    before, after = "\n".join(edit.removed), "\n".join(edit.added)
    kept = names(edit.removed_tokens) | names(edit.added_tokens) | edit.context_names
    around = words(" ".join(edit.sections))
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
        "new tokens": _log(edit.new.total()),
        "gone tokens": _log(edit.gone.total()),
        "rewrite": _indel(before, after) if both else 0.0,
        "only adds": float(not removed),
        "only removes": float(not added),
        "signature": float(_defines(edit.added) and _defines(edit.removed)),
        "only strings": float(both and _STRING.sub("S", before) == _STRING.sub("S", after)),
        "unseen names": _log(len(edit.unseen_names)),
        "unseen share": _share(edit.unseen_names, edit.names),
        "depth": float(edit.files[0].count("/")) if edit.files else 0.0,
        "issue names it adds": len(edit.names & issue.names) / (len(edit.names) + 1),
        "issue names it touches": len(kept & issue.telling) / (len(issue.telling) + 1),
        "issue names its path": len(parts & issue.names) / (len(parts) + 1),
        "issue names its function": len(around & issue.names) / (len(around) + 1),
        "issue shows its code": _quoted(edit, issue),
    }


_RELATIVE = (
    *("added lines", "removed lines", "net lines", "balance", "characters", "hunks", "files"),
    *("functions", "areas", "new tokens", "gone tokens", "rewrite", "unseen names", "unseen share"),
    *("depth",),
)


def _among(own: Sequence[Facts], seat: int, others: Sequence[int]) -> Facts:
    """How a patch differs from the mean of its rivals."""
    return {
        f"{name} beyond rivals": own[seat][name]
        - fmean([own[rival][name] for rival in others] or [own[seat][name]])
        for name in _RELATIVE
    }


def _likeness_to(alike: Sequence[Facts], others: Sequence[int], group: Facts) -> Facts:
    found: Facts = {}
    for name in (*_ALIKE, "same", "size"):
        ranked = sorted((alike[rival][name] for rival in others), reverse=True) or [0.0]
        found[f"rivals' {name}"] = mean = fmean(ranked)
        found[f"nearest rival's {name}"] = ranked[0]
        if name != "same":
            found[f"farthest rival's {name}"] = ranked[-1]
            found[f"{name} beyond the group"] = mean - group[f"group's {name}"]
        if name in _SPREAD:
            found[f"second rival's {name}"] = ranked[min(1, len(ranked) - 1)]
    for near in (0.5, 0.7, 0.9):
        close = sum(alike[rival]["text"] >= near for rival in others)
        found[f"rivals within {near}"] = close / max(1, len(others))
    return found


def _support(edits: Sequence[Edit], seat: int, others: Sequence[int]) -> Facts:
    """How much of this patch its rivals do too, and how much of what several of them do it lacks."""
    counts = Counter(token for rival in others for token in edits[rival].changes)
    mine = edits[seat].changes
    common = {token for token, count in counts.items() if count > 1}
    return {
        "support": sum(counts[token] for token in mine) / (len(mine) * max(1, len(others)) + 1),
        "lacking": _share(common - mine, common),
        "alone": sum(not counts[token] for token in mine) / (len(mine) + 1),
    }


def _one_of_each(edits: Sequence[Edit], seat: int, others: Sequence[int]) -> list[int]:
    """The rivals that make another edit, of equal ones only the first: copies are no further opinion."""
    seen = {edits[seat].identity}
    return [
        rival
        for rival in others
        if edits[rival].identity not in seen and not seen.add(edits[rival].identity)  # type: ignore[func-returns-value]
    ]


def _distinct(
    edits: Sequence[Edit],
    own: Sequence[Facts],
    alike: Sequence[Facts],
    rivals: Sequence[int],
    seat: int,
) -> Facts:
    found: Facts = {"distinct rivals": float(len(rivals))}
    for name in _ALIKE:
        values = [alike[rival][name] for rival in rivals] or [0.5]
        found[f"distinct rivals' {name}"] = fmean(values)
        found[f"nearest distinct {name}"] = max(values)
        found[f"farthest distinct {name}"] = min(values)
    sizes = [own[rival]["characters"] for rival in rivals] or [own[seat]["characters"]]
    here = own[seat]["characters"]
    found["size beyond distinct"] = here - fmean(sizes)
    found["larger than distinct"] = fmean([size < here for size in sizes]) if rivals else 0.5
    for name, parts in _PARTS.items():
        found |= _agreement(name, parts(edits[seat]), [parts(edits[rival]) for rival in rivals])
    return found


def _telling_changes(edit: Edit) -> frozenset[str]:
    words = {token: token.removeprefix("-") for token in edit.changes}
    return frozenset(t for t, word in words.items() if len(word) > 2 and word not in KEYWORDS)


_PARTS: dict[str, Callable[[Edit], frozenset[Hashable]]] = {
    "files": lambda edit: frozenset(edit.file_set),
    "functions": lambda edit: frozenset(edit.functions),
    "changes": lambda edit: frozenset(_telling_changes(edit)),
}


def _agreement(
    name: str, mine: frozenset[Hashable], theirs: Sequence[frozenset[Hashable]]
) -> Facts:
    counts = Counter(part for parts in theirs for part in parts)
    agreed = {part for part, count in counts.items() if count >= max(2, 0.6 * len(theirs))}
    return {
        f"distinct support for {name}": sum(counts[part] for part in mine)
        / (len(mine) * max(1, len(theirs)) + 1),
        f"agreed {name} lacking": _share(agreed - mine, agreed),
        f"{name} alone": _log(sum(not counts[part] for part in mine)),
    }


def _group(edits: Sequence[Edit], own: Sequence[Facts], pairs: Sequence[Facts]) -> Facts:
    found: Facts = {}
    for name in (*_ALIKE, "same", "size"):
        values = [pair[name] for pair in pairs] or [0.0]
        found[f"group's {name}"] = fmean(values)
        if name in _SPREAD:
            found[f"group's highest {name}"] = max(values)
            found[f"group's lowest {name}"] = min(values)
    sizes = [one["characters"] for one in own]
    return found | {
        "group's characters": fmean(sizes),
        "group's spread of characters": pstdev(sizes),
        "group's issue names": fmean(one["issue names it touches"] for one in own),
        "disorder of files": _entropy(edit.file_set for edit in edits),
        "disorder of functions": _entropy(edit.functions for edit in edits),
        "disorder of edits": _entropy(edit.identity for edit in edits),
    }


def _named(text: str) -> Named:
    every = words(text)
    telling = {
        name
        for name in every
        if "_" in name.strip("_") or name.endswith("Error") or re.search("[a-z][A-Z]", name)
    }
    return Named(every, frozenset(telling), frozenset(_phrases(text)))


def _phrases(text: str) -> Iterable[tuple[str, ...]]:
    tokens = TOKEN.findall(text)
    return zip(*(tokens[start:] for start in range(_PHRASE)), strict=False)


def _quoted(edit: Edit, issue: Named) -> float:
    phrases = list(_phrases("\n".join(edit.added)))
    return sum(phrase in issue.phrases for phrase in phrases) / (len(phrases) + 1)


def _defines(lines: Iterable[str]) -> bool:
    return any(line.lstrip().startswith(("def ", "async def ")) for line in lines)


def _rank(values: Sequence[float], seat: int, others: Sequence[int]) -> float:
    """Share of the others that are below, a tie counting half."""
    here = values[seat]
    won = [(values[rival] < here) + 0.5 * (values[rival] == here) for rival in others]
    return sum(won) / max(1, len(others))


def _indel(one: str, other: str) -> float:
    return Indel.normalized_similarity(one[:COMPARED], other[:COMPARED])


def _overlap(one: frozenset[Hashable], other: frozenset[Hashable]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 1.0


def _share(part: Iterable[Hashable], whole: Iterable[Hashable]) -> float:
    return len(frozenset(part)) / (len(frozenset(whole)) + 1)


def _entropy(kinds: Iterable[Hashable]) -> float:
    counts = Counter(kinds)
    total = counts.total()
    return -sum(count / total * math.log(count / total) for count in counts.values())


def _log(count: float) -> float:
    return math.log1p(count)
