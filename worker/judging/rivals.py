"""The rival pull requests of an issue as they stand now: one question to GitHub, one git fetch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.alternatives import drafts
from app.db.store.issues import candidates, groups
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.groups import PullRow, StoredRepository
from app.github.api import graphql_reader as github_links
from app.github.errors import NotFound
from app.github.facts import IssueFacts, PullFacts, State
from app.github.http.auth import Purpose, Scope
from app.github.http.connection import Connection as GitHub
from app.policy import rival_links
from app.policy.group_policy import CandidateFacts, judgeable
from app.policy.rival_links import LinkStrength, Member
from app.values.identifiers import IssueRef, PullNumber, RepositoryRef
from model.domain import Issue
from model.errors import BadDiff
from model.patches import diff
from worker.git.checkout import BUSY_SECONDS, CheckoutBusy, Checkouts
from worker.git.hardened_git import GitUnreachable
from worker.git.patches import FetchedPull, RefusedPull, WantedPull
from worker.judging.tree_handover import Base
from worker.queue.context import Context
from worker.queue.errors import Postponed
from worker.repositories.repository_config import InForce, in_force


@dataclass(frozen=True, slots=True)
class Rivals:
    """What was found for one issue."""

    facts: IssueFacts
    settings: InForce
    members: tuple[Member, ...]
    pulls: tuple[PullFacts, ...]
    candidates: tuple[Candidate, ...]
    """Of the pull requests that are open and ready, in their order."""

    @property
    def issue(self) -> Issue:
        """What it says."""
        return Issue(self.facts.title, self.facts.body)

    @property
    def is_open(self) -> bool:
        """Whether the issue is."""
        return self.facts.state is State.OPEN

    @property
    def judgeable(self) -> tuple[PullNumber, ...]:
        """Those that can be judged now."""
        return judgeable(self.settings.config, self.candidate_facts())

    def candidate_facts(self) -> list[CandidateFacts]:
        """What decides whether each takes part."""
        by_pull = {candidate.pull: candidate for candidate in self.candidates}
        return [
            CandidateFacts(
                number=pull.number,
                author=pull.author.login if pull.author else "",
                is_open=pull.state is State.OPEN,
                is_draft=pull.is_draft,
                paths=_paths(by_pull.get(pull.number)) if self.settings.config.paths else (),
            )
            for pull in self.pulls
        ]

    def bases(self) -> tuple[Base, ...]:
        """Commits that a patch may be written for, the first before others: those of the rivals, else the newest one."""
        kept = set(self.judgeable)
        found = [Base(one.base_ref, one.base_sha) for one in self.pulls if one.number in kept]
        of = self.facts.repository
        if not found and of.default_branch and of.default_sha:
            found = [Base(of.default_branch, of.default_sha)]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Collector:
    """Asks GitHub, and fetches what isn't stored yet."""

    github: GitHub
    checkouts: Checkouts
    host: str
    """Where GitHub is, such as `github.com`."""

    def collect(self, context: Context, stored: StoredRepository, ref: IssueRef) -> Rivals:
        """Ask and fetch. Raises NotFound for an issue that is gone."""
        facts = github_links.issue_facts(self.github, ref)
        settings = in_force(stored.config_text, facts.repository.config)
        added, removed = _forced(context, ref)
        members = rival_links.members(facts, added=added, removed=removed, host=self.host)
        pulls = self._pulls(ref.repository, facts, members)
        found = self._candidates(context, ref, pulls, members)
        return Rivals(facts, settings, members, pulls, found)

    def _pulls(
        self, repository: RepositoryRef, facts: IssueFacts, members: Sequence[Member]
    ) -> tuple[PullFacts, ...]:
        """The members' facts; those that only a command made members are asked for one by one."""
        known = {linked.pull.number: linked.pull for linked in facts.pulls}
        found = []
        for member in members:
            try:
                found.append(
                    known.get(member.number)
                    or github_links.pull_issues(self.github, repository, member.number).pull
                )
            except NotFound:
                continue
        return tuple(found)

    def _candidates(
        self, context: Context, ref: IssueRef, pulls: Sequence[PullFacts], members: Sequence[Member]
    ) -> tuple[Candidate, ...]:
        strength = {member.number: member.strength.value for member in members}
        ready = [pull for pull in pulls if pull.state is State.OPEN and not pull.is_draft]
        with transaction(context.database) as connection:
            found = {
                pull.number: candidates.stored(
                    connection, ref.repository.id, pull.number, pull.head_sha, pull.base_sha
                )
                for pull in ready
            }
        fetched = self._fetch(ref.repository, [pull for pull in ready if not found[pull.number]])
        both = {**found, **fetched}
        return tuple(
            replace(candidate, strength=strength[pull.number])
            for pull in ready
            if (candidate := both[pull.number]) is not None
        )

    def _fetch(
        self, repository: RepositoryRef, pulls: Sequence[PullFacts]
    ) -> dict[PullNumber, Candidate]:
        if not pulls:
            return {}
        scope = Scope.of(repository, Purpose.READ)
        wanted = [WantedPull(p.number, p.head_sha, p.base_ref, p.base_sha) for p in pulls]
        try:
            fetched = self.checkouts.fetch_pulls(
                repository, self.github.tokens.token(scope), wanted
            )
        except CheckoutBusy as error:
            raise Postponed(str(error), after_seconds=BUSY_SECONDS) from error
        except GitUnreachable:
            self.github.tokens.forget(scope)  # git doesn't say whether it was the token
            raise
        return {
            pull.number: _candidate(pull, found) for pull, found in zip(pulls, fetched, strict=True)
        }


