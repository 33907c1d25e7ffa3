"""Send one call to GitHub over PyGithub's connection and classify the result.

Reads are retried a few times after connection faults; a write is sent exactly once. Rate limits are
reported at once: no call waits here.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import requests
from github.Requester import Requester
from urllib3 import Retry

from app.github import errors
from app.github.api_call import Call, Response
from app.github.endpoints import Endpoints

USER_AGENT: Final = "r4p-bot"
PER_PAGE: Final = 100
TIMEOUT_SECONDS: Final = 15

Clock = Callable[[], datetime]


def get_utc_now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


def build_retry() -> Retry:
    """Build urllib3's rule for repeating calls to GitHub: only reads, after connection faults.

    PyGithub's default repeats POST and sleeps as long as GitHub says. `other=0` because a TLS fault while reading an
    answer would otherwise repeat even a POST.
    """
    return Retry(
        total=3,
        connect=2,
        read=1,
        other=0,
        backoff_factor=0.3,
        allowed_methods={"GET", "HEAD"},
        status_forcelist={500, 502, 503, 504},
        respect_retry_after_header=False,
        raise_on_status=False,
    )


class Transport:
    """A connection pool to one GitHub server. It holds no credentials; each call brings its own."""

    def __init__(
        self, endpoints: Endpoints, *, timeout: int = TIMEOUT_SECONDS, clock: Clock = get_utc_now
    ) -> None:
        self.endpoints = endpoints
        self.clock = clock
        self._requester = Requester(
            auth=None,
            base_url=endpoints.rest,
            timeout=timeout,
            user_agent=USER_AGENT,
            per_page=PER_PAGE,
            verify=True,
            retry=build_retry(),
            pool_size=8,
            # The limiter that all processes share sets the pace, so disable PyGithub's.
            seconds_between_requests=0,
            seconds_between_writes=0,
            api_version=endpoints.api_version,
        )

    def send(self, call: Call, authorization: str | None) -> Response:
        """Send a call and return a 2xx or 304 response; raise a GitHubError otherwise.

        `authorization` is the value of the header Authorization; None for calls without credentials.
        """
        headers = {"Accept": call.accept}
        if authorization is not None:
            headers["Authorization"] = authorization
        if call.etag is not None:
            headers["If-None-Match"] = call.etag
        try:
            answer = Response(
                *self._requester.requestJson(
                    call.method, call.path, dict(call.query), headers, call.body
                )
            )
        except requests.RequestException as error:
            raise errors.from_transport(call, error) from error
        except RuntimeError as error:  # PyGithub's error for a redirect to another host or scheme
            raise errors.NotFound(f"{call}: {error}; correct R4P_GITHUB_URL") from error
        if 200 <= answer.status < 300 or answer.status == 304:
            return answer
        raise errors.from_response(call, answer, self.clock())

    def close(self) -> None:
        """Close the sockets of the connection pool."""
        self._requester.close()
