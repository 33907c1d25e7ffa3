"""Whether a group is judged now, which of its pull requests take part, what is published (pure)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.policy.event_policy import BY_COMMAND
from app.settings.repo_config import Comments, Mode, RepoConfig, TriggerKind
from app.values.globs import matches
from app.values.identifiers import PullNumber
from model.domain import Verdict

CLOSED = "the issue is closed"
"""Why nothing is judged there, and no verdict that is ready is published: nobody waits for it any more."""

CLAIMS = frozenset({Verdict.CORRECT, Verdict.INCORRECT})
"""Verdicts that say something about a patch."""


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """What decides whether a pull request takes part."""

    number: PullNumber
    author: str
    """Login; empty when the account is gone."""
    is_open: bool
    is_draft: bool
    paths: tuple[str, ...]
    """The files it touches."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A pull request that is not judged, and why."""

    number: PullNumber
    reason: str


@dataclass(frozen=True, slots=True)
class Go:
    """Judge these now."""

    candidates: tuple[PullNumber, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Don't judge now; the reason is for people."""

    reason: str
    left_out: tuple[LeftOut, ...] = ()


def should_evaluate(
    config: RepoConfig,
    candidates: Sequence[CandidateFacts],
    trigger: str,
    *,
    issue_is_open: bool,
    alternatives: int = 0,
) -> Go | Wait:
    """Whether to judge an issue's pull requests now.

    `trigger` is that of the EvaluateIssue job. A command needs one candidate only; everything else
    needs `min_candidates` of them. `alternatives` are those that are there or will be written: beside
    them one pull request is enough, and for a command none.
    """
    commanded = trigger == BY_COMMAND
    kind = TriggerKind.COMMAND if commanded else TriggerKind.PULL_REQUEST
    if kind not in config.triggers:
        return Wait(f"`triggers` in this repository's settings does not list `{kind}`")
    if not issue_is_open:
        return Wait(CLOSED)
    reasons = {candidate.number: _why_left_out(config, candidate) for candidate in candidates}
    kept = tuple(number for number, reason in reasons.items() if reason is None)
    left_out = tuple(LeftOut(number, reason) for number, reason in reasons.items() if reason)
    needed = _needed(config, alternatives, commanded=commanded)
    if len(kept) < needed:
        return Wait(f"{_count(len(kept))} can be judged; {needed} needed", left_out)
    return Go(kept, left_out)


def judgeable(config: RepoConfig, candidates: Sequence[CandidateFacts]) -> tuple[PullNumber, ...]:
    """The pull requests that take part, in their order."""
    return tuple(one.number for one in candidates if _why_left_out(config, one) is None)


def _needed(config: RepoConfig, alternatives: int, *, commanded: bool) -> int:
    """How many pull requests; a command's alternative can be judged alone."""
    if commanded:
        return 0 if alternatives else 1
    return 1 if alternatives else config.min_candidates


def _why_left_out(config: RepoConfig, candidate: CandidateFacts) -> str | None:
    ignored = {login.lower() for login in config.ignore_authors}
    if not candidate.is_open:
        return "it is not open"
    if candidate.is_draft:
        return "it is a draft"
    if candidate.author.lower() in ignored:
        return "its author is listed in `ignore_authors`"
    if config.paths and not _touches(candidate.paths, config.paths):
        return "it touches none of the configured `paths`"
    return None


def _touches(paths: Collection[str], globs: Collection[str]) -> bool:
    return any(matches(path, glob) for path in paths for glob in globs)


def _count(pulls: int) -> str:
    return {0: "no pull request", 1: "one pull request"}.get(pulls, f"{pulls} pull requests")


@dataclass(frozen=True, slots=True)
class Publication:
    """Where a verdict appears. It is stored in any case."""

    comment: bool
    checks: bool


def publication(config: RepoConfig, trigger: str, verdicts: Collection[Verdict]) -> Publication:
    """What of a verdict the world sees; whoever asks by command is always answered on the issue."""
    asked = trigger == BY_COMMAND
    if config.mode is Mode.SHADOW:
        return Publication(comment=asked, checks=False)
    claims = not CLAIMS.isdisjoint(verdicts)
    wanted = config.comments is Comments.ALL or (config.comments is Comments.OUTCOMES and claims)
    return Publication(comment=asked or wanted, checks=True)
