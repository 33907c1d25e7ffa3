"""Read GraphQL answers about an issue and its repository into facts."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

from pydantic import BeforeValidator, Field

from app.github.facts import (
    IssueFacts,
    IssueState,
    LinkedPull,
    LinkFacts,
    RepositoryFacts,
)
from app.github.wire.graphql_pulls import (
    ActorSlice,
    AnyState,
    Blob,
    BranchName,
    GraphQLSlice,
    MaybePull,
    Page,
    Pull,
    lower_case,
)
from app.github.wire.rest import Body, Text
from app.values.identifiers import CommitSha, IssueNumber, RepositoryId


class Event(GraphQLSlice):
    kind: str = Field(alias="__typename")
    will_close_target: bool = False
    source: MaybePull = None
    subject: MaybePull = None


class Issue(GraphQLSlice):
    database_id: int
    number: int
    title: Text
    body: Body
    state: AnyState
    state_reason: Annotated[str | None, BeforeValidator(lower_case)] = None
    created_at: datetime
    updated_at: datetime
    author: ActorSlice | None
    closed_by_pull_requests_references: Page[Pull] | None = None
    timeline_items: Page[Event]

    @property
    def closing(self) -> Page[Pull]:
        return self.closed_by_pull_requests_references or Page[Pull]()


class RepositorySlice(GraphQLSlice):
    database_id: int
    name_with_owner: Text
    is_private: bool
    default_branch_ref: BranchName | None
    config: Blob | None = None

    def facts(self) -> RepositoryFacts:
        branch = self.default_branch_ref
        return RepositoryFacts(
            id=RepositoryId(self.database_id),
            full_name=self.name_with_owner,
            is_private=self.is_private,
            default_branch=branch.name if branch else None,
            default_sha=CommitSha(branch.target.oid) if branch and branch.target else None,
            config=self.config.facts() if self.config else None,
        )


class RepositoryAndIssue(RepositorySlice):
    issue: Issue | None = None


class IssueAnswer(GraphQLSlice):
    repository: RepositoryAndIssue | None


class RepositoryAnswer(GraphQLSlice):
    repository: RepositorySlice | None


def link_pulls(closing: Iterable[Pull], events: Iterable[Event]) -> tuple[LinkedPull, ...]:
    """Return one entry per pull request with all its links to the issue.

    Events come in the order of time, so a later disconnection undoes a connection.
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
    """Build an issue's facts with the links of all pages."""
    return IssueFacts(
        repository=repository,
        id=issue.database_id,
        number=IssueNumber(issue.number),
        title=issue.title,
        body=issue.body,
        state=issue.state,
        state_reason=issue.state_reason if issue.state is IssueState.CLOSED else None,
        author=issue.author.author() if issue.author else None,
        created_at=issue.created_at,
        updated_at=issue.updated_at,
        pulls=pulls,
        is_complete=is_complete,
    )
