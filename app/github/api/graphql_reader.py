"""Read issues and the pull requests that may resolve them, over GraphQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Protocol, TypeVar

from app.github.api_call import Json
from app.github.errors import NotFound
from app.github.facts import Heads, IssueFacts, PersonReview, PullIssues, RepositoryFacts
from app.github.http.auth import Purpose, Scope
from app.github.http.connection import GitHub, GraphQLConnection, Question
from app.github.wire import (
    graphql_heads,
    graphql_issues,
    graphql_pulls,
    graphql_queries,
    graphql_reviews,
)
from app.github.wire.graphql_pulls import IdentifiedSlice
from app.settings.repo_config import FILE
from app.values.identifiers import CommitSha, IssueRef, PullNumber, RepositoryRef

MOST_PAGES: Final = 5
"""Enough for 250 closing references and 500 events; an issue with more has `is_complete` False."""

REVIEWED_AT_ONCE: Final = 25
"""Most pull requests of one query about reviews. Its answer may hold 500 texts."""


class AnswerOfRepository(Protocol):
    """The typed answer to a query about one repository, which is None when the App may not see it."""

    @property
    def repository(self) -> IdentifiedSlice | None:
        """Return what GitHub found under the repository's name."""
        ...


Shape = TypeVar("Shape", bound=AnswerOfRepository)


def read_issue(github: GraphQLConnection, ref: IssueRef) -> IssueFacts:
    """Read an issue with all pull requests that link to it, and its repository with the settings file.

    It sends one call, and more only above 50 closing references or 100 events. Raises NotFound when the repository has
    no such issue, or when the number belongs to a pull request.
    """
    cursors: dict[str, Json] = {"closing": None, "events": None}
    repository, issue = _read_issue_page(github, ref, cursors)
    closing, events = list(issue.closing.nodes), list(issue.timeline_items.nodes)
    page, pages = issue, 1
    while _has_more(page) and pages < MOST_PAGES:
        # Keep the last cursor of a list that has ended: the query then returns nothing for it.
        # Without a cursor GitHub would start from the beginning.
        cursors = {
            "closing": page.closing.page_info.end_cursor or cursors["closing"],
            "events": page.timeline_items.page_info.end_cursor or cursors["events"],
        }
        _, page = _read_issue_page(github, ref, cursors)
        closing += page.closing.nodes
        events += page.timeline_items.nodes
        pages += 1
    return graphql_issues.build_issue_facts(
        repository,
        issue,
        graphql_issues.link_pulls(closing, events),
        is_complete=not _has_more(page),
    )


def read_repository(github: GraphQLConnection, repository: RepositoryRef) -> RepositoryFacts:
    """Read a repository's name, its default branch, and the settings file on that branch.

    Raises NotFound if the repository does not exist or the App may not see it.
    """
    answer = _ask(
        github, repository, graphql_queries.REPOSITORY, {}, graphql_issues.RepositoryAnswer
    )
    if answer.repository is None:
        raise NotFound(
            f"repository {repository.full_name} does not exist, or the App may not see it"
        )
    return answer.repository.facts()


def read_pull(
    github: GraphQLConnection, repository: RepositoryRef, number: PullNumber
) -> PullIssues:
    """Read a pull request, the issues that it closes, and its change to the settings file, in one call.

    Raises NotFound if the repository has no pull request `number`.
    """
    answer = _ask(
        github,
        repository,
        graphql_queries.PULL_ISSUES,
        {"number": number},
        graphql_pulls.PullAnswer,
    )
    stored = answer.repository
    if stored is None or stored.pull_request is None:
        raise NotFound(f"{repository.full_name} has no pull request #{number}")
    closes = stored.pull_request.closing_issues_references
    merge = stored.pull_request.merge_commit
    return PullIssues(
        pull=stored.pull_request.facts(),
        default_branch=stored.default_branch_ref.name if stored.default_branch_ref else None,
        closes=tuple(node.mention() for node in closes.nodes) if closes else (),
        new_config=stored.pull_request.new_config(FILE),
        merge_commit=CommitSha(merge.oid) if merge else None,
    )


