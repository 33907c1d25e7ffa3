"""The page of one group: its candidates side by side, votes, evidence, history and outcomes; and the opinion form."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.comments.evidence_text import MERGEABLE_NOTE, NO_VALUE
from app.db.store.pages import group_page as store
from app.db.store.pages.group_page import CandidateRow, GroupDetails, GroupHead, VoteRow
from app.db.store.queue.job_rows import store_planned
from app.jobs.job import Planned
from app.jobs.outcome_jobs import RecordOpinion
from app.policy.commands import REGISTRY, Verb
from app.settings.repo_config import FOR_CALIBRATORS, read_training_consent
from app.values.identifiers import RepositoryId
from app.web.pages.access import Viewer
from app.web.pages.page_endpoints import Form, PageMissing, PageRefused, Site, read_number
from app.web.pages.patch_view import (
    DiffView,
    GroupEvidence,
    PatchGrounds,
    build_diff_view,
    build_group_evidence,
)
from app.web.pages.rendering import render_page
from app.web.pages.track_record import count_group, read_records
from app.web.pages.verdict_statistics import Share, find_observed, read_judge
from model.domain import PatchVerdict, Verdict
from model.evaluation.wilson import compute_wilson_interval
from model.rivals.difference_text import write_sentences
from model.verdict_json import read_differences
from model.voting.verdict_summary import get_place

_MAX_ISSUE: Final = 10**9
_REASON: Final = 400
_SHOWN: Final = 8
"""Most patches shown side by side with their diffs. The table lists all; the page lists the others below, without diffs."""


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """A patch of the page: its row, the verdict on it with its grounds, and its diff."""

    row: CandidateRow
    grounds: PatchGrounds | None
    diff: DiffView | None
    """None: the page shows no diff of this patch."""

    @property
    def verdict(self) -> PatchVerdict | None:
        """The verdict on the patch; None: there is none."""
        return self.grounds.verdict if self.grounds else None


@dataclass(frozen=True, slots=True)
class OpinionForm:
    """What the form for an opinion shows."""

    about: str = ""
    """The chosen patch; empty: all."""
    reason: str = ""
    problem: str = ""
    """The mistake of the form that was sent; empty: none."""
    is_thanked: bool = False


def show_group(site: Site, viewer: Viewer, request: Request) -> Response:
    """Show the group of the issue in the path."""
    with site.database.connect() as connection:
        group = find_group(connection, viewer, request)
        details = store.load_group_details(connection, group)
    form = OpinionForm(is_thanked=request.query_params.get("noted") == "1")
    return _render(site, viewer, group, details, form)


def record_opinion(site: Site, viewer: Viewer, request: Request, form: Form) -> Response:
    """Plan what `/r4p agree` or `/r4p disagree` does. The worker asks GitHub for the permission once more.

    A form with a mistake comes back with what the person wrote.
    """
    try:
        with site.database.begin() as connection:
            group = find_group(connection, viewer, request)
            if not viewer.has_permission(
                RepositoryId(group.repository), REGISTRY[Verb.AGREE].needs
            ):
                raise PageRefused(
                    "Only people with write access to the repository judge a verdict."
                )
            details = store.load_group_details(connection, group)
            _check_reason(connection, group, form)
            stored = store_planned(connection, [Planned(_build_job(group, details, viewer, form))])
    except _BadOpinion as error:
        kept = OpinionForm(form.get("about", ""), _read_reason(form), str(error))
        return _render(site, viewer, group, details, kept, HTTPStatus.UNPROCESSABLE_ENTITY)
    site.ring(stored)
    back = f"/r/{group.full_name}/issues/{group.issue}?noted=1"
    return RedirectResponse(back, HTTPStatus.SEE_OTHER)


class _BadOpinion(Exception):
    """The form has a mistake. The message names the fix."""


def _render(
    site: Site,
    viewer: Viewer,
    group: GroupHead,
    details: GroupDetails,
    form: OpinionForm,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    """Render the page with what the form for an opinion shows."""
    document = details.verdict or {}
    evidence = build_group_evidence(document)
    candidates = _build_candidates(details, evidence)
    values = {
        "viewer": viewer,
        "group": group,
        "details": details,
        "candidates": candidates,
        "evidence": evidence,
        "shown": candidates[:_SHOWN],
        "intervals": [_write_interval(each.verdict) for each in candidates],
        "observed": _find_all_observed(site, group, document, candidates),
        "left_over": candidates[_SHOWN:],
        "votes": build_matrix(details.votes, [each.row.id for each in candidates[:_SHOWN]]),
        "overlap": _build_overlap(candidates[:_SHOWN]),
        "differences": _write_differences(document),
        "engine": document.get("engine", {}),
        "no_value": NO_VALUE,
        "longest_diff": store.MAX_DIFF,
        "mergeable": MERGEABLE_NOTE.replace("*", ""),
        "issue_url": f"{site.github_url}/{group.full_name}/issues/{group.issue}",
        "pull_url": f"{site.github_url}/{group.full_name}/pull/",
        "may_decide": viewer.has_permission(
            RepositoryId(group.repository), REGISTRY[Verb.AGREE].needs
        ),
        "form": form,
    }
    return render_page("group.html.j2", values, status=status)


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
    """Read the form. Raises _BadOpinion."""
    about = form.get("about", "")
    if form.get("answer") not in {"agree", "disagree"}:
        raise _BadOpinion("Choose whether the verdict is right or wrong.")
    if about and about not in {row.id for row in details.candidates}:
        raise _BadOpinion("This verdict has no such patch. Choose one again.")
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
    """Raise _BadOpinion if a person disagrees without a reason. Its message names learning only where the bot learns."""
    if form.get("answer") != "disagree" or _read_reason(form):
        return
    stored = store.read_settings_row(connection, group.repository)
    is_learning = read_training_consent(stored.own_text, stored.error) in FOR_CALIBRATORS
    why = ", because the bot learns from it" if is_learning else ""
    raise _BadOpinion(f"Say why the verdict is wrong{why}.")


def _read_reason(form: Form) -> str:
    return " ".join(form.get("reason", "").split())[:_REASON]


def _build_candidates(details: GroupDetails, evidence: GroupEvidence) -> list[ShownCandidate]:
    """Build the patches by verdict, as the comment does. A patch without a verdict comes last. Only the first have diffs."""
    candidates = sorted(
        (ShownCandidate(row, evidence.patches.get(row.id), None) for row in details.candidates),
        key=lambda each: get_place(each.verdict.verdict if each.verdict else Verdict.NOT_JUDGED),
    )
    return [
        replace(each, diff=None if each.row.diff is None else build_diff_view(each.row.diff))
        for each in candidates[:_SHOWN]
    ] + candidates[_SHOWN:]


def _find_all_observed(
    site: Site, group: GroupHead, document: Mapping[str, Any], candidates: Sequence[ShownCandidate]
) -> list[Share | None]:
    """Return for each patch what became of other patches of the repository to which the judge gave its probability."""
    if all(each.verdict is None for each in candidates):
        return [None] * len(candidates)
    records = read_records(site, RepositoryId(group.repository))
    own = count_group(site, group.repository, group.id)
    judge = read_judge(document)
    return [
        find_observed(records, own, judge, each.verdict.probability if each.verdict else None)
        for each in candidates
    ]


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
