"""The page of one group: its candidates side by side, votes, evidence, history and outcomes; and the opinion form."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.comments.evidence_text import (
    MERGEABLE_NOTE,
    NO_VALUE,
    list_checklist,
    list_columns,
    list_facts,
    list_group_notes,
)
from app.comments.judging_method import list_sources
from app.comments.phrases import PLAIN
from app.comments.views import read_group_grounds
from app.db.store.pages import group_page as store
from app.db.store.pages.group_page import CandidateRow, GroupDetails, GroupHead, VoteRow
from app.db.store.queue.job_rows import store_planned
from app.jobs.job import Planned
from app.jobs.outcome_jobs import RecordOpinion
from app.policy.commands import REGISTRY, Verb
from app.settings.repo_config import FOR_CALIBRATORS, read_training_consent
from app.values.identifiers import RepositoryId
from app.web.pages.access import Viewer
from app.web.pages.diff_view import DiffView, build_diff_view
from app.web.pages.page_endpoints import Form, PageMissing, PageRefused, Site, read_number
from app.web.pages.rendering import render_page
from app.web.pages.track_record import read_records
from app.web.pages.verdict_statistics import ModelRecord, Share, find_observed
from model.domain import PatchVerdict, Verdict
from model.evaluation.wilson import compute_wilson_interval
from model.rivals.difference_text import write_sentences
from model.verdict_json import read_differences
from model.voting.verdict_summary import get_place

_MAX_ISSUE: Final = 10**9
_REASON: Final = 400
_CHECKLIST: Final = 20_000
"""Most characters of the checklist of one patch."""
_SHOWN: Final = 8
"""Patches side by side. The rest stands in the table, and below with what its verdict rests on."""


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


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """A patch of the page: its row, the verdict on it with its grounds, and its diff."""

    row: CandidateRow
    grounds: PatchGrounds | None
    diff: DiffView | None
    """None: the page shows none."""

    @property
    def verdict(self) -> PatchVerdict | None:
        """The verdict on the patch; None: there is none."""
        return self.grounds.verdict if self.grounds else None


def show_group(site: Site, viewer: Viewer, request: Request) -> Response:
    """Show the group of the issue in the path."""
    with site.database.connect() as connection:
        group = find_group(connection, viewer, request)
        details = store.load_group_details(connection, group)
    document = details.verdict or {}
    evidence = build_group_evidence(document)
    candidates = _sort_candidates(_build_candidates(details, evidence))
    engine = document.get("engine", {})
    records = read_records(site, RepositoryId(group.repository)) if evidence.patches else ()
    values = {
        "viewer": viewer,
        "group": group,
        "details": details,
        "candidates": candidates,
        "evidence": evidence,
        "shown": candidates[:_SHOWN],
        "intervals": [_write_interval(each.verdict) for each in candidates],
        "observed": [_find_observed(each.verdict, engine, records) for each in candidates],
        "left_over": candidates[_SHOWN:],
        "votes": build_matrix(details.votes, [each.row.id for each in candidates[:_SHOWN]]),
        "overlap": _build_overlap(candidates[:_SHOWN]),
        "differences": _write_differences(document),
        "engine": engine,
        "no_value": NO_VALUE,
        "mergeable": MERGEABLE_NOTE.replace("*", ""),
        "issue_url": f"{site.github_url}/{group.full_name}/issues/{group.issue}",
        "pull_url": f"{site.github_url}/{group.full_name}/pull/",
        "may_decide": viewer.has_permission(
            RepositoryId(group.repository), REGISTRY[Verb.AGREE].needs
        ),
        "is_thanked": request.query_params.get("noted") == "1",
    }
    return render_page("group.html.j2", values)


def record_opinion(site: Site, viewer: Viewer, request: Request, form: Form) -> Response:
    """Plan what `/r4p agree` or `/r4p disagree` does. The worker asks GitHub for the permission once more."""
    with site.database.begin() as connection:
        group = find_group(connection, viewer, request)
        if not viewer.has_permission(RepositoryId(group.repository), REGISTRY[Verb.AGREE].needs):
            raise PageRefused("Only people with write access to the repository judge a verdict.")
        _check_reason(connection, group, form)
        details = store.load_group_details(connection, group)
        job = _build_job(group, details, viewer, form)
        stored = store_planned(connection, [Planned(job)])
    site.ring(stored)
    back = f"/r/{group.full_name}/issues/{group.issue}?noted=1"
    return RedirectResponse(back, HTTPStatus.SEE_OTHER)


def find_group(connection: Connection, viewer: Viewer, request: Request) -> GroupHead:
    """Return the group that the path names. Raises PageMissing if there is none that the person may see."""
    number = read_number(request, "issue")
    full_name = f"{request.path_params['owner']}/{request.path_params['name']}"
    repository = store.find_repository(connection, full_name, viewer.repositories)
    if repository is None or number > _MAX_ISSUE:
        raise PageMissing
    group = store.find_group_head(connection, repository, number)
    if group is None:
        raise PageMissing
    return group


def _build_job(
    group: GroupHead, details: GroupDetails, viewer: Viewer, form: Form
) -> RecordOpinion:
    """Read the form. Raises PageRefused with the fix."""
    about = form.get("about", "")
    if form.get("answer") not in {"agree", "disagree"}:
        raise PageRefused("Choose whether the verdict is right or wrong.")
    if about and about not in {row.id for row in details.candidates}:
        raise PageRefused("This verdict has no such patch. Reload the page.")
    return RecordOpinion(
        installation=group.installation,
        repository=RepositoryId(group.repository),
        issue=group.issue,
        name=uuid.uuid4().hex,
        about=about,
        is_right=form["answer"] == "agree",
        reason=_read_reason(form),
        person=viewer.person,
        login=viewer.login,
        moment=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _check_reason(connection: Connection, group: GroupHead, form: Form) -> None:
    """Raise PageRefused if a person disagrees without a reason. It says that the bot learns only where it does."""
    if form.get("answer") != "disagree" or _read_reason(form):
        return
    stored = store.read_settings_row(connection, group.repository)
    is_learning = read_training_consent(stored.own_text, stored.error) in FOR_CALIBRATORS
    why = ", because the bot learns from it" if is_learning else ""
    raise PageRefused(f"Say why the verdict is wrong{why}.")


def _read_reason(form: Form) -> str:
    return " ".join(form.get("reason", "").split())[:_REASON]


def build_group_evidence(document: Mapping[str, Any]) -> GroupEvidence:
    """Build the evidence from an `r4p.verdict/1` document. One without patches gives evidence without any."""
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


def _build_candidates(details: GroupDetails, evidence: GroupEvidence) -> list[ShownCandidate]:
    return [
        ShownCandidate(
            row,
            evidence.patches.get(row.id),
            None if row.diff is None or place >= _SHOWN else build_diff_view(row.diff),
        )
        for place, row in enumerate(details.candidates)
    ]


def _sort_candidates(candidates: Iterable[ShownCandidate]) -> list[ShownCandidate]:
    """Sort by verdict, as the comment does. A patch without a verdict comes last."""
    return sorted(
        candidates,
        key=lambda each: get_place(each.verdict.verdict if each.verdict else Verdict.NOT_JUDGED),
    )


def _find_observed(
    verdict: PatchVerdict | None, engine: Mapping[str, Any], records: Sequence[ModelRecord]
) -> Share | None:
    """Return what became of the repository's patches with about the same probability; None: nothing is known."""
    if verdict is None or verdict.probability is None:
        return None
    return find_observed(records, engine.get("model", ""), verdict.probability)


