"""Group judged groups of run files into series of one verifier on one set of groups (pure)."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from model.evaluation.bootstrap import Estimate
from model.evaluation.evaluation_document import build_document
from model.evaluation.judged_group import JudgedGroup, JudgementKey
from model.evaluation.judgement_columns import Indices, JudgementColumns, build_columns
from model.evaluation.rate_intervals import number_names
from model.evaluation.report.content import format_size
from model.prompts.untrusted import escape_invisible
from model.verdict_json import Json

_LONGEST = 60
"""Longest shown name from a run file, in characters."""


@dataclass(frozen=True, eq=False)
class Series:
    """The groups of one group set that one verifier judged, with one engine and one number of votes."""

    label: str
    """Name of the verifier, with the settings that differ between its runs."""
    colour: int
    """Colour index in figures. A label has the same colour on every group set."""
    judged: tuple[JudgedGroup, ...]

    @property
    def key(self) -> JudgementKey:
        """The judgement key of the series' first group. Other groups differ from it in the group id only."""
        return self.judged[0].key

    @cached_property
    def document(self) -> dict[str, Json]:
        """The `r4p.evaluate/1` document of the series' groups, as `r4p evaluate --json` prints it."""
        return build_document(self.judged)

    @cached_property
    def columns(self) -> JudgementColumns:
        """Beliefs and labels of the series' patches as columns."""
        return build_columns(self.judged)

    @cached_property
    def issue(self) -> Indices:
        """The issue number (0, 1, …) of each patch of the series, as an array."""
        return number_names([group.instance_id for group in self.judged for _ in group.patches])

    @property
    def group_ids(self) -> frozenset[str]:
        """The ids of the series' groups."""
        return frozenset(group.key.group for group in self.judged)

    @property
    def issue_count(self) -> int:
        """The number of issues of the series' groups."""
        return len({group.instance_id for group in self.judged})

    @property
    def patch_count(self) -> int:
        """The number of patches in the series' groups."""
        return sum(len(group.patches) for group in self.judged)

    @property
    def size(self) -> str:
        """The numbers of issues, groups and patches of the series: `1 issue, 2 groups, 8 patches`."""
        return format_size(self.issue_count, len(self.judged), self.patch_count)


@dataclass(frozen=True, slots=True)
class GroupSet:
    """One file of labelled groups, with a series for each judge of its groups."""

    name: str
    slug: str
    """The name as part of a file name."""
    series: tuple[Series, ...]

    @property
    def largest(self) -> Series:
        """The series with the most patches. Figures show constant predictors for its groups."""
        return max(self.series, key=lambda series: series.patch_count)

    @property
    def size(self) -> str:
        """A text with the numbers of issues, groups and patches of the group set.

        The text lists each series where the numbers differ, and warns if the series have different groups.
        """
        counts = format_counts((series.label, series.size) for series in self.series)
        if len({series.group_ids for series in self.series}) == 1:
            return counts
        return f"{counts} Not the same groups: compare by paired differences, not by eye."


def build_sets(files: Iterable[tuple[str, Sequence[JudgedGroup]]]) -> tuple[GroupSet, ...]:
    """Sort the judged groups of run files into group sets, and within each set into series.

    `files` has (file name, judged groups) pairs. A run file is called `<groups>.<verifier>.jsonl`, as `r4p evaluate
    --out DIR` names it; `<groups>` becomes the name of the set. A name without that inner dot is the set's name as a
    whole. A group that one judge has judged twice counts once.
    """
    runs_by_set: dict[str, dict[_JudgeId, dict[str, JudgedGroup]]] = {}
    for name, judged in files:
        runs = runs_by_set.setdefault(_parse_set_name(name), {})
        for group in judged:
            runs.setdefault(_identify_judge(group.key), {}).setdefault(group.key.group, group)
    labels = _build_labels({judge for runs in runs_by_set.values() for judge in runs})
    colours = {label: index for index, label in enumerate(sorted(labels.values()))}
    slugs = _build_slugs(sorted(runs_by_set))
    return tuple(
        GroupSet(
            name=clean_name(name),
            slug=slugs[name],
            series=tuple(
                Series(label, colours[label], tuple(groups.values()))
                for label, groups in sorted((labels[judge], runs[judge]) for judge in runs)
            ),
        )
        for name, runs in sorted(runs_by_set.items())
    )


def format_counts(counts: Iterable[tuple[str, str]]) -> str:
    """Format (series name, size) pairs as one text. If all sizes are equal, the text is that size only."""
    whose: dict[str, list[str]] = {}
    for name, count in counts:
        whose.setdefault(count, []).append(name)
    if len(whose) == 1:
        return f"{next(iter(whose))}."
    return "; ".join(f"{', '.join(names)}: {count}" for count, names in whose.items()) + "."


def read_estimate(document: Mapping[str, Json], metric: str) -> Estimate:
    """Read the estimate of the metric named `metric` from an `r4p.evaluate/1` document."""
    values = cast("Mapping[str, float | None]", document[metric])
    return Estimate(values["value"], values["low"], values["high"])


def clean_name(name: str) -> str:
    """Make a name from a run file printable: one line, invisible characters escaped, 60 characters at most."""
    clear = escape_invisible(" ".join(name.split()))
    return clear if len(clear) <= _LONGEST else f"{clear[: _LONGEST - 1]}…"


_JudgeId = tuple[str, str, str, str, int]


def _identify_judge(key: JudgementKey) -> _JudgeId:
    engine = key.engine
    return key.verifier, engine.model, engine.name, engine.prompt_fingerprint, key.votes


def _parse_set_name(file: str) -> str:
    stem = file.removesuffix(".jsonl")
    return stem.rpartition(".")[0] or stem


def _build_labels(judges: Collection[_JudgeId]) -> dict[_JudgeId, str]:
    """Label each judge by its verifier, and by the settings that tell its runs apart."""
    labels = {}
    for judge in judges:
        alike = [rival for rival in judges if rival[0] == judge[0]]
        parts = (judge[0], judge[1], judge[2], f"prompt {judge[3]}", f"{judge[4]} votes")
        differing = [index for index in range(1, 5) if len({rival[index] for rival in alike}) > 1]
        labels[judge] = ", ".join(clean_name(parts[index]) for index in (0, *differing))
    return labels


def _build_slugs(names: Sequence[str]) -> dict[str, str]:
    slugs: dict[str, str] = {}
    for name in names:
        slug = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:_LONGEST].strip("-").lower() or "groups"
        taken = sum(re.sub(r"\.\d+$", "", used_slug) == slug for used_slug in slugs.values())
        slugs[name] = f"{slug}.{taken + 1}" if taken else slug
    return slugs
