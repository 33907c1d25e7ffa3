"""Drawn groups as one table of facts and labels, and what each row weighs in a fit."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from model.domain import Issue
from model.patches import edits
from model.patches.edits import PatchEdit
from model.rivals.consensus_model import Floats, has_copies, matrix
from model.rivals.features import Facts, facts
from model.rivals.rival_agreement import panels
from training.consensus.group_sampling import Drawn, Kind, system

Mask = NDArray[np.bool_]
_MOST = 5.0
"""A weight is raised or lowered at most by this factor to balance a draw."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One row per patch of every group."""

    facts: Floats
    label: NDArray[np.int64]
    kind: NDArray[np.str_]
    issue: NDArray[np.str_]
    repository: NDArray[np.str_]
    system: NDArray[np.str_]
    """Family of the row's source: to leave a system out, never a fact."""
    correct: NDArray[np.int64]
    """Correct patches of the row's group, as quarters of it."""
    copies: Mask
    """Whether two patches of the row's group make the very same edit."""
    part: Mask
    """Whether the row's group is a part, with copies as one opinion."""


def table(drawn: Iterable[Drawn]) -> Table:
    """Reads each diff once; a part in which all say the same is left out."""
    read = cache(edits.read)
    rows, columns = [], []
    for one in drawn:
        group = one.group
        patches = [read(patch.patch.diff) for patch in group.patches]
        known = (_as_opinions if one.part else facts)(group.issue, patches)
        if not known:
            continue
        quarters = round(4 * sum(patch.resolved for patch in group.patches) / len(group.patches))
        rows.append(matrix(known))
        place = (one.kind.value, group.instance_id, group.repo)
        head = (*place, quarters, has_copies(known), one.part)
        columns += [(patch.resolved, system(patch.source), *head) for patch in group.patches]
    label, systems, kind, issue, repository, correct, copies, part = zip(*columns, strict=True)
    return Table(
        np.concatenate(rows),
        np.array(label, np.int64),
        np.array(kind),
        np.array(issue),
        np.array(repository),
        np.array(systems),
        np.array(correct, np.int64),
        np.array(copies, np.bool_),
        np.array(part, np.bool_),
    )


def _as_opinions(issue: Issue, read: Sequence[PatchEdit]) -> list[Facts]:
    """What is known of each where copies are one opinion; nothing where there is but one."""
    among = panels(read)
    known = {
        panel: facts(issue, [read[seat] for seat in panel]) for _, panel in among if len(panel) > 1
    }
    return [known[panel][panel.index(seat)] for seat, panel in among if panel in known]


def weights(of: Table, mix: Mapping[Kind, float], among: Mask) -> Floats:
    """What each row weighs: every issue the same within a kind, and 0 outside `among`.

    Drawn groups hold another share of correct patches than given ones do. They are balanced to the first kind of the
    mix: a group with so many correct patches weighs as much as its like does there.
    """
    first, *_ = mix
    wanted = _shares(of, _per_issue(of, among & (of.kind == first.value)))
    total = np.zeros(len(of.label))
    for kind, much in mix.items():
        even = _per_issue(of, among & (of.kind == kind.value))
        if kind is not first and even.any():
            ratio = wanted / np.maximum(_shares(of, even), 1e-9)
            even = even * np.clip(ratio, 1 / _MOST, _MOST)[of.correct]
        total += much * even
    return total / float(total[total > 0].mean())


def _per_issue(of: Table, rows: Mask) -> Floats:
    issues: Sequence[str] = of.issue[rows].tolist()
    counts = Counter(issues)
    even = np.zeros(len(rows))
    even[rows] = [1 / counts[issue] for issue in issues]
    return even


def _shares(of: Table, weight: Floats) -> Floats:
    """How much of the weight lies in groups with 0, 1, … 4 quarters correct; never quite nothing."""
    sums: Floats = np.bincount(of.correct, weight, minlength=5) + 0.01 * weight.sum() + 1e-9
    return sums / float(sums.sum())
