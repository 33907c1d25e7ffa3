"""GitHub's JSON, read into the slices we use: REST here, GraphQL in `wire_pulls`
and `wire_issues`.

Text is cleaned at this edge: NUL and lone surrogates, which a stranger may write and a database
refuses, never come in.
"""

import json
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    TypeAdapter,
    ValidationError,
)

from app.github.api_call import Answer, Call
from app.github.errors import unanswered


def clean(text: object) -> object:
    """Text without NUL and with U+FFFD for lone surrogates; anything else as it is."""
    if not isinstance(text, str):
        return text
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def text_or_empty(text: object) -> object:
    """As `clean`, with the null that GitHub sends for an empty body as an empty text."""
    return "" if text is None else clean(text)


Text = Annotated[str, BeforeValidator(clean)]
Body = Annotated[str, BeforeValidator(text_or_empty)]


class Slice(BaseModel):
    """The fields we use of an object that has more."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class GraphQLProblem(Slice):
    type: str = ""
    message: str = ""


class GraphQLAnswer(Slice):
    data: dict[str, Any] | None = None
    errors: tuple[GraphQLProblem, ...] = ()


class TokenGrant(Slice):
    token: str
    expires_at: AwareDatetime


class Account(Slice):
    id: int
    login: Text
    type: str = "User"


class Via(Slice):
    id: int


class Comment(Slice):
    id: int
    body: Body = ""
    user: Account | None = None
    performed_via_github_app: Via | None = None
    created_at: datetime
    updated_at: datetime
    html_url: str = ""

    def is_by(self, app_id: int) -> bool:
        """Whether the App itself wrote it: not a person, not even one acting through the App."""
        app = self.performed_via_github_app
        bot = self.user is not None and self.user.type == "Bot"
        return bot and app is not None and app.id == app_id


class CheckRun(Slice):
    id: int
    name: Text
    head_sha: str
    external_id: Text | None = None
    status: str
    conclusion: str | None = None
    app: Via | None = None


class CheckRuns(Slice):
    check_runs: tuple[CheckRun, ...]


class Reaction(Slice):
    id: int
    content: str
    user: Account | None = None
    created_at: datetime


class ReviewComment(Slice):
    path: Text
    body: Body


class Permission(Slice):
    permission: str
    role_name: str | None = None


class Created(Slice):
    id: int


class PullHead(Slice):
    sha: str
    ref: Text


class OpenPull(Slice):
    number: int
    updated_at: datetime
    head: PullHead
    base: PullHead


class Numbered(Slice):
    number: int


class Made(Slice):
    sha: str


class Branch(Slice):
    object: Made


class GitCommit(Slice):
    sha: str
    tree: Made
    message: Text


class DefaultBranch(Slice):
    default_branch: Text


class HookDelivery(Slice):
    id: int
    guid: str
    delivered_at: AwareDatetime
    redelivery: bool
    status_code: int
    event: str
    action: str | None
    installation_id: int | None


Read = TypeVar("Read")


def decode(call: Call, answer: Answer) -> Any:
    """The answer's JSON. Raises GitHubDown, or Ambiguous after a write, when it is none."""
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        said = (
            f"{call}: {answer.status} with a body that is not JSON ({len(answer.body)} characters)"
        )
        raise unanswered(call, said) from error


def read(shape: type[Read], call: Call, answer: Answer) -> Read:
    """The answer as `shape`. Raises as `decode` does, also for JSON of another shape."""
    return parse(shape, call, decode(call, answer))


def parse(shape: type[Read], call: Call, value: Any) -> Read:
    """Decoded JSON as `shape`. Raises GitHubDown, or Ambiguous after a write, when it is not."""
    try:
        return TypeAdapter(shape).validate_python(value)
    except ValidationError as error:
        where = ", ".join(".".join(map(str, e["loc"])) for e in error.errors()[:3])
        raise unanswered(call, f"{call}: the answer lacks or bends {where}") from error
