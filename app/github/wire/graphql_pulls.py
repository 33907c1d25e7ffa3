"""Read GraphQL answers about pull requests into facts; `graphql_issues` reads issues.

Nodes that the App may not see arrive as null and are left out.
"""

from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from app.github.facts import (
    ConfigBlob,
    IssueMention,
    IssueState,
    PullRequest,
)
from app.github.wire.rest import Body, Text
from app.values.identifiers import CommitSha, IssueNumber, PullNumber

Node = TypeVar("Node")


def lower_case(value: object) -> object:
    """Return a text in lower case, because GraphQL writes enums in capitals; return other values unchanged."""
    return value.lower() if isinstance(value, str) else value


def drop_nulls(values: object) -> object:
    """Return a list without its nulls, which stand for nodes that the App may not see; anything else is empty."""
    return [v for v in values if v is not None] if isinstance(values, list) else []


def _pull_or_none(value: object) -> object:
    """Return the node if it is a pull request: an event can also point at an issue."""
    if isinstance(value, dict) and value.get("__typename") == "PullRequest":
        return value
    return None


AnyState = Annotated[IssueState, BeforeValidator(lower_case)]


class GraphQLSlice(BaseModel):
    """Base class of GraphQL answers as typed values.

    A subclass has only the fields that the bot uses, with names in snake case.
    """

    model_config = ConfigDict(
        extra="ignore", frozen=True, alias_generator=to_camel, validate_by_name=True
    )


class ActorSlice(GraphQLSlice):
    kind: str = Field(alias="__typename")
    login: Text

    @property
    def full_login(self) -> str:
        """The account's login as webhooks write it: a bot's login ends in `[bot]`."""
        is_short = self.kind == "Bot" and not self.login.endswith("[bot]")
        return f"{self.login}[bot]" if is_short else self.login


class IdentifiedSlice(GraphQLSlice):
    """The repository that GitHub found under a name. Its id shows whether it is the expected one."""

    database_id: int | None = None


class RepositoryName(GraphQLSlice):
    name_with_owner: Text


class Target(GraphQLSlice):
    oid: str


class BranchName(GraphQLSlice):
    name: Text
    target: Target | None = None


class PageInfo(GraphQLSlice):
    has_next_page: bool
    end_cursor: str | None = None


class Page(GraphQLSlice, Generic[Node]):
    nodes: Annotated[tuple[Node, ...], BeforeValidator(drop_nulls)] = ()
    page_info: PageInfo = PageInfo(has_next_page=False)


class Pull(GraphQLSlice):
    number: int
    body: Body
    state: AnyState
    is_draft: bool
    base_ref_name: Text
    base_ref_oid: str
    head_ref_oid: str
    author: ActorSlice | None
    repository: RepositoryName
    author_association: Text = "NONE"

    def facts(self) -> PullRequest:
        return PullRequest(
            number=PullNumber(self.number),
            repository=self.repository.name_with_owner,
            body=self.body,
            state=self.state,
            is_draft=self.is_draft,
            author=self.author.full_login if self.author else None,
            base_ref=self.base_ref_name,
            base_sha=CommitSha(self.base_ref_oid),
            head_sha=CommitSha(self.head_ref_oid),
            association=self.author_association,
        )


MaybePull = Annotated[Pull | None, BeforeValidator(_pull_or_none)]


class ClosedIssue(GraphQLSlice):
    number: int
    repository: RepositoryName

    def mention(self) -> IssueMention:
        return IssueMention(self.repository.name_with_owner, IssueNumber(self.number))


class Blob(GraphQLSlice):
    oid: str | None = None
    """The file's git id. None when the path is a directory, for which the query names no fields."""
    text: Text | None = None
    byte_size: int = 0
    is_truncated: bool = False

    def facts(self) -> ConfigBlob | None:
        if self.oid is None:
            return None
        return ConfigBlob(self.byte_size, None if self.is_truncated else self.text)


class TreeEntry(GraphQLSlice):
    object: Blob | None


class Commit(GraphQLSlice):
    file: TreeEntry | None


class PullCommit(GraphQLSlice):
    commit: Commit


class ChangedFileSlice(GraphQLSlice):
    path: Text


class PullAndIssues(Pull):
    merge_commit: Target | None = None
    closing_issues_references: Page[ClosedIssue] | None = None
    files: Page[ChangedFileSlice] | None = None
    commits: Page[PullCommit] | None = None

    def new_config(self, path: str) -> ConfigBlob | None:
        """Return the settings file `path` at the pull request's head, if the pull request changes it.

        Returns None for an unchanged or deleted file, and for a file that is not among the first 100 changed files.
        """
        changed = {file.path for file in self.files.nodes} if self.files else set()
        last = self.commits.nodes[-1:] if self.commits and path in changed else ()
        entries = [node.commit.file.object for node in last if node.commit.file]
        return next((blob.facts() for blob in entries if blob), None)


class PullOfRepository(IdentifiedSlice):
    default_branch_ref: BranchName | None
    pull_request: PullAndIssues | None


class PullAnswer(GraphQLSlice):
    repository: PullOfRepository | None
