"""Send calls to GitHub as one installation, with its token, its write limit and its cache.

A rate limit that GitHub announces stops the installation in every process. A refused token is replaced once, because a
401 proves that nothing happened. A 304 costs no quota, so responses are cached with their ETag.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, Protocol, TypeVar
from urllib.parse import urlencode

from app.github import errors
from app.github.api_call import Call, Json, Method, Response
from app.github.endpoints import Endpoints
from app.github.errors import RateLimited, Unauthorized
from app.github.http.auth import App, Purpose, Scope, Tokens
from app.github.http.rate_limiter import Limiter, LimiterStore, WriteClass, WritePermit
from app.github.http.transport import PER_PAGE, Transport
from app.github.wire import rest
from app.values.identifiers import InstallationId, RepositoryRef


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """The body of a cached GitHub response and its ETag."""

    etag: str
    body: str


class EtagStore(Protocol):
    """Caches GitHub's responses with their ETags for each installation, so that no installation gets another's."""

    def get(self, installation: InstallationId, path: str) -> CachedAnswer | None:
        """Return the cached response for `path`, which includes the query; None: there is none."""
        ...

    def put(self, installation: InstallationId, path: str, cached: CachedAnswer) -> None:
        """Cache a response for `path`, which includes the query, in place of an earlier one."""
        ...


Query = Mapping[str, str | int]
_MOST_PAGES = 50
Shape = TypeVar("Shape")


@dataclass(frozen=True, slots=True)
class Question(Generic[Shape]):
    """A GraphQL query, its variables, and the type `shape` of the `data` in its answer."""

    query: str
    variables: Mapping[str, Json]
    shape: type[Shape]

    def build_call(self, github: Endpoints) -> Call:
        """Return the call that asks the GitHub server `github` this question."""
        body: dict[str, Json] = {"query": self.query, "variables": dict(self.variables)}
        return Call(Method.POST, github.graphql, body=body, changes=False)

    def read_answer(
        self, call: Call, answer: Response, now: datetime, *, may_miss: bool = False
    ) -> Shape:
        """Return the `data` of GitHub's answer to `call`. Raises the GitHubError of the first problem in it.

        With `may_miss`, missing objects, and checks that the App may not see, are null in the answer instead.
        """
        reply = rest.read_slice(rest.GraphQLAnswer, call, answer)
        missed = may_miss and bool(reply.data)
        for problem in reply.errors:
            if not (missed and (problem.type == "NOT_FOUND" or problem.is_about_checks)):
                raise errors.from_graphql(call, problem.type, problem.message, answer, now)
        if not reply.data:
            raise errors.build_lost_answer_error(call, f"{call}: GraphQL answered without data")
        return rest.parse_slice(self.shape, call, reply.data)


class GraphQLConnection(Protocol):
    """A connection that sends GraphQL queries to GitHub: of an App, or with a plain token."""

    def graphql(self, scope: Scope, question: Question[Shape], *, may_miss: bool = False) -> Shape:
        """Send a GraphQL query about the repository of `scope`, and return the `data` of its answer."""
        ...


@dataclass(frozen=True, slots=True)
class AppConnection:
    """Sends calls to GitHub as the App itself, not as an installation."""

    app: App
    transport: Transport

    def close(self) -> None:
        """Close the sockets to GitHub."""
        self.transport.close()

    def send_as_app(self, call: Call) -> Response:
        """Send a call as the App itself, not as an installation, and return GitHub's response."""
        return self.transport.send(call, self.app.authorization())


