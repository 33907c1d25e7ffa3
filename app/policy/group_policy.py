"""Decides whether the bot judges a group now, which pull requests take part, and what it publishes (pure)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.github.facts import IssueState, PullRequest
from app.policy.event_policy import BY_COMMAND
from app.policy.rival_links import LinkStrength, Member
from app.settings.repo_config import (
    Comments,
    IncludeDrafts,
    JudgeFrom,
    Mode,
    RepoConfig,
    TriggerKind,
)
from app.values.identifiers import PullNumber
from app.values.text_matching import is_match
from model.domain import Verdict

CLOSED = "the issue is closed"
"""Reason why the bot neither judges an issue nor publishes a ready verdict."""

VERDICT_FIRST = "the verdict that a person asked for comes first"
"""Reason why changes wait while a person waits for an earlier verdict."""

PAUSED = "a maintainer wrote `/r4p pause`; `/r4p resume` ends that"
"""Reason why the bot judges an issue on command only."""

UNAPPROVED = "it waits for `/r4p ok`"
"""Reason why the bot does not judge a pull request by itself, as `judge_from` says."""

CONTRIBUTORS = frozenset({"OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR"})
"""GitHub's words for authors whom `judge_from: contributors` trusts."""

CLAIMS = frozenset({Verdict.CORRECT, Verdict.INCORRECT})
"""Verdicts that claim something about a patch."""


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """Facts that decide whether a pull request takes part in an evaluation."""

    number: PullNumber
    author: str
    """Login; empty when the account is gone."""
    is_open: bool
    is_draft: bool
    paths: tuple[str, ...]
    """Paths of the files that it changes."""
    association: str = "NONE"
    """GitHub's word for the author's relation to the repository. It is a hint and gives no right."""
    is_approved: bool = False
    """Whether somebody with triage permission wrote `/r4p ok` for it."""
    is_empty: bool = False
    """Whether it changes no file. Agents open an empty draft first."""
    excess: str | None = None
    """Why it is beyond the operator's ceiling; None: it is not."""


@dataclass(frozen=True, slots=True)
class LeftOutPull:
    """A pull request that the bot does not judge, with the reason."""

    number: PullNumber
    reason: str


@dataclass(frozen=True, slots=True)
class EvaluateNow:
    """The decision to judge a group now: the pull requests to judge, and those left out."""

    candidates: tuple[PullNumber, ...]
    left_out: tuple[LeftOutPull, ...]


@dataclass(frozen=True, slots=True)
class WaitForMore:
    """The decision not to judge a group now, with a reason for people."""

    reason: str
    left_out: tuple[LeftOutPull, ...] = ()


@dataclass(frozen=True, slots=True)
class WaitForTomorrow(WaitForMore):
    """The decision to judge a group on the next day, because today's budget is used up."""


@dataclass(frozen=True, slots=True)
class WaitForVerdict(WaitForMore):
    """The decision not to judge a changed group before the verdict that a person asked for is published."""


def should_evaluate(
    config: RepoConfig,
    candidates: Sequence[CandidateFacts],
    trigger: str,
    *,
    issue_is_open: bool,
    alternatives: int = 0,
    is_paused: bool = False,
) -> EvaluateNow | WaitForMore:
    """Decide whether to judge an issue's pull requests now, or why to wait.

    `trigger` is the trigger of the EvaluateIssue job. A command needs one candidate that can be judged, and every other
    trigger needs `min_candidates`. `alternatives` counts the bot's alternatives that exist, will be written or were
    tried. With them, one pull request is enough, and a command needs none. A command judges pull requests that wait for
    `/r4p ok`, too, and issues that are paused.
    """
    commanded = trigger == BY_COMMAND
    kind = TriggerKind.COMMAND if commanded else TriggerKind.PULL_REQUEST
    if kind not in config.triggers:
        return WaitForMore(f"`triggers` in this repository's settings does not list `{kind}`")
    if not issue_is_open:
        return WaitForMore(CLOSED)
    if is_paused and not commanded:
        return WaitForMore(PAUSED)
    reasons = {
        candidate.number: _explain_left_out(config, candidate, commanded=commanded)
        for candidate in candidates
    }
    kept = tuple(number for number, reason in reasons.items() if reason is None)
    left_out = tuple(LeftOutPull(number, reason) for number, reason in reasons.items() if reason)
    needed = _count_needed(config, alternatives, commanded=commanded)
    if len(kept) < needed:
        reason = f"the bot can judge {_count(len(kept))} and needs {needed}"
        waiting = ", ".join(f"#{pull.number}" for pull in left_out if pull.reason == UNAPPROVED)
        return WaitForMore(reason + (f"; not approved: {waiting}" if waiting else ""), left_out)
    return EvaluateNow(kept, left_out)


