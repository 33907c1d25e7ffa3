"""Run files sorted into what is compared: series of one verifier, on sets of groups (pure)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from model.evaluation.evaluation_document import document
from model.evaluation.judged_group import JudgedGroup, Key
from model.evaluation.judgement_columns import Columns, Indices, columns
from model.evaluation.report.content import many
from model.evaluation.report.rate_intervals import numbered
from model.prompts.untrusted import visible
from model.verdict_json import Json

_LONGEST = 60
"""Characters of a name from outside that are shown."""


@dataclass(frozen=True, eq=False)
class Series:
    """What one verifier with one engine and number of votes said on one set of groups."""

    label: str
    colour: int
    """The same for the same label on every set."""
    judged: tuple[JudgedGroup, ...]

    @property
    def key(self) -> Key:
        """Of its first group; all share what stands in it but the group."""
        return self.judged[0].key

    @cached_property
    def document(self) -> dict[str, Json]:
        """As `r4p evaluate --json` has it."""
        return document(self.judged)

    @cached_property
    def columns(self) -> Columns:
        """Beliefs and truths."""
        return columns(self.judged)

    @cached_property
    def issue(self) -> Indices:
        """The number of each patch's issue."""
        return numbered([group.instance_id for group in self.judged for _ in group.patches])

    @property
    def known(self) -> frozenset[str]:
        """The groups that were judged."""
        return frozenset(group.key.group for group in self.judged)

    @property
    def patches(self) -> int:
        """How many were judged."""
        return sum(len(group.patches) for group in self.judged)

    @property
    def counted(self) -> str:
        """Of how many issues and patches its figures are."""
        issues = len({group.instance_id for group in self.judged})
        groups = many(len(self.judged), "group")
        return f"{many(issues, 'issue')}, {groups}, {many(self.patches, 'patch')}"


@dataclass(frozen=True, slots=True)
class GroupSet:
    """One file of groups, with everybody who judged it."""

    name: str
    slug: str
    """Its name as a part of file names."""
    series: tuple[Series, ...]

    @property
    def largest(self) -> Series:
        """Who judged most of it; constants and references are drawn for these groups."""
        return max(self.series, key=lambda one: one.patches)

    @property
    def counted(self) -> str:
        """Of how many issues and patches; each verifier's where they differ, and that they then are no match."""
        counts = counted((one.label, one.counted) for one in self.series)
        if len({one.known for one in self.series}) == 1:
            return counts
        return f"{counts} Not the same groups: compare by paired differences, not by eye."


def sets(files: Iterable[tuple[str, Sequence[JudgedGroup]]]) -> tuple[GroupSet, ...]:
    """The judged groups of run files, by set and then by verifier, both by name.

    A run file is called `<groups>.<verifier>.jsonl`, as `r4p evaluate --out DIR` names it; without a dot inside, the
    whole name is the set's. A group that one judge has judged twice counts once.
    """
    found: dict[str, dict[_Who, dict[str, JudgedGroup]]] = {}
    for name, judged in files:
        runs = found.setdefault(_set_name(name), {})
        for group in judged:
            runs.setdefault(_who(group.key), {}).setdefault(group.key.group, group)
    labels = _labels({who for runs in found.values() for who in runs})
    colours = {label: at for at, label in enumerate(sorted(labels.values()))}
    slugs = _slugs(sorted(found))
    return tuple(
        GroupSet(
            name=shown(name),
            slug=slugs[name],
            series=tuple(
                Series(label, colours[label], tuple(groups.values()))
                for label, groups in sorted((labels[who], runs[who]) for who in runs)
            ),
        )
        for name, runs in sorted(found.items())
    )


def counted(counts: Iterable[tuple[str, str]]) -> str:
    """A sentence of (who, of how many): one count where all are alike, else whose is which."""
    whose: dict[str, list[str]] = {}
    for who, count in counts:
        whose.setdefault(count, []).append(who)
    if len(whose) == 1:
        return f"{next(iter(whose))}."
    return "; ".join(f"{', '.join(names)}: {count}" for count, names in whose.items()) + "."


def reasons(lacking: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """Sentences of (set, who, why something can't be computed): those with one reason together."""
    where: dict[tuple[str, str], list[str]] = {}
    for name, who, why in lacking:
        where.setdefault((why, who), []).append(name)
    whose: dict[tuple[str, str], list[str]] = {}
    for (why, who), names in where.items():
        whose.setdefault((why, ", ".join(names)), []).append(who)
    return tuple(f"{', '.join(who)} on {names}: {why}" for (why, names), who in whose.items())


def shown(name: str) -> str:
    """A name from outside: nothing invisible in it, and not longer than a line."""
    clear = visible(" ".join(name.split()))
    return clear if len(clear) <= _LONGEST else f"{clear[: _LONGEST - 1]}…"


_Who = tuple[str, str, str, str, int]


def _who(key: Key) -> _Who:
    engine = key.engine
    return key.verifier, engine.model, engine.name, engine.prompt_fingerprint, key.votes


def _set_name(file: str) -> str:
    stem = file.removesuffix(".jsonl")
    return stem.rpartition(".")[0] or stem


def _labels(everybody: Iterable[_Who]) -> dict[_Who, str]:
    """The verifier's name, and whatever else it takes to tell its runs apart."""
    by_verifier: dict[str, list[_Who]] = {}
    for who in sorted(everybody):
        by_verifier.setdefault(who[0], []).append(who)
    return {who: _label(who, alike) for alike in by_verifier.values() for who in alike}


def _label(who: _Who, alike: Sequence[_Who]) -> str:
    parts = (who[1], who[2], f"prompt {who[3]}", f"{who[4]} votes")
    differing = [len({other[at] for other in alike}) > 1 for at in range(1, 5)]
    kept = [part for part, differs in zip(parts, differing, strict=True) if differs]
    return ", ".join(shown(part) for part in (who[0], *kept))


def _slugs(names: Sequence[str]) -> dict[str, str]:
    slugs: dict[str, str] = {}
    for name in names:
        slug = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:_LONGEST].strip("-").lower() or "groups"
        taken = sum(re.sub(r"\.\d+$", "", other) == slug for other in slugs.values())
        slugs[name] = f"{slug}.{taken + 1}" if taken else slug
    return slugs