def _forced(context: Context, ref: IssueRef) -> tuple[frozenset[PullNumber], frozenset[PullNumber]]:
    """What commands added to the group and took out of it. Our own drafts are out: they are judged as alternatives."""
    with transaction(context.database) as connection:
        group = groups.group_of(connection, ref.repository.id, ref.number)
        rows = groups.members(connection, group.id) if group else []
        ours = drafts.pulls(connection, ref.repository.id)
    return (
        frozenset(row.pull for row in rows if row.forced is True),
        ours.union(row.pull for row in rows if row.forced is False),
    )


def _candidate(pull: PullFacts, found: FetchedPull | RefusedPull) -> Candidate:
    if isinstance(found, RefusedPull):
        why, again = found.detail, found.reason.may_pass
        return Candidate(pull.number, pull.head_sha, pull.base_sha, None, 0, why, read_again=again)
    # Bytes that are no UTF-8 are shown as U+FFFD: the model would not read them either.
    text = found.diff.decode("utf-8", "replace")
    return Candidate(pull.number, pull.head_sha, pull.base_sha, text, len(found.files))


def _paths(candidate: Candidate | None) -> tuple[str, ...]:
    if candidate is None or candidate.diff is None:
        return ()
    try:
        return tuple(sorted(diff.touched_files(candidate.diff)))
    except BadDiff:
        return ()


def store(connection: Connection, repository: RepositoryRef, rivals: Rivals) -> int:
    """Everything that was found, whether or not it is judged now. Returns the group."""
    number, facts = repository.id, rivals.facts
    settings = rivals.settings
    groups.save_config(connection, number, text=settings.text, error=settings.error)
    group = groups.upsert_group(
        connection, number, facts.number, (facts.title, facts.body), facts.state.value
    )
    groups.upsert_pulls(connection, number, [_row(pull) for pull in rivals.pulls])
    linked = [
        (member.number, None if member.strength is LinkStrength.ADDED else member.strength.value)
        for member in rivals.members
    ]
    groups.save_links(connection, group, linked)
    for candidate in rivals.candidates:
        candidates.save(connection, number, candidate)
    return group


def _row(pull: PullFacts) -> PullRow:
    return PullRow(
        number=pull.number,
        state=pull.state.value,
        head_sha=pull.head_sha,
        base_sha=pull.base_sha,
        base_ref=pull.base_ref,
        author=pull.author.login if pull.author else None,
    )
