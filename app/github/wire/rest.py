"""Read GitHub's JSON into typed slices: REST here, GraphQL in `graphql_pulls` and `graphql_issues`.

Text is cleaned here: NUL and lone surrogates, which strangers may write and PostgreSQL refuses,
never enter.
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

from app.github.api_call import Call, Response
from app.github.errors import build_lost_answer_error


def clean_text(text: object) -> object:
    """Remove NUL from text and replace lone surrogates by U+FFFD; return other values unchanged."""
    if not isinstance(text, str):
        return text
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_body(text: object) -> object:
    """Clean text like `clean_text`, and turn None, GitHub's null for an empty body, into an empty text."""
    return "" if text is None else clean_text(text)


Text = Annotated[str, BeforeValidator(clean_text)]
Body = Annotated[str, BeforeValidator(clean_body)]


class RestSlice(BaseModel):
    """Base class of REST answers as typed values. A subclass has only the fields that the bot uses."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class GraphQLProblem(RestSlice):
    type: str = ""
    message: str = ""
    path: tuple[str | int, ...] = ()

    @property
    def is_about_checks(self) -> bool:
        """Return whether the App lacks a permission for checks, which no verdict needs."""
        return self.type == "FORBIDDEN" and not {"checkSuites", "status"}.isdisjoint(self.path)


class GraphQLAnswer(RestSlice):
    data: dict[str, Any] | None = None
    errors: tuple[GraphQLProblem, ...] = ()


class TokenGrant(RestSlice):
    token: str
    expires_at: AwareDatetime


class Account(RestSlice):
    id: int
    login: Text
    type: str = "User"


class AppSlice(RestSlice):
    id: int


class RegisteredAppSlice(RestSlice):
    id: int
    slug: Text
    name: Text
    html_url: str
    permissions: dict[str, str]
    events: tuple[str, ...]


class NewAppSlice(RegisteredAppSlice):
    client_id: str
    client_secret: str
    webhook_secret: str | None
    pem: str
    owner: Account | None = None


class InstallationSlice(RestSlice):
    id: int
    account: Account | None = None
    html_url: str
    permissions: dict[str, str]
    suspended_at: datetime | None = None


class NamedRepository(RestSlice):
    id: int
    full_name: Text


class InstalledRepositorySlice(RestSlice):
    full_name: Text
    archived: bool = False
    has_pull_requests: bool = True
    pull_request_creation_policy: str = "all"


class InstalledRepositoriesSlice(RestSlice):
    total_count: int
    repositories: tuple[InstalledRepositorySlice, ...]


class DeliveryRequestSlice(RestSlice):
    payload: dict[str, Any] | None


class CommentSlice(RestSlice):
    id: int
    body: Body = ""
    user: Account | None = None
    performed_via_github_app: AppSlice | None = None

    def is_by(self, app_id: int) -> bool:
        """Return whether the App with the id `app_id` wrote the comment itself, and not a person through the App."""
        app = self.performed_via_github_app
        bot = self.user is not None and self.user.type == "Bot"
        return bot and app is not None and app.id == app_id


class CheckRunSlice(RestSlice):
    id: int
    external_id: Text | None = None
    app: AppSlice | None = None


class CheckRunsSlice(RestSlice):
    check_runs: tuple[CheckRunSlice, ...]


class ReactionSlice(RestSlice):
    id: int
    content: str
    user: Account | None = None
    created_at: datetime


class ReviewCommentSlice(RestSlice):
    path: Text
    body: Body


class PermissionSlice(RestSlice):
    permission: str
    role_name: str | None = None


class CreatedObject(RestSlice):
    id: int


class PullHead(RestSlice):
    sha: str
    ref: Text


class BranchPull(RestSlice):
    number: int
    head: PullHead


class ThreadSlice(RestSlice):
    number: int
    state: str
    updated_at: AwareDatetime
    pull_request: dict[str, Any] | None = None


class WrittenComment(CommentSlice):
    issue_url: str
    html_url: str
    author_association: str = "NONE"
    created_at: AwareDatetime
    updated_at: AwareDatetime


class NumberSlice(RestSlice):
    number: int


class GitObject(RestSlice):
    sha: str


class BranchSlice(RestSlice):
    object: GitObject


class GitCommit(RestSlice):
    tree: GitObject
    message: Text


class DefaultBranch(RestSlice):
    default_branch: Text


class HookDelivery(RestSlice):
    id: int
    guid: str
    delivered_at: AwareDatetime
    redelivery: bool
    status_code: int
    event: str
    action: str | None
    installation_id: int | None


class DeliverySlice(HookDelivery):
    request: DeliveryRequestSlice


Read = TypeVar("Read")


def decode_json(call: Call, answer: Response) -> Any:
    """Return the decoded JSON of GitHub's response to `call`.

    Raises GitHubDown for a body that is not JSON; after a write, raises Ambiguous instead.
    """
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        text = (
            f"{call}: {answer.status} with a body that is not JSON ({len(answer.body)} characters)"
        )
        raise build_lost_answer_error(call, text) from error


def read_slice(shape: type[Read], call: Call, answer: Response) -> Read:
    """Read the JSON of GitHub's response to `call` as the type `shape`. Ignore fields that the type lacks.

    Raises GitHubDown for invalid JSON or fields; after a write, raises Ambiguous instead.
    """
    return parse_slice(shape, call, decode_json(call, answer))


def parse_slice(shape: type[Read], call: Call, value: Any) -> Read:
    """Parse `value`, the decoded JSON of GitHub's response to `call`, as the type `shape`.

    Raises GitHubDown for missing or invalid fields; after a write, raises Ambiguous instead.
    """
    try:
        return TypeAdapter(shape).validate_python(value)
    except ValidationError as error:
        where = ", ".join(".".join(map(str, e["loc"])) for e in error.errors()[:3])
        raise build_lost_answer_error(
            call, f"{call}: missing or invalid fields in the answer: {where}"
        ) from error