@dataclass(frozen=True, slots=True)
class GitHub(AppConnection):
    """The connection to GitHub as one App. Its methods raise a GitHubError when a call fails."""

    tokens: Tokens
    limiter: Limiter
    etags: EtagStore
    write_class: WriteClass = WriteClass.VERDICT
    """How much of the write limits this connection may use."""

    @classmethod
    def open(cls, app: App, github: Endpoints, limits: LimiterStore, etags: EtagStore) -> "GitHub":
        """Return a connection to the GitHub server `github` as an App; call `close` when the process ends.

        `limits` stores the write limits of all processes, and `etags` caches responses.
        """
        transport = Transport(github)
        return cls(app, transport, Tokens(app, transport), Limiter(limits), etags)

    @property
    def for_replies(self) -> "GitHub":
        """The same connection for replies to strangers and configuration checks, which get a part of the write limits."""
        return replace(self, write_class=WriteClass.REPLY)

    def ask(self, scope: Scope, call: Call) -> Response:
        """Send a call that changes nothing, with the token of `scope`, and return GitHub's response.

        Raises ValueError for a call that writes.
        """
        if call.writes:
            raise ValueError(f"{call} changes something: ask for a permit and use `write`")
        self.limiter.check_open(scope.installation)
        return self._send(scope, call)

    def permit_write(self, repository: RepositoryRef) -> WritePermit:
        """Wait a few seconds at most until an installation's rate limits allow one write; return a permit for `write`.

        Raises WritePaceExceeded when the wait would be longer.
        """
        return self.limiter.permit_write(repository.installation, self.write_class)

    def write(
        self,
        repository: RepositoryRef,
        call: Call,
        permit: WritePermit,
        purpose: Purpose = Purpose.PUBLISH,
    ) -> Response:
        """Send a call that changes something on GitHub, exactly once, and return GitHub's response.

        `permit` comes from `permit_write`. `purpose` decides which permissions the token has. Raises ValueError for a
        permit of another installation.
        """
        if permit.installation != repository.installation:
            raise ValueError(f"{call}: the permit is installation {permit.installation}'s")
        return self._send(Scope.for_repository(repository, purpose), call)

    def get(self, repository: RepositoryRef, path: str, query: Query | None = None) -> Response:
        """Read the resource at `path` of the API with the read token of a repository, and return the response."""
        return self.ask(
            Scope.for_repository(repository, Purpose.READ), Call(Method.GET, path, query or {})
        )

    def get_conditional(
        self, repository: RepositoryRef, path: str, query: Query | None = None
    ) -> Response:
        """Read the resource at `path` of the API, from the cache if it is unchanged on GitHub.

        An unchanged resource costs no quota, and its response has status 304. The response has the body in both cases.
        """
        call = Call(Method.GET, path, query or {})
        key = f"{path}?{urlencode(sorted(call.query.items()))}" if call.query else path
        cached = self.etags.get(repository.installation, key)
        scope = Scope.for_repository(repository, Purpose.READ)
        answer = self.ask(scope, replace(call, etag=cached.etag if cached else None))
        if answer.status == 304 and cached is not None:
            return replace(answer, body=cached.body)
        if "etag" in answer.headers:
            kept = CachedAnswer(answer.headers["etag"], answer.body)
            self.etags.put(repository.installation, key, kept)
        return answer

    def iterate_pages(
        self, scope: Scope, path: str, query: Query | None = None
    ) -> Iterator[Response]:
        """Yield GitHub's responses for the list at `path`: one for each page of 100 entries, at most 50 pages.

        Each call uses the token of `scope`.
        """
        for page in range(1, _MOST_PAGES + 1):
            sized: dict[str, str | int] = {**(query or {}), "per_page": PER_PAGE}
            if page > 1:
                sized["page"] = page
            answer = self.ask(scope, Call(Method.GET, path, sized))
            yield answer
            if 'rel="next"' not in answer.headers.get("link", ""):
                return

    def graphql(self, scope: Scope, question: Question[Shape], *, may_miss: bool = False) -> Shape:
        """Send a GraphQL query and return the `data` of its answer as an object of the type `question.shape`.

        Raises NotFound when GitHub finds an object missing. With `may_miss`, missing objects, and checks that the App
        may not see, are null in the answer instead.
        """
        call = question.build_call(self.transport.endpoints)
        answer = self.ask(scope, call)
        try:
            return question.read_answer(call, answer, self.transport.clock(), may_miss=may_miss)
        except RateLimited as error:
            raise self._freeze_on_limit(scope.installation, error) from None

    def _send(self, scope: Scope, call: Call) -> Response:
        try:
            return self._send_once(scope, call)
        # A 401 proves that GitHub did nothing, so even a write may be sent once more with a new token.
        except Unauthorized:
            self.tokens.forget(scope)
        return self._send_once(scope, call)

    def _send_once(self, scope: Scope, call: Call) -> Response:
        try:
            return self.transport.send(call, f"Bearer {self.tokens.get_token(scope)}")
        except RateLimited as error:
            raise self._freeze_on_limit(scope.installation, error) from error.__cause__

    def _freeze_on_limit(
        self, installation: InstallationId, error: errors.GitHubError
    ) -> Exception:
        """Stop the installation in every process if the error is a rate limit; return the error."""
        if isinstance(error, RateLimited):
            self.limiter.freeze(installation, error.retry_at)
        return error
