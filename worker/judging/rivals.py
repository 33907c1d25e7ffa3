"""Read the rivals of an issue with one GitHub query and one git fetch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.alternatives import drafts
from app.db.store.issues import (
    approvals,
    candidates,
    groups,
    issue_controls,
)
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.groups import StoredRepository
from app.github.api import graphql_reader as github_links
from app.github.errors import NotFound
from app.github.facts import IssueFacts, IssueState, PullRequest
from app.github.http.auth import Purpose, Scope
from app.github.http.connection import GitHub
from app.policy import rival_links
from app.policy.group_policy import (
    CandidateFacts,
    is_worth_reading,
    list_claims,
    select_judgeable,
)
from app.policy.rival_links import LinkStrength, Member
from app.settings.repo_config import RepoConfig
from app.values.identifiers import IssueRef, PullNumber, RepositoryRef
from model.domain import Issue
from model.errors import BadDiff
from model.patches import diff
from worker.git.checkout import BUSY_SECONDS, CheckoutBusy, Checkouts
from worker.git.hardened_git import GitUnreachable
from worker.git.patches import FetchedPull, RefusedPull
from worker.judging.tree_handover import BaseCommit
from worker.queue.context import Context
from worker.queue.errors import Postponed
from worker.repositories.repository_config import CurrentConfig, choose_config


@dataclass(frozen=True, slots=True)
class Rivals:
    """The pull requests, candidates and settings of one issue; `approved` holds those with `/r4p ok`."""

    facts: IssueFacts
    settings: CurrentConfig
    members: tuple[Member, ...]
    pulls: tuple[PullRequest, ...]
    candidates: tuple[Candidate, ...]
    """Candidates of the open pull requests, in their order. Drafts are left out unless the settings include them."""
    approved: frozenset[PullNumber] = frozenset()
    is_commanded: bool = False
    is_paused: bool = False
    """True when `/r4p pause` stopped automatic judging."""
    excess: Mapping[PullNumber, str] = field(default_factory=dict)
    """Pull requests beyond the operator's ceiling, with the reason."""

    @property
    def issue(self) -> Issue:
        """Return the issue's title and body."""
        return Issue(self.facts.title, self.facts.body)

    @property
    def is_open(self) -> bool:
        """Return whether the issue is open."""
        return self.facts.state is IssueState.OPEN

    @property
    def judgeable(self) -> tuple[PullNumber, ...]:
        """Return the numbers of the pull requests whose state and the repository's settings allow judging now."""
        facts = self.list_candidate_facts()
        return select_judgeable(self.settings.config, facts, commanded=self.is_commanded)

    def list_candidate_facts(self) -> list[CandidateFacts]:
        """List, per pull request, the facts that decide whether it is judged, such as its author and state."""
        by_pull = {candidate.pull: candidate for candidate in self.candidates}
        return [
            CandidateFacts(
                number=pull.number,
                author=pull.author or "",
                is_open=pull.state is IssueState.OPEN,
                is_draft=pull.is_draft,
                paths=_list_paths(by_pull.get(pull.number)) if self.settings.config.paths else (),
                association=pull.association,
                is_approved=pull.number in self.approved,
                is_empty=_is_empty(by_pull.get(pull.number)),
                excess=self.excess.get(pull.number),
            )
            for pull in self.pulls
        ]

    def list_claims(self) -> tuple[PullNumber, ...]:
        """List the pull requests that an early notice names; none if the settings want no notice or the issue is closed."""
        facts = self.list_candidate_facts() if self.is_open else []
        return list_claims(self.settings.config, facts, self.members)

    def list_bases(self) -> tuple[BaseCommit, ...]:
        """List the commits on which an agent may base an alternative, best first.

        They are the bases of the judgeable pull requests, or the default branch's commit if there are none.
        """
        kept = set(self.judgeable)
        bases = [
            BaseCommit(pull.base_ref, pull.base_sha) for pull in self.pulls if pull.number in kept
        ]
        repository = self.facts.repository
        if not bases and repository.default_branch and repository.default_sha:
            bases = [BaseCommit(repository.default_branch, repository.default_sha)]
        return tuple(dict.fromkeys(bases))


