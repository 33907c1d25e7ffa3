"""What can go wrong between GitHub and us, and the one place that decides which it was.

GitHubError
├── Retryable              try again, not before `retry_at` when it is set
│   ├── RateLimited        GitHub asks us to wait; nothing was changed
│   │   └── WritePaceExceeded  our own limiter asks us to wait
│   ├── GitHubDown         5xx, timeout, reset, an answer that can't be read; nothing was changed
│   └── Ambiguous          a write left and its answer was lost: look before sending again
└── Permanent              another attempt would end the same way
    ├── Unauthorized       GitHub doesn't know us: key, App id or clock
    ├── Forbidden          known, but not allowed; names the permission where GitHub does
    │   └── ConversationClosed  the issue is locked, or the repository limits interactions
    ├── NotFound           not there, or not for us to see
    └── Unprocessable      GitHub understood and refuses
        └── DiffTooBig     a diff beyond GitHub's limits
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import requests
from urllib3.exceptions import MaxRetryError, NewConnectionError

from app.github.api_call import Call, Response
from app.github.redaction import redact

DEFAULT_WAIT: Final = timedelta(seconds=90)
"""Wait after a limit without a time. GitHub asks for at least a minute, and blocks of 72 seconds
were seen."""
_MESSAGE_CHARACTERS: Final = 300
_CLOSED: Final = ("issue is locked", "Interactions on this repository have been")
"""Words of GitHub's messages about a locked conversation and about limited interactions."""
_CONNECTION: Final = re.compile(r"^\w+\(host='([^']*)', port=(\d+)\): ")
"""How urllib3 begins a message about a connection."""


class GitHubError(Exception):
    """GitHub, or the connection to it, failed."""


class Retryable(GitHubError):
    """A call to GitHub failed and may succeed later."""

    retry_at: datetime | None = None
    """Earliest time of a retry; None leaves it to the queue's back-off."""


class RateLimited(Retryable):
    """GitHub limits the rate: nothing changed, and no call may follow before `retry_at`."""

    retry_at: datetime

    def __init__(self, message: str, retry_at: datetime) -> None:
        super().__init__(f"{message} (again at {retry_at.isoformat(timespec='seconds')})")
        self.retry_at = retry_at


class WritePaceExceeded(RateLimited):
    """The bot's own limiter has no free write within seconds. `retry_at` is the time of the next free write."""


class GitHubDown(Retryable):
    """GitHub is unreachable or answers badly; nothing changed."""


class Ambiguous(Retryable):
    """The bot sent a write to GitHub and lost the answer, so it does not know whether GitHub carried it out."""


class Permanent(GitHubError):
    """A call to GitHub failed, and a retry would fail too."""


class Unauthorized(Permanent):
    """GitHub refuses the credentials: check R4P_APP_ID, the private key and this machine's clock."""


class Forbidden(Permanent):
    """GitHub knows the App and does not allow the call."""

    def __init__(self, message: str, permission: str | None = None) -> None:
        hint = f": grant the App {permission}" if permission else ""
        super().__init__(f"{message}{hint}")
        self.detail = message
        self.permission = permission
        """What GitHub would have accepted, such as `issues=write`; None when it didn't say."""


class ConversationClosed(Forbidden):
    """Only members may write in the conversation: it is locked, or the repository limits interactions."""


class NotFound(Permanent):
    """The requested object on GitHub is gone, moved, or hidden from this installation."""


class Unprocessable(Permanent):
    """GitHub understands the request and refuses it as it is."""


class DiffTooBig(Unprocessable):
    """GitHub serves no diff of more than 300 files or 20,000 lines."""


def from_response(call: Call, answer: Response, now: datetime) -> GitHubError:
    """Build the error for GitHub's response to `call` with a status other than 2xx and 304.

    `now` is the present time, from which the function computes when a rate limit ends.
    """
    text = f"{call}: {answer.status} {get_message(answer)}"
    until = _find_limit_end(answer, now)
    if until is not None:
        return RateLimited(text, until)
    if answer.status >= 500:
        return build_lost_answer_error(call, text)
    # GitHub answers an unknown App id with 404.
    if answer.status == 401 or "Integration not found" in text:
        return Unauthorized(f"{text}: check R4P_APP_ID, the private key and this machine's clock")
    if answer.status in {403, 451} or _is_closed(answer, text):
        return _build_refusal(answer, text)
    if answer.status in {404, 410} or answer.status < 400:
        return NotFound(text)
    return DiffTooBig(text) if answer.status == 406 else Unprocessable(text)


