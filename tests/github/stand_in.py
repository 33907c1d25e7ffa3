"""The stand-in for GitHub, served from a thread; its methods play everybody except the bot."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.github.actions import installs
from tests.github.actions.installs import DEFAULT_EVENTS, DEFAULT_PERMISSIONS, AppForm
from tests.github.contract import Violation
from tests.github.contract.api_version import STORED
from tests.github.facts import App, Calls, DeliveryFacts, Meter, PullFacts
from tests.github.repo import Repo
from tests.github.server_thread import ServerThread, StandInError, run_on_server
from tests.github.world.faults import Fault, Kind
from tests.github.world.http_values import ApiError, not_found
from tests.github.world.journal import Request
from tests.github.world.state import Installation, Repository, Role

_TOKENS = "POST /app/installations/{installation_id}/access_tokens"


class StandIn:
    """A running stand-in. As a context manager it stops its server at the end."""

    def __init__(self, server: ServerThread) -> None:
        self.url = server.url
        self.server = server
        self._world = server.world
        self.api_version = server.world.contract.version.name

    @classmethod
    def start(cls, data: Path, *, api_version: str = STORED) -> Self:
        """Serve an empty GitHub that keeps its repositories and violations under `data`.

        It answers by one version of the REST API, and a request that asks for another one is a violation.
        """
        server = ServerThread(data, api_version)
        server.start()
        return cls(server)

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
        """End the server."""
        self.server.stop()

    # ---- Apps, accounts, repositories

    @run_on_server
    def register_app(
        self,
        *,
        webhook_url: str = "",
        webhook_secret: str = "secret",
        slug: str = "r4p-bot",
        permissions: Mapping[str, str] = DEFAULT_PERMISSIONS,
        events: Sequence[str] = DEFAULT_EVENTS,
    ) -> App:
        """Register an App; its hook gets a ping if it has a URL."""
        form = AppForm(slug, webhook_url, webhook_secret, permissions, tuple(events))
        return App.of_record(installs.register_app(self._world, form))

    @run_on_server
    def set_webhook_url(self, app_id: int, url: str) -> None:
        """Change the URL of an App's hook."""
        self._world.apps[app_id].webhook_url = url

    @run_on_server
    def add_user(self, login: str, type: str = "User") -> int:  # noqa: A002 - GitHub's word
        """Create an account (User, Bot or Organization) and return its id.

        Authors of issues and comments get an account on first use.
        """
        return self._world.account(login, type).id

    @run_on_server
    def sign_in_as(self, login: str | None) -> None:
        """Let this person be signed in at GitHub in every browser, and allow every App; None: nobody."""
        self._world.sign_ins.person = None if login is None else self._world.account(login)

    @run_on_server
    def delete_user(self, login: str) -> None:
        """Delete an account: its author fields become null."""
        installs.delete_user(self._world.user(login))

    @run_on_server
    def create_repository(
        self,
        full_name: str,
        files: Mapping[str, str],
        *,
        default_branch: str = "main",
        private: bool = False,
    ) -> Repo:
        """Create `owner/name` with one commit of `files`."""
        repo = installs.create_repository(self._world, full_name, files, default_branch, private)
        return Repo(repo.full_name, repo.id, repo.head_sha, self.server)

    @run_on_server
    def install(
        self, app: App, repos: Sequence[Repo], permissions: Mapping[str, str] | None = None
    ) -> int:
        """Install an App on repositories of one owner; return the installation's id."""
        record = self._world.apps[app.app_id]
        return installs.install(self._world, record, self._records(repos), permissions).id

    @run_on_server
    def suspend(self, installation_id: int) -> None:
        """Suspend an installation."""
        installs.suspend(self._world, self._installation(installation_id), True)

    @run_on_server
    def unsuspend(self, installation_id: int) -> None:
        """End an installation's suspension."""
        installs.suspend(self._world, self._installation(installation_id), False)

    @run_on_server
    def uninstall(self, installation_id: int) -> None:
        """Remove an installation."""
        installs.uninstall(self._world, self._installation(installation_id))

    @run_on_server
    def accept_permissions(self, installation_id: int, permissions: Mapping[str, str]) -> None:
        """Replace the permissions of an installation."""
        record = self._installation(installation_id)
        installs.accept_permissions(self._world, record, permissions)

    @run_on_server
    def add_repositories(self, installation_id: int, repos: Sequence[Repo]) -> None:
        """Give an installation more repositories."""
        record = self._installation(installation_id)
        installs.change_repositories(self._world, record, self._records(repos), True)

    @run_on_server
    def remove_repositories(self, installation_id: int, repos: Sequence[Repo]) -> None:
        """Take repositories from an installation."""
        record = self._installation(installation_id)
        installs.change_repositories(self._world, record, self._records(repos), False)

    @run_on_server
    def revoke_tokens(self, installation_id: int) -> int:
        """Revoke all live tokens of an installation; return their number."""
        tokens = self._world.tokens
        kept = {k: t for k, t in tokens.items() if t.installation.id != installation_id}
        self._world.tokens = kept
        return len(tokens) - len(kept)

    @run_on_server
    def set_pull_rules(self, repo: Repo, *, enabled: bool = True, policy: str = "all") -> None:
        """Switch pull requests on or off, and say who may open one: all or collaborators_only."""
        record = self._world.repository(repo.full_name)
        record.has_pull_requests, record.creation_policy = enabled, policy

    @run_on_server
    def list_pulls(self, repo: Repo) -> list[PullFacts]:
        """Return all pull requests of a repository, oldest first."""
        issues = self._world.repository(repo.full_name).issues.values()
        return [PullFacts.of_record(issue) for issue in issues if issue.pull is not None]

    @run_on_server
    def set_kind(self, repo: Repo, *, is_archived: bool = False, is_fork: bool = False) -> None:
        """Archive a repository, or make it a fork of one that nobody sees."""
        record = self._world.repository(repo.full_name)
        record.is_archived, record.is_fork = is_archived, is_fork

    @run_on_server
    def grant(self, repo: Repo, login: str, role: str) -> None:
        """Set a role: none, read, triage, write, maintain or admin."""
        collaborators = self._world.repository(repo.full_name).collaborators
        collaborators[self._world.account(login).id] = Role(role)

    def _installation(self, installation_id: int) -> Installation:
        if installation_id not in self._world.installations:
            raise not_found()
        return self._world.installations[installation_id]

    def _records(self, repos: Sequence[Repo]) -> list[Repository]:
        return [self._world.repository(repo.full_name) for repo in repos]

    # ---- webhooks

    def drain(self, timeout: float = 10.0) -> None:
        """Wait until every queued delivery was attempted; StandInError after `timeout` s."""
        if not self.server.wait_for(self._world.deliveries.drain(timeout)):
            raise StandInError(f"deliveries are still under way after {timeout} s")

    @run_on_server
    def deliveries(self) -> list[DeliveryFacts]:
        """Return all attempts so far, oldest first, with those that are held back."""
        return [DeliveryFacts.of_record(d) for d in self._world.deliveries.log.values()]

    @run_on_server
    def redeliver(self, guid: str) -> None:
        """Deliver once more under the same GUID."""
        attempts = [d for d in self._world.deliveries.log.values() if d.guid == guid]
        if not attempts:
            raise ApiError(404, f"no delivery has the GUID {guid}")
        self._world.deliveries.redeliver(attempts[-1])

    @run_on_server
    def answer_within(self, seconds: float) -> None:
        """Set how long a delivery waits for its answer: 10 real seconds by default."""
        self._world.deliveries.answer_seconds = seconds

    @run_on_server
    def hold_webhooks(self) -> None:
        """Keep deliveries back from now on."""
        self._world.deliveries.hold()

    @run_on_server
    def release(self, order: Sequence[int] | None = None) -> int:
        """Send the held deliveries; return how many were held.

        `order` lists positions: a repeated position is sent twice, a missing one is dropped.
        None sends all of them once.
        """
        return self._world.deliveries.release(order)

    # ---- looking, faults and time

    @run_on_server
    def violations(self) -> list[Violation]:
        """Return every violation of GitHub's contract so far."""
        return list(self._world.journal.violations)

    @run_on_server
    def history(self, since: int = 0) -> list[Request]:
        """Return the requests answered after a mark, oldest first."""
        return self._world.journal.requests[since:]

    @run_on_server
    def mark(self) -> int:
        """Return the present position in the history."""
        return len(self._world.journal.requests)

    @run_on_server
    def calls(self, since: int = 0) -> Calls:
        """Count the calls of each operation after a mark."""
        counts = self._world.journal.counts(since)
        tokens = counts.pop(_TOKENS, 0)
        return Calls(dict(counts), tokens)

    @run_on_server
    def meters(self) -> dict[str, Meter]:
        """Return the rate-limit meters by client, such as `installation:7`."""
        return {
            key: Meter(len(meters.content), meters.requests_while_blocked, meters.refused)
            for key, meters in self._world.limits.meters.items()
        }

    @run_on_server
    def fault(
        self, match: str, kind: str, *, times: int = 1, skip: int = 0, seconds: float = 72.0
    ) -> None:
        """Break requests whose `METHOD /path` matches a pattern; `skip` requests pass first.

        Paths have no /api/v3; GraphQL is `POST /graphql`. `kind` is a value of `faults.Kind`.
        """
        self._world.faults.rules.append(Fault(match, Kind(kind), times, skip, seconds))

    @run_on_server
    def fault_hits(self) -> list[int]:
        """Return how often each fault struck, in the order in which they were set."""
        return [rule.hits for rule in self._world.faults.rules]

    @run_on_server
    def clear_faults(self) -> None:
        """Remove all faults."""
        self._world.faults.rules.clear()

    @run_on_server
    def set_listing_lag(self, seconds: float) -> None:
        """Keep new comments out of lists for some simulated seconds; 0 ends it."""
        self._world.listing_lag = seconds

    @run_on_server
    def exhaust(self, installation_id: int, resource: str = "core") -> None:
        """Use up an installation's hourly budget."""
        self._world.limits.exhaust(f"installation:{installation_id}", resource)

    @run_on_server
    def advance(self, seconds: float) -> None:
        """Move simulated time forward."""
        self._world.clock.advance(seconds)

    @run_on_server
    def now(self) -> float:
        """Return the simulated time in seconds since the epoch."""
        return self._world.clock.now()
