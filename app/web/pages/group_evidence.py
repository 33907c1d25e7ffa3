"""What the verdicts of a group rest on, as text for its page (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from app.comments.evidence_text import list_checklist, list_columns, list_facts, list_group_notes
from app.comments.judging_method import list_sources
from app.comments.phrases import PLAIN
from app.comments.views import read_group_grounds
from model.domain import PatchVerdict, Verdict

_CHECKLIST: Final = 20_000
"""Most characters of the checklist of one patch."""


@dataclass(frozen=True, slots=True)
class PatchGrounds:
    """What the verdict on one patch rests on."""

    verdict: PatchVerdict
    cells: tuple[str, ...]
    """One cell for each of the group's columns of evidence."""
    facts: tuple[str, ...]
    """Empty for a patch that was not judged. If there is a checklist, the last fact counts its lines."""
    checklist: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupEvidence:
    """The evidence of a group. Names and reasons are untrusted, so the template escapes every text."""

    columns: tuple[str, ...] = ()
    """Titles of the columns of evidence in which at least one patch has a value."""
    sources: tuple[str, ...] = ()
    """Where the probabilities come from, and what the model saw of the base."""
    notes: tuple[str, ...] = ()
    """What ran on the patches, with the names that the table has no room for."""
    patches: Mapping[str, PatchGrounds] = field(default_factory=dict)
    """By the name of the patch; empty without a verdict."""


def build_group_evidence(document: Mapping[str, Any]) -> GroupEvidence:
    """Build the evidence from an `r4p.verdict/1` document. A document without the key `patches` gives empty evidence."""
    if "patches" not in document:
        return GroupEvidence()
    group = read_group_grounds(document)
    columns = list_columns(group.verdicts, PLAIN)
    patches = {}
    for verdict in group.verdicts:
        is_judged = verdict.verdict is not Verdict.NOT_JUDGED
        patches[str(verdict.id)] = PatchGrounds(
            verdict=verdict,
            cells=tuple(column.write(verdict) for column in columns),
            facts=tuple(list_facts(verdict, group, PLAIN)) if is_judged else (),
            checklist=tuple(list_checklist(verdict, _CHECKLIST, PLAIN)),
        )
    return GroupEvidence(
        columns=tuple(column.title for column in columns),
        sources=tuple(list_sources(group)),
        notes=tuple(list_group_notes(group.verdicts, PLAIN)),
        patches=patches,
    )
