"""Read GraphQL answers about reviews of pull requests into facts."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field

from app.github.facts import PersonReview
from app.github.wire.graphql_pulls import ActorSlice, GraphQLSlice, IdentifiedSlice, drop_nulls
from app.github.wire.rest import Body
from app.values.identifiers import CommitSha, PullNumber


class ReviewerSlice(ActorSlice):
    database_id: int | None = None
    """Only a person has it."""


class ReviewedCommit(GraphQLSlice):
    oid: str


class ReviewSlice(GraphQLSlice):
    full_database_id: int
    body: Body
    state: str
    submitted_at: AwareDatetime | None
    last_edited_at: AwareDatetime | None
    commit: ReviewedCommit | None
    author: ReviewerSlice | None

    def facts(self, pull: PullNumber) -> PersonReview | None:
        """Return the review if a person submitted it and nobody edited or dismissed it."""
        author, moment = self.author, self.submitted_at
        if author is None or author.kind != "User" or author.database_id is None or moment is None:
            return None
        if self.last_edited_at is not None or self.state == "DISMISSED":
            return None
        return PersonReview(
            pull=pull,
            id=self.full_database_id,
            state=self.state,
            body=self.body,
            author=author.login,
            author_id=author.database_id,
            head=CommitSha(self.commit.oid) if self.commit else None,
            submitted_at=moment,
        )


class EarlierPages(GraphQLSlice):
    has_previous_page: bool = False
    start_cursor: str | None = None


class ReviewPage(GraphQLSlice):
    nodes: Annotated[tuple[ReviewSlice, ...], BeforeValidator(drop_nulls)] = ()
    page_info: EarlierPages = EarlierPages()


class ReviewedPull(GraphQLSlice):
    number: PullNumber
    reviews: ReviewPage | None

    def list_facts(self) -> Iterator[PersonReview]:
        """List the reviews of the page whose commands count."""
        facts = (review.facts(self.number) for review in self.reviews.nodes) if self.reviews else ()
        return (review for review in facts if review is not None)

    def find_cursor(self, since: AwareDatetime) -> str | None:
        """Return the cursor of the page before this one, if reviews since `since` can be there."""
        page = self.reviews
        if page is None or not page.page_info.has_previous_page:
            return None
        oldest = page.nodes[0].submitted_at if page.nodes else None
        return page.page_info.start_cursor if oldest is None or oldest >= since else None


class ReviewsOfRepository(IdentifiedSlice):
    """GraphQL answer with each requested pull request's reviews under its own alias."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, ReviewedPull | None] = Field(init=False)

    def list_pulls(self) -> list[ReviewedPull]:
        """List the requested pull requests that GitHub still has."""
        return [pull for pull in self.__pydantic_extra__.values() if pull is not None]


class ReviewsAnswer(GraphQLSlice):
    repository: ReviewsOfRepository | None