def is_worth_reading(config: RepoConfig, pull: PullRequest) -> bool:
    """Return whether a pull request's state lets it take part, so that its patch is worth a download."""
    is_ready = not pull.is_draft or can_include_draft(config, pull.author or "")
    return pull.state is IssueState.OPEN and is_ready


def select_judgeable(
    config: RepoConfig, candidates: Sequence[CandidateFacts], *, commanded: bool
) -> tuple[PullNumber, ...]:
    """Return the numbers of the candidates that take part in an evaluation, in the same order.

    `commanded` is True when a person asked for the evaluation.
    """
    return tuple(
        candidate.number
        for candidate in candidates
        if _explain_left_out(config, candidate, commanded=commanded) is None
    )


def _count_needed(config: RepoConfig, alternatives: int, *, commanded: bool) -> int:
    """Return how many pull requests are necessary.

    A command: none beside an alternative, else one. Another trigger: one beside an alternative, else `min_candidates`.
    """
    if commanded:
        return 0 if alternatives else 1
    return 1 if alternatives else config.min_candidates


def _explain_left_out(
    config: RepoConfig, candidate: CandidateFacts, *, commanded: bool
) -> str | None:
    ignored = {login.lower() for login in config.ignore_authors}
    if not candidate.is_open:
        return "it is not open"
    if candidate.is_draft and (why := _explain_draft(config, candidate)):
        return why
    if candidate.author.lower() in ignored:
        return "its author is listed in `ignore_authors`"
    if config.paths and not _is_touched(candidate.paths, config.paths):
        return "it touches none of the configured `paths`"
    if not (commanded or candidate.is_approved or _is_trusted(config, candidate)):
        return UNAPPROVED
    return candidate.excess


def _explain_draft(config: RepoConfig, candidate: CandidateFacts) -> str | None:
    if not can_include_draft(config, candidate.author):
        return "it is a draft"
    return "it is a draft without any change yet" if candidate.is_empty else None


def can_include_draft(config: RepoConfig, author: str) -> bool:
    """Return whether the settings let a draft of `author` take part. A login that ends in `[bot]` is an agent's."""
    if config.include_drafts is IncludeDrafts.AGENTS:
        return author.endswith("[bot]")
    return config.include_drafts is IncludeDrafts.ALL


def list_claims(
    config: RepoConfig, candidates: Sequence[CandidateFacts], members: Sequence[Member]
) -> tuple[PullNumber, ...]:
    """Return the pull requests that an early notice names: those that claim to resolve the issue, at least two.

    It is empty when the settings want no notice, and when fewer pull requests claim the issue. A mention claims nothing.
    """
    if not config.early_notice or config.mode is Mode.SHADOW:
        return ()
    judgeable = select_judgeable(config, candidates, commanded=False)
    claiming = {m.number for m in members if m.strength is not LinkStrength.CROSS_REFERENCE}
    named = tuple(number for number in judgeable if number in claiming)
    return named if len(named) > 1 else ()


def _is_trusted(config: RepoConfig, candidate: CandidateFacts) -> bool:
    """Return whether the settings let the bot judge the author's pull requests by itself."""
    if config.judge_from is JudgeFrom.CONTRIBUTORS:
        return candidate.association in CONTRIBUTORS
    return config.judge_from is JudgeFrom.EVERYONE


def _is_touched(paths: Collection[str], globs: Collection[str]) -> bool:
    return any(is_match(path, glob) for path in paths for glob in globs)


def _count(pulls: int) -> str:
    return {0: "no pull request", 1: "one pull request"}.get(pulls, f"{pulls} pull requests")


@dataclass(frozen=True, slots=True)
class Publication:
    """Where GitHub shows a verdict: in a comment, in check runs, in labels or nowhere. The database holds it in any case."""

    comment: bool
    checks: bool
    labels: bool = False


def plan_publication(
    config: RepoConfig, trigger: str, verdicts: Collection[Verdict]
) -> Publication:
    """Decide whether `verdicts` appear in a comment and in check runs on GitHub.

    `trigger` started the evaluation. A command always gets its comment on the issue.
    """
    asked = trigger == BY_COMMAND
    if config.mode is Mode.SHADOW:
        return Publication(comment=asked, checks=False)
    claims = not CLAIMS.isdisjoint(verdicts)
    wanted = config.comments is Comments.ALL or (config.comments is Comments.OUTCOMES and claims)
    return Publication(comment=asked or wanted, checks=True, labels=config.result_labels)
