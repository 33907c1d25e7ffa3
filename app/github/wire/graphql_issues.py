"""Read GraphQL answers about an issue and its repository into facts."""

from collections.abc import Iterable

from pydantic import Field

from app.github.facts import (
    IssueFacts,
    LinkedPull,
    LinkFacts,
    RepositoryFacts,
)
from app.github.wire.graphql_pulls import (
    AnyState,
    Blob,
    BranchName,
    GraphQLSlice,
    IdentifiedSlice,
    MaybePull,
    Page,
    Pull,
)
from app.github.wire.rest import Body, Text
from app.values.identifiers import CommitSha, IssueNumber


class Event(GraphQLSlice):
    kind: str = Field(alias="__typename")
    will_close_target: bool = False
    source: MaybePull = None
    subject: MaybePull = None


class Issue(GraphQLSlice):
    number: int
    title: Text
    body: Body
    state: AnyState
    closed_by_pull_requests_references: Page[Pull] | None = None
    timeline_items: Page[Event]

    @property
    def closing(self) -> Page[Pull]:
        return self.closed_by_pull_requests_references or Page[Pull]()


class RepositorySlice(IdentifiedSlice):
    name_with_owner: Text
    default_branch_ref: BranchName | None
    config: Blob | None = None
    is_archived: bool = False
    is_fork: bool = False

    def facts(self) -> RepositoryFacts:
        branch = self.default_branch_ref
        return RepositoryFacts(
            full_name=self.name_with_owner,
            default_branch=branch.name if branch else None,
            default_sha=CommitSha(branch.target.oid) if branch and branch.target else None,
            config=self.config.facts() if self.config else None,
            is_archived=self.is_archived,
            is_fork=self.is_fork,
        )


class RepositoryAndIssue(RepositorySlice):
    issue: Issue | None = None


class IssueAnswer(GraphQLSlice):
    repository: RepositoryAndIssue | None


class RepositoryAnswer(GraphQLSlice):
    repository: RepositorySlice | None


def link_pulls(closing: Iterable[Pull], events: Iterable[Event]) -> tuple[LinkedPull, ...]:
    """Return one entry per linked pull request, with all its links to the issue.

    `closing` holds the pull requests that GitHub lists as closing the issue. `events` are in the order of time, so a
    later disconnection undoes a connection.
    """
    pulls: dict[tuple[str, int], Pull] = {}
    facts: dict[tuple[str, int], dict[str, bool]] = {}

    def note(pull: Pull, **ways: bool) -> None:
        key = (pull.repository.name_with_owner, pull.number)
        pulls.setdefault(key, pull)
        facts.setdefault(key, {}).update(ways)

    for event in events:
        if event.source is not None:
            note(event.source, mentions=True)
            if event.will_close_target:
                note(event.source, will_close=True)
        if event.subject is not None:
            note(event.subject, connected=event.kind == "ConnectedEvent")
    for pull in closing:
        note(pull, closes=True)
    return tuple(
        LinkedPull(pulls[key].facts(), LinkFacts(**ways))
        for key, ways in facts.items()
        if any(ways.values())
    )


def build_issue_facts(
    repository: RepositoryFacts,
    issue: Issue,
    pulls: tuple[LinkedPull, ...],
    *,
    is_complete: bool,
) -> IssueFacts:
    """Build an issue's facts from its first page and from `pulls`, the linked pull requests of all pages.

    `is_complete` is False when GitHub has more links than the bot read.
    """
    return IssueFacts(
        repository=repository,
        number=IssueNumber(issue.number),
        title=issue.title,
        body=issue.body,
        state=issue.state,
        pulls=pulls,
        is_complete=is_complete,
    )
