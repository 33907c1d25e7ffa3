"""The control client: starts the stand-in as a process of its own and plays everyone but the bot."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.github.control.client_process import end, launch
from tests.github.control.client_repo import Files, Repo
from tests.github.control.client_types import (
    App,
    Calls,
    CheckFacts,
    CommentFacts,
    DeliveryFacts,
    IssueFacts,
    Meter,
    PullFacts,
    RepositoryFacts,
    RequestFacts,
    StandInError,
    Violation,
)

__all__ = [
    "App",
    "Calls",
    "CheckFacts",
    "CommentFacts",
    "DeliveryFacts",
    "Files",
    "IssueFacts",
    "Meter",
    "PullFacts",
    "Repo",
    "RequestFacts",
    "StandIn",
    "StandInError",
    "Violation",
]


@dataclass(slots=True)
class StandIn:
    """A running stand-in. As a context manager it ends the process it started."""

    url: str
    process: "subprocess.Popen[bytes] | None" = None
    _client: httpx.Client = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._client = httpx.Client(base_url=self.url, timeout=60, trust_env=False)

    @classmethod
    def start(cls, data: Path, *, time_scale: float = 1.0, seed: int = 1, port: int = 0) -> Self:
        """Launch the process and wait until it listens; its output goes to `data`/standin.log."""
        process, url = launch(data, time_scale=time_scale, seed=seed, port=port)
        return cls(url, process)

    @classmethod
    def attach(cls, url: str) -> Self:
        """Talk to a stand-in that somebody else runs."""
        return cls(url)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process, if this client started it."""
        self._client.close()
        if self.process is not None:
            end(self.process)
            self.process = None

    def send(self, command: str, **arguments: Any) -> Any:
        """Run one control command; StandInError if it is refused."""
        answer = self._client.post(f"/_control/{command}", json=arguments).json()
        if "error" in answer:
            raise StandInError(f"{command}: {answer['error']}")
        return answer["result"]

    # ---- Apps, accounts, repositories

    def register_app(
        self,
        *,
        webhook_url: str = "",
        webhook_secret: str = "secret",
        slug: str = "r4p-bot",
        permissions: Mapping[str, str] | None = None,
        events: Sequence[str] | None = None,
    ) -> App:
        """Register an App; its hook gets a ping if it has a URL."""
        found = self.send(
            "register_app",
            webhook_url=webhook_url,
            webhook_secret=webhook_secret,
            slug=slug,
            permissions=permissions,
            events=events,
        )
        return App(**found)

    def set_webhook_url(self, app_id: int, url: str) -> None:
        """Point an App's hook somewhere else."""
        self.send("set_webhook_url", app_id=app_id, url=url)

    def add_user(self, login: str, type: str = "User") -> int:  # noqa: A002 - GitHub's word
        """Make an account (User, Bot or Organization); its id. Authors are made on first use too."""
        return int(self.send("add_user", login=login, kind=type))

    def delete_user(self, login: str) -> None:
        """Delete an account: its author fields become null."""
        self.send("delete_user", login=login)

    def create_repository(
        self,
        full_name: str,
        files: Mapping[str, str],
        *,
        default_branch: str = "main",
        private: bool = False,
    ) -> Repo:
        """Make `owner/name` with one commit of `files`."""
        found = RepositoryFacts(
            **self.send(
                "create_repository",
                full_name=full_name,
                files=dict(files),
                default_branch=default_branch,
                private=private,
            )
        )
        return Repo(found.full_name, found.id, found.sha, self.send)

    def install(
        self, app: App, repos: Sequence[Repo], permissions: Mapping[str, str] | None = None
    ) -> int:
        """Install an App on repositories of one owner; the installation id."""
        names = [repo.full_name for repo in repos]
        return int(self.send("install", app_id=app.app_id, repos=names, permissions=permissions))

    def suspend(self, installation_id: int) -> None:
        """Suspend an installation."""
        self.send("suspend", installation_id=installation_id, suspended=True)

    def unsuspend(self, installation_id: int) -> None:
        """Wake a suspended installation."""
        self.send("suspend", installation_id=installation_id, suspended=False)

    def uninstall(self, installation_id: int) -> None:
        """Remove an installation."""
        self.send("uninstall", installation_id=installation_id)

    def accept_permissions(self, installation_id: int, permissions: Mapping[str, str]) -> None:
        """Replace what an installation is allowed to do."""
        self.send(
            "accept_permissions", installation_id=installation_id, permissions=dict(permissions)
        )

    def add_repositories(self, installation_id: int, repos: Sequence[Repo]) -> None:
        """Give an installation more repositories."""
        self._change_repositories(installation_id, repos, added=True)

    def remove_repositories(self, installation_id: int, repos: Sequence[Repo]) -> None:
        """Take repositories from an installation."""
        self._change_repositories(installation_id, repos, added=False)

    def _change_repositories(
        self, installation_id: int, repos: Sequence[Repo], *, added: bool
    ) -> None:
        names = [repo.full_name for repo in repos]
        self.send("change_repositories", installation_id=installation_id, repos=names, added=added)

    def revoke_tokens(self, installation_id: int) -> int:
        """Make all live tokens of an installation invalid; how many there were."""
        return int(self.send("revoke_tokens", installation_id=installation_id))

    def grant(self, repo: Repo, login: str, role: str) -> None:
        """Set a role: none, read, triage, write, maintain or admin."""
        self.send("grant", repo=repo.full_name, login=login, role=role)

    # ---- webhooks

    def drain(self, timeout: float = 10.0) -> None:
        """Wait until every queued delivery was attempted; StandInError if that takes longer."""
        if not self.send("drain", timeout_seconds=timeout):
            raise StandInError(f"deliveries are still under way after {timeout} s")

    def deliveries(self) -> list[DeliveryFacts]:
        """All attempts so far, oldest first, held ones included."""
        return [DeliveryFacts(**found) for found in self.send("deliveries")]

    def redeliver(self, guid: str) -> None:
        """Deliver once more under the same GUID."""
        self.send("redeliver", guid=guid)

    def answer_within(self, seconds: float) -> None:
        """How long a delivery waits for its answer: 10 real seconds unless changed."""
        self.send("answer_within", seconds=seconds)

    def hold_webhooks(self) -> None:
        """Keep deliveries back from now on."""
        self.send("hold_webhooks")

    def release(self, order: Sequence[int] | None = None) -> int:
        """Let held deliveries flow: all, or by position (twice: duplicated; left out: dropped).

        Returns how many were held.
        """
        return int(self.send("release", order=None if order is None else list(order)))

    # ---- looking, faults and time

    def violations(self) -> list[Violation]:
        """Every rule of GitHub's broken so far."""
        return [Violation(**found) for found in self.send("violations")]

    def history(self, since: int = 0) -> list[RequestFacts]:
        """The requests answered after a mark, oldest first."""
        return [RequestFacts(**found) for found in self.send("history", since=since)]

    def mark(self) -> int:
        """Now, as a place in the history."""
        return int(self.send("mark"))

    def calls(self, since: int = 0) -> Calls:
        """How often each operation was called after a mark."""
        return Calls(**self.send("calls", since=since))

    def meters(self) -> dict[str, Meter]:
        """The rate-limit meters by client, such as `installation:7`."""
        return {key: Meter(**found) for key, found in self.send("meters").items()}

    def fault(
        self, match: str, kind: str, *, times: int = 1, skip: int = 0, seconds: float = 72.0
    ) -> None:
        """Break requests whose `METHOD /path` (no /api/v3; GraphQL is `POST /graphql`) matches.

        `kind` is a value of `faults.Kind`; `skip` requests pass first, then `times` break.
        """
        self.send("fault", match=match, kind=kind, times=times, skip=skip, seconds=seconds)

    def fault_hits(self) -> list[int]:
        """How often each fault struck, in the order they were set."""
        return [int(hits) for hits in self.send("fault_hits")]

    def clear_faults(self) -> None:
        """Break nothing any more."""
        self.send("clear_faults")

    def set_listing_lag(self, seconds: float) -> None:
        """Keep new comments out of lists for some simulated seconds; 0 ends it."""
        self.send("set_listing_lag", seconds=seconds)

    def set_limit(self, resource: str, limit: int) -> None:
        """Change an hourly budget (core, graphql)."""
        self.send("set_limit", resource=resource, limit=limit)

    def exhaust(self, installation_id: int, resource: str = "core") -> None:
        """Use up an installation's hourly budget."""
        self.send("exhaust", installation_id=installation_id, resource=resource)

    def advance(self, seconds: float) -> None:
        """Move simulated time forward."""
        self.send("advance", seconds=seconds)

    def now(self) -> float:
        """The simulated moment, in seconds since the epoch."""
        return float(self.send("now"))