@dataclass(frozen=True, slots=True)
class RivalCollector:
    """Asks GitHub for the rivals of an issue, and fetches patches that are not stored yet."""

    github: GitHub
    checkouts: Checkouts
    host: str
    """GitHub's host, such as `github.com`."""

    def collect(self, context: Context, stored: StoredRepository, ref: IssueRef) -> Rivals:
        """Return the rivals of the issue `ref`, read from GitHub, with their patches.

        Patches that are not stored yet are fetched with git; the database is only read. `stored` is the issue's
        repository. Raises NotFound for a deleted issue, GitUnreachable, and Postponed when another process uses the
        bare repository.
        """
        facts = github_links.read_issue(self.github, ref)
        settings = choose_config(stored, facts.repository.config)
        added, removed = _load_forced_members(context, ref)
        members = rival_links.find_members(facts, added=added, removed=removed, host=self.host)
        pulls = self._read_pulls(ref.repository, facts, members)
        candidates = self._load_candidates(context, ref, settings.config, pulls, members)
        with transaction(context.database) as connection:
            approved = approvals.list_approved(connection, ref.repository.id)
            paused_by = issue_controls.find_pause(connection, ref.repository.id, ref.number)
        return Rivals(
            facts, settings, members, pulls, candidates, approved, is_paused=paused_by is not None
        )

    def _read_pulls(
        self, repository: RepositoryRef, facts: IssueFacts, members: Sequence[Member]
    ) -> tuple[PullRequest, ...]:
        """Read the members' facts; members that only a command added need a query each."""
        linked_pulls, pulls = {linked.pull.number: linked.pull for linked in facts.pulls}, []
        for member in members:
            try:
                pulls.append(
                    linked_pulls.get(member.number)
                    or github_links.read_pull(self.github, repository, member.number).pull
                )
            except NotFound:
                continue
        return tuple(pulls)

    def _load_candidates(
        self,
        context: Context,
        ref: IssueRef,
        config: RepoConfig,
        pulls: Sequence[PullRequest],
        members: Sequence[Member],
    ) -> tuple[Candidate, ...]:
        strength = {member.number: member.strength.value for member in members}
        ready = [pull for pull in pulls if is_worth_reading(config, pull)]
        with transaction(context.database) as connection:
            stored = {
                pull.number: candidates.find_stored(
                    connection, ref.repository.id, pull.number, pull.head_sha, pull.base_sha
                )
                for pull in ready
            }
        fetched = self._fetch(ref.repository, [pull for pull in ready if not stored[pull.number]])
        both = {**stored, **fetched}
        return tuple(
            replace(candidate, strength=strength[pull.number])
            for pull in ready
            if (candidate := both[pull.number]) is not None
        )

    def _fetch(
        self, repository: RepositoryRef, pulls: Sequence[PullRequest]
    ) -> dict[PullNumber, Candidate]:
        if not pulls:
            return {}
        scope = Scope.for_repository(repository, Purpose.READ)
        try:
            fetched = self.checkouts.fetch_pulls(
                repository, self.github.tokens.get_token(scope), pulls
            )
        except CheckoutBusy as error:
            raise Postponed(str(error), after_seconds=BUSY_SECONDS) from error
        except GitUnreachable:
            self.github.tokens.forget(scope)  # git does not say whether the token was the cause
            raise
        return {
            pull.number: _build_candidate(pull, patch)
            for pull, patch in zip(pulls, fetched, strict=True)
        }


def _load_forced_members(
    context: Context, ref: IssueRef
) -> tuple[frozenset[PullNumber], frozenset[PullNumber]]:
    """Return the members that commands added and removed.

    The bot's own drafts count as removed: they are judged as alternatives.
    """
    with transaction(context.database) as connection:
        group = groups.find_group(connection, ref.repository.id, ref.number)
        rows = groups.list_members(connection, group.id) if group else []
        own_drafts = drafts.list_pulls(connection, ref.repository.id)
    return (
        frozenset(row.pull for row in rows if row.forced is True),
        own_drafts.union(row.pull for row in rows if row.forced is False),
    )


def _build_candidate(pull: PullRequest, fetched: FetchedPull | RefusedPull) -> Candidate:
    if isinstance(fetched, RefusedPull):
        why, again = fetched.detail, fetched.reason.is_transient
        return Candidate(pull.number, pull.head_sha, pull.base_sha, None, 0, why, read_again=again)
    # Bytes that are not UTF-8 become U+FFFD: a model cannot read them anyway.
    text = fetched.diff.decode("utf-8", "replace")
    files, normalised_sha256 = len(fetched.files), fetched.normalised_sha256
    return Candidate(
        pull.number, pull.head_sha, pull.base_sha, text, files, normalised_sha256=normalised_sha256
    )


def _is_empty(candidate: Candidate | None) -> bool:
    return candidate is not None and candidate.diff is not None and not candidate.files


def _list_paths(candidate: Candidate | None) -> tuple[str, ...]:
    if candidate is None or candidate.diff is None:
        return ()
    try:
        return tuple(sorted(diff.list_touched_files(candidate.diff)))
    except BadDiff:
        return ()


def save_rivals(connection: Connection, repository: RepositoryRef, rivals: Rivals) -> int:
    """Save the pull requests, patches, links and settings in `rivals`; return the id of the issue's group."""
    number, facts = repository.id, rivals.facts
    settings = rivals.settings
    groups.save_config(connection, number, text=settings.text, error=settings.error)
    issue_controls.refresh_default(connection, repository)
    group = groups.upsert_group(
        connection, number, facts.number, (facts.title, facts.body), facts.state.value
    )
    groups.upsert_pulls(connection, number, rivals.pulls)
    linked = [
        (member.number, None if member.strength is LinkStrength.ADDED else member.strength.value)
        for member in rivals.members
    ]
    groups.save_links(connection, group, linked)
    for candidate in rivals.candidates:
        candidates.save(connection, number, candidate)
    return group