def _write_interval(verdict: PatchVerdict | None) -> str:
    """Return the 95 % interval of the share of votes for a patch; empty without votes."""
    if verdict is None or not verdict.votes.valid:
        return ""
    low, high = compute_wilson_interval(verdict.votes.correct, verdict.votes.valid)
    return f"({low * 100:.0f} % to {high * 100:.0f} %)"


def build_matrix(votes: Sequence[VoteRow], patches: Sequence[str]) -> list[dict[str, Any]]:
    """Build a row per vote and a cell per patch: correct, incorrect, unreadable or absent."""
    return [
        {
            "number": vote.number + 1,
            "forced": vote.forced,
            "cells": [_judge_seat(vote, patch) for patch in patches],
        }
        for vote in votes
    ]


def _judge_seat(vote: VoteRow, patch: str) -> str:
    if patch not in vote.seats:
        return "absent"
    if vote.correct is None:
        return "unreadable"
    return "correct" if patch in vote.correct else "incorrect"


def _build_overlap(candidates: Sequence[ShownCandidate]) -> list[tuple[str, list[str]]]:
    """Return each changed file with the change of every patch, the files that most patches change first."""
    changes: dict[str, dict[str, str]] = {}
    for each in candidates:
        for file in each.diff.files if each.diff else ():
            change = f"+{file.added} −{file.deleted}"
            changes.setdefault(file.path, {})[each.row.id] = change
    ranked = sorted(changes.items(), key=lambda item: (-len(item[1]), item[0]))[:20]
    return [
        (path, [of_patch.get(each.row.id, "") for each in candidates]) for path, of_patch in ranked
    ]


def _write_differences(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the sentences that tell the rivals apart, as plain text."""
    return write_sentences(read_differences(document), str, str)
