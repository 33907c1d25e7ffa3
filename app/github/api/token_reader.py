"""Read GitHub with a plain token, such as the one of a GitHub Actions job. Nothing here writes."""

from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr

from app.github.api_call import Call, Method, Response
from app.github.endpoints import Endpoints
from app.github.http.auth import Scope
from app.github.http.connection import Question, Shape
from app.github.http.transport import Transport
from app.github.redaction import remember
from app.github.wire import rest
from app.values.identifiers import InstallationId, PullNumber, RepositoryId, RepositoryRef

_DIFF: Final = "application/vnd.github.diff"
_NO_INSTALLATION: Final = InstallationId(0)
"""A plain token belongs to no installation of an App."""


@dataclass(frozen=True, slots=True)
class TokenReader:
    """Reads from GitHub with one token. Its methods raise a GitHubError when a call fails; no call waits for a limit."""

    transport: Transport
    token: SecretStr

    @classmethod
    def open(cls, github: Endpoints, token: SecretStr) -> "TokenReader":
        """Return a reader of the GitHub server `github`. Logs and messages mask the token from now on."""
        remember(token.get_secret_value())
        return cls(Transport(github), token)

    def close(self) -> None:
        """Close the sockets to GitHub."""
        self.transport.close()

    def ask(self, call: Call) -> Response:
        """Send a call that changes nothing, and return GitHub's response. Raises ValueError for a call that writes."""
        if call.writes:
            raise ValueError(f"{call} changes something, and a TokenReader only reads")
        return self.transport.send(call, f"Bearer {self.token.get_secret_value()}")

    def graphql(self, _scope: Scope, question: Question[Shape], *, may_miss: bool = False) -> Shape:
        """Send a GraphQL query, and return the `data` of its answer. The token decides what it may see, not the scope."""
        call = question.build_call(self.transport.endpoints)
        answer = self.ask(call)
        return question.read_answer(call, answer, self.transport.clock(), may_miss=may_miss)


def find_repository(github: TokenReader, full_name: str) -> RepositoryRef:
    """Return the repository `owner/name`, under its present name if it was renamed.

    Raises NotFound if it does not exist or the token may not see it.
    """
    call = Call(Method.GET, f"/repos/{full_name}")
    repository = rest.read_slice(rest.NamedRepository, call, github.ask(call))
    return RepositoryRef(_NO_INSTALLATION, RepositoryId(repository.id), repository.full_name)


def read_diff(github: TokenReader, repository: RepositoryRef, pull: PullNumber) -> str:
    """Return the diff of a pull request from its merge base to its present head, as GitHub prints it.

    Bytes that are not UTF-8 are U+FFFD. Raises DiffTooBig beyond GitHub's limits, and NotFound for a deleted pull request.
    """
    call = Call(Method.GET, f"/repos/{repository.full_name}/pulls/{pull}", accept=_DIFF)
    return str(rest.clean_text(github.ask(call).body))