def _build_refusal(answer: Response, text: str) -> Forbidden:
    if _is_closed(answer, text):
        return ConversationClosed(text)
    return Forbidden(text, answer.headers.get("x-accepted-github-permissions"))


def _is_closed(answer: Response, text: str) -> bool:
    return answer.status in {403, 422} and any(words in text for words in _CLOSED)


def from_transport(call: Call, error: requests.RequestException) -> GitHubError:
    """Build the GitHubError for a call without a complete response, from the exception of the HTTP library.

    It is Ambiguous when GitHub may have received a write, else GitHubDown.
    """
    text = f"{call}: {type(error).__name__}: {_shorten(error)[:_MESSAGE_CHARACTERS]}"
    return GitHubDown(text) if _has_never_left(error) else build_lost_answer_error(call, text)


def _shorten(error: requests.RequestException) -> str:
    """Return why a call failed, without the layers of the HTTP library and without known secrets."""
    cause = error.args[0] if error.args else None
    reason = cause.reason if isinstance(cause, MaxRetryError) and cause.reason else error
    return _CONNECTION.sub(r"\1:\2: ", redact(str(reason)))


def build_lost_answer_error(call: Call, text: str) -> GitHubError:
    """Build the error for a lost or unreadable answer to `call`: GitHubDown for a read, Ambiguous for a write.

    `text` is the error's message.
    """
    return Ambiguous(text) if call.writes else GitHubDown(text)


def from_graphql(call: Call, kind: str, text: str, answer: Response, now: datetime) -> GitHubError:
    """Build the GitHubError for one entry of the list `errors` in a GraphQL answer.

    `kind` is the entry's type (empty: it has none), and `text` is its message. `answer` is the whole response, and
    `now` is the present time.
    """
    summary = f"{call}: GraphQL {kind}: {_clean(text)}"
    if kind in {"RATE_LIMITED", "RATE_LIMIT"}:
        return RateLimited(summary, _read_reset(answer, now) or now + DEFAULT_WAIT)
    if kind in {"FORBIDDEN", "INSUFFICIENT_SCOPES"}:
        return Forbidden(summary, answer.headers.get("x-accepted-github-permissions"))
    if kind == "NOT_FOUND":
        return NotFound(summary)
    # A query that timed out or failed inside GitHub has no type.
    return Unprocessable(summary) if kind else GitHubDown(summary)


def get_message(answer: Response) -> str:
    """Return the message in GitHub's response on one line of at most 300 characters, without known secrets.

    For a body that is no JSON, it returns the body's beginning.
    """
    try:
        content = json.loads(answer.body)
    except (ValueError, RecursionError):
        content = answer.body[:_MESSAGE_CHARACTERS]
    if isinstance(content, Mapping):
        details = content.get("errors")
        content = f"{content.get('message', '')}{f' {json.dumps(details)}' if details else ''}"
    return _clean(str(content))


def _clean(text: str) -> str:
    plain = "".join(c if c.isprintable() else " " for c in redact(text))
    return " ".join(plain.split())[:_MESSAGE_CHARACTERS]


def _find_limit_end(answer: Response, now: datetime) -> datetime | None:
    """Return when a rate limit ends, or None when the response is no rate limit.

    A secondary limit may come without a usable header: `x-ratelimit-remaining` counts the primary
    quota, and its reset may lie in the past.
    """
    asked = _read_retry_after(answer, now)
    spent = answer.headers.get("x-ratelimit-remaining") == "0"
    words = get_message(answer).lower()
    named = "rate limit" in words or "abuse detection" in words
    if answer.status != 429 and not (answer.status == 403 and (asked or spent or named)):
        return None
    reset = _read_reset(answer, now) if spent else None
    return asked or reset or now + DEFAULT_WAIT


def _read_retry_after(answer: Response, now: datetime) -> datetime | None:
    value = answer.headers.get("retry-after", "")
    return now + timedelta(seconds=max(1, int(value))) if _is_count(value) else None


def _read_reset(answer: Response, now: datetime) -> datetime | None:
    """Return the primary quota's reset on this machine's clock, or None when it is past."""
    value = answer.headers.get("x-ratelimit-reset", "")
    if not _is_count(value):
        return None
    # The reset is a time on GitHub's clock, so only its distance holds here. Add one second,
    # because both times are cut to whole seconds.
    wait = int(value) + 1 - (answer.server_time or now).timestamp()
    return now + timedelta(seconds=wait) if wait > 1 else None


def _is_count(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) < 12


def _has_never_left(error: requests.RequestException) -> bool:
    """Return whether no connection was made, so that not even a write can have happened."""
    cause = error.args[0] if error.args else None
    reason = cause.reason if isinstance(cause, MaxRetryError) else None
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)
