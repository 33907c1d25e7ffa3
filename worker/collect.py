"""Collect the rival pull requests of an issue: one question to GitHub, one git fetch, one snapshot."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app import comments, links
from app.db.session import transaction
from app.db.store import candidates, evaluations, groups, jobs
from app.db.store.candidates import Candidate
from app.db.store.evaluations import Evaluation, NewEvaluation
from app.db.store.groups import PullRow, StoredRepository
from app.github import links as github_links
from app.github.auth import Purpose, Scope
from app.github.connection import Connection as GitHub
from app.github.errors import NotFound
from app.github.facts import IssueFacts, PullFacts, State
from app.identifiers import EvaluationId, IssueRef, PullNumber, RepositoryRef
from app.jobs import EvaluateIssue, Planned, PublishVerdict, VerifyGroup
from app.judging import CandidateFacts, Go, Wait, should_evaluate
from app.links import LinkStrength, Member
from app.policy import BY_COMMAND
from app.repo_config import FILE
from model import diff
from model.errors import BadDiff
from worker import config_check
from worker.checkout import CheckoutBusy, Checkouts
from worker.config import InForce, in_force
from worker.context import Context
from worker.errors import Postponed
from worker.hardened_git import GitUnreachable
from worker.patches import FetchedPull, RefusedPull, WantedPull
from worker.replies import Replies

_BUSY_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class _Rivals:
    """What was found for one issue."""

    facts: IssueFacts
    settings: InForce
    members: tuple[Member, ...]
    pulls: tuple[PullFacts, ...]
    candidates: tuple[Candidate, ...]
    """Of the pull requests that are open and ready, in their order."""

    def snapshot(self, group: int, trigger: str, go: Go) -> NewEvaluation:
        """What is judged from here on, whatever changes on GitHub."""
        return NewEvaluation(
            group=group,
            trigger=trigger,
            mode=self.settings.config.mode.value,
            votes=self.settings.config.votes,
            title=self.facts.title,
            body=self.facts.body,
            candidates=tuple(c for c in self.candidates if c.pull in go.candidates),
            left_out=go.left_out,
            all_links_read=self.facts.is_complete,
        )

    def decide(self, trigger: str) -> Go | Wait:
        """Whether to judge them now."""
        by_pull = {candidate.pull: candidate for candidate in self.candidates}
        facts = [
            CandidateFacts(
                number=pull.number,
                author=pull.author.login if pull.author else "",
                is_open=pull.state is State.OPEN,
                is_draft=pull.is_draft,
                paths=_paths(by_pull.get(pull.number)) if self.settings.config.paths else (),
            )
            for pull in self.pulls
        ]
        is_open = self.facts.state is State.OPEN
        return should_evaluate(self.settings.config, facts, trigger, issue_is_open=is_open)


@dataclass(frozen=True, slots=True)
class EvaluateIssueHandler:
    """Takes a snapshot of an issue's rivals and, if the policy says so, submits it as one group."""

    github: GitHub
    checkouts: Checkouts
    replies: Replies
    host: str
    """Where GitHub is, such as `github.com`."""

    def __call__(self, context: Context, job: EvaluateIssue) -> None:
        """Collect, store, decide. An issue that is gone, or a repository left behind, ends quietly."""
        with transaction(context.database) as connection:
            stored = groups.repository(connection, job.repository)
        if stored is None or stored.suspended:
            return
        try:
            rivals = self._collect(context, stored, IssueRef(stored.ref, job.issue))
        except NotFound:
            return
        context.check()
        # What was never read may change our file too.
        for candidate in rivals.candidates:
            if candidate.diff is None or FILE in candidate.diff:
                config_check.look(self.replies.publisher, stored.ref, candidate.pull)
        with context.transaction() as connection:
            group = _store(connection, stored.ref, rivals)
            newest = evaluations.newest(connection, group, "collected", "verified", "published")
            decision = rivals.decide(_trigger(job, newest))
            if isinstance(decision, Go):
                groups.set_waiting(connection, group, None)
                new = rivals.snapshot(group, _trigger(job, newest), decision)
                context.enqueue(connection, [*_submit(connection, job, new, newest)])
            else:
                groups.set_waiting(connection, group, decision.reason)
                # Of an issue that was closed meanwhile, or of rivals that are none any more.
                _stop(connection, evaluations.take_back(connection, group))
        if isinstance(decision, Wait) and job.asked_in is not None:
            complete = rivals.facts.is_complete
            body = comments.waiting_reply(job.asked_in, decision, all_links_read=complete)
            where = job.issue if job.asked_under is None else job.asked_under
            self.replies.refuse(stored.ref, where, job.asked_in, body)

    def _collect(self, context: Context, stored: StoredRepository, ref: IssueRef) -> _Rivals:
        facts = github_links.issue_facts(self.github, ref)
        settings = in_force(stored.config_text, facts.repository.config)
        added, removed = _forced(context, ref)
        members = links.members(facts, added=added, removed=removed, host=self.host)
        pulls = self._pulls(ref.repository, facts, members)
        found = self._candidates(context, ref, pulls, members)
        return _Rivals(facts, settings, members, pulls, found)

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
            raise Postponed(str(error), after_seconds=_BUSY_SECONDS) from error
        except GitUnreachable:
            self.github.tokens.forget(scope)  # git doesn't say whether it was the token
            raise
        return {
            pull.number: _candidate(pull, found) for pull, found in zip(pulls, fetched, strict=True)
        }


def _forced(context: Context, ref: IssueRef) -> tuple[frozenset[PullNumber], frozenset[PullNumber]]:
    """What commands added to the group and took out of it."""
    with transaction(context.database) as connection:
        group = groups.group_of(connection, ref.repository.id, ref.number)
        rows = groups.members(connection, group.id) if group else []
    return (
        frozenset(row.pull for row in rows if row.forced is True),
        frozenset(row.pull for row in rows if row.forced is False),
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


def _store(connection: Connection, repository: RepositoryRef, rivals: _Rivals) -> int:
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
    )


def _is_wish(evaluation: Evaluation | None) -> bool:
    """Whether a person who asked for this evaluation still waits for its verdict."""
    if evaluation is None or evaluation.state == "published":
        return False
    return evaluation.trigger == BY_COMMAND


def _trigger(job: EvaluateIssue, newest: Evaluation | None) -> str:
    """What came in between takes over a wish that is not fulfilled: it must not lose it."""
    return BY_COMMAND if _is_wish(newest) else job.trigger


def _submit(
    connection: Connection, job: EvaluateIssue, new: NewEvaluation, newest: Evaluation | None
) -> Iterator[Planned]:
    """Freeze the snapshot, unless exactly this one is judged already and nobody asked again."""
    asks_again = job.trigger == BY_COMMAND and not _is_wish(newest)
    if newest is not None and newest.answers(new) and not asks_again:
        yield from _go_on(job, newest)
        return
    created = evaluations.create(connection, job.repository, new)
    _stop(connection, created.superseded)
    yield Planned(VerifyGroup(job.installation, job.repository, job.issue, created.id))


def _go_on(job: EvaluateIssue, newest: Evaluation) -> Iterator[Planned]:
    """What is made of it next, in case that was kept from happening."""
    place = (job.installation, job.repository, job.issue)
    match newest.state:
        case "collected":
            yield Planned(VerifyGroup(*place, newest.id))
        case "verified":
            yield Planned(PublishVerdict(*place, newest.id))


def _stop(connection: Connection, replaced: Sequence[EvaluationId]) -> None:
    """Judge them no further."""
    jobs.supersede(connection, [VerifyGroup.key_of(old) for old in replaced])