def read_heads(github: GitHub, ref: IssueRef, numbers: Sequence[PullNumber]) -> Heads:
    """Read the state of an issue and the present heads of the pull requests `numbers` with their checks, in one call.

    It runs just before publishing and uses the publishing token. The result leaves out deleted pull requests, the
    bot's own checks, and checks that the App may not see. Raises NotFound if the App cannot see the repository.
    """
    question = Question(
        graphql_queries.build_heads_query(numbers),
        _build_variables(ref.repository) | {"issue": ref.number},
        graphql_heads.HeadsAnswer,
    )
    answer = github.graphql(
        Scope.for_repository(ref.repository, Purpose.PUBLISH), question, may_miss=True
    )
    if answer.repository is None:
        raise NotFound(
            f"repository {ref.repository.full_name} does not exist, or the App may not see it"
        )
    _require_same(ref.repository, answer)
    return answer.repository.facts(github.app.id)


def list_new_reviews(
    github: GitHub, repository: RepositoryRef, pulls: Sequence[PullNumber], since: datetime
) -> tuple[PersonReview, ...]:
    """Return the reviews of the pull requests `pulls` that people submitted at `since` or later.

    One call reads 25 pull requests. Without a pull request, it only checks the repository's id. Reviews of bots,
    dismissed reviews, and reviews that somebody edited are left out, because they never command. Raises NotFound if the
    repository is gone or replaced.
    """
    reviews: list[PersonReview] = []
    cursors: dict[int, str | None] = dict.fromkeys(pulls)
    while True:
        asked = dict(list(cursors.items())[:REVIEWED_AT_ONCE])
        for number in asked:
            del cursors[number]
        for pull in _read_reviews(github, repository, asked):
            reviews += [review for review in pull.list_facts() if review.submitted_at >= since]
            if (before := pull.find_cursor(since)) is not None:
                cursors[pull.number] = before
        if not cursors:
            return tuple(reviews)


def _read_reviews(
    github: GitHub, repository: RepositoryRef, cursors: dict[int, str | None]
) -> list[graphql_reviews.ReviewedPull]:
    question = Question(
        graphql_queries.build_reviews_query(cursors),
        _build_variables(repository),
        graphql_reviews.ReviewsAnswer,
    )
    scope = Scope.for_repository(repository, Purpose.READ)
    answer = github.graphql(scope, question, may_miss=True)
    if answer.repository is None:
        raise NotFound(
            f"repository {repository.full_name} does not exist, or the App may not see it"
        )
    _require_same(repository, answer)
    return answer.repository.list_pulls()


def _has_more(page: graphql_issues.Issue) -> bool:
    return page.closing.page_info.has_next_page or page.timeline_items.page_info.has_next_page


def _read_issue_page(
    github: GraphQLConnection, ref: IssueRef, cursors: dict[str, Json]
) -> tuple[RepositoryFacts, graphql_issues.Issue]:
    variables = cursors | {"number": ref.number}
    answer = _ask(
        github, ref.repository, graphql_queries.ISSUE, variables, graphql_issues.IssueAnswer
    )
    if answer.repository is None or answer.repository.issue is None:
        raise NotFound(f"{ref.repository.full_name} has no issue #{ref.number}")
    return answer.repository.facts(), answer.repository.issue


def _ask(
    github: GraphQLConnection,
    repository: RepositoryRef,
    query: str,
    variables: dict[str, Json],
    shape: type[Shape],
) -> Shape:
    question = Question(query, _build_variables(repository) | variables, shape)
    answer = github.graphql(Scope.for_repository(repository, Purpose.READ), question)
    _require_same(repository, answer)
    return answer


def _require_same(repository: RepositoryRef, answer: AnswerOfRepository) -> None:
    """Raise NotFound when the name leads to a repository with another id.

    After a transfer or a deletion, somebody else may give another repository the old name.
    """
    named = answer.repository
    if named is not None and named.database_id != repository.id:
        raise NotFound(
            f"{repository.full_name} is now repository {named.database_id}, not {repository.id}: "
            "it was moved or replaced, and the next webhook brings its new name"
        )


def _build_variables(repository: RepositoryRef) -> dict[str, Json]:
    owner, _, name = repository.full_name.partition("/")
    return {"owner": owner, "name": name}
