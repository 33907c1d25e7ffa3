"""Read the GraphQL answer about present heads, and the checks of their commits, into facts.

The query asks for check suites and commit statuses apart, not for GitHub's rollup of both: an installation that has not
granted the permission `statuses` still shows its check runs.
"""

from collections.abc import Iterator
from typing import Final

from pydantic import ConfigDict, Field

from app.github.facts import CommitCheck, HeadFacts, Heads
from app.github.wire.graphql_pulls import (
    ActorSlice,
    AnyState,
    GraphQLSlice,
    IdentifiedSlice,
    Page,
)
from app.github.wire.rest import Text
from app.values.identifiers import CommitSha, PullNumber
from model.domain import CiState

_RESULTS: Final = {"SUCCESS": CiState.PASSED, "FAILURE": CiState.FAILED}
"""Any other conclusion, such as `CANCELLED` or `TIMED_OUT`, says nothing about the commit."""
_STATES: Final = _RESULTS | {"PENDING": CiState.RUNNING, "EXPECTED": CiState.RUNNING}


class CheckApp(GraphQLSlice):
    database_id: int | None = None


class CheckRun(GraphQLSlice):
    name: Text
    status: str
    conclusion: str | None = None

    def facts(self) -> CommitCheck:
        if self.status != "COMPLETED":
            return CommitCheck(self.name, CiState.RUNNING)
        return CommitCheck(self.name, _RESULTS.get(self.conclusion or "", CiState.NOT_RUN))


class CheckSuite(GraphQLSlice):
    app: CheckApp | None = None
    check_runs: Page[CheckRun] | None = None


class StatusContext(GraphQLSlice):
    context: Text
    state: str

    def facts(self) -> CommitCheck:
        return CommitCheck(self.context, _STATES.get(self.state, CiState.NOT_RUN))


class CommitStatus(GraphQLSlice):
    contexts: tuple[StatusContext, ...] = ()


class CheckedCommit(GraphQLSlice):
    """A commit with its checks. None stands for what the App may not see."""

    check_suites: Page[CheckSuite] | None = None
    status: CommitStatus | None = None

    def list_checks(self, own_app: int) -> Iterator[CommitCheck]:
        """Yield the check runs of every App but the one with the id `own_app`, then the commit statuses."""
        for suite in self.check_suites.nodes if self.check_suites else ():
            is_own = suite.app is not None and suite.app.database_id == own_app
            runs = suite.check_runs.nodes if suite.check_runs and not is_own else ()
            yield from (run.facts() for run in runs)
        yield from (context.facts() for context in (self.status.contexts if self.status else ()))


class HeadCommit(GraphQLSlice):
    commit: CheckedCommit


class CheckedBranch(GraphQLSlice):
    target: CheckedCommit | None = None


class Head(GraphQLSlice):
    number: int
    state: AnyState
    head_ref_oid: str
    title: Text = ""
    author: ActorSlice | None = None
    commits: Page[HeadCommit] | None = None

    def facts(self, own_app: int) -> HeadFacts:
        last = self.commits.nodes[-1:] if self.commits else ()
        checks = tuple(check for node in last for check in node.commit.list_checks(own_app))
        author = self.author.full_login if self.author else ""
        place = (PullNumber(self.number), self.state, CommitSha(self.head_ref_oid))
        return HeadFacts(*place, checks, title=self.title, author=author)


class IssueStateSlice(GraphQLSlice):
    state: AnyState
    locked: bool = False


class HeadsOfRepository(IdentifiedSlice):
    """GraphQL answer with the state of an issue, and each requested pull request's head under its own alias."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Head | None] = Field(init=False)

    issue: IssueStateSlice | None = None
    default_branch_ref: CheckedBranch | None = None

    def facts(self, own_app: int) -> Heads:
        """Return the heads with the checks of every App but the one with the id `own_app`."""
        heads = self.__pydantic_extra__.values()
        pulls = tuple(head.facts(own_app) for head in heads if head is not None)
        if self.issue is None:
            return Heads(None, pulls)
        tip = self.default_branch_ref.target if self.default_branch_ref else None
        base = tuple(tip.list_checks(own_app)) if tip else ()
        return Heads(self.issue.state, pulls, is_locked=self.issue.locked, base_checks=base)


class HeadsAnswer(GraphQLSlice):
    repository: HeadsOfRepository | None
