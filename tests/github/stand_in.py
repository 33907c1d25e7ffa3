"""The stand-in for GitHub, served from a thread; its methods play everybody except the bot."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.github.actions import installs
from tests.github.actions.installs import DEFAULT_EVENTS, DEFAULT_PERMISSIONS, AppForm
from tests.github.contract import Violation
from tests.github.facts import App, Calls, DeliveryFacts, Meter
from tests.github.repo import Repo
from tests.github.server_thread import ServerThread, StandInError
from tests.github.world.faults import Fault, Kind
from tests.github.world.http_values import ApiError, not_found
from tests.github.world.journal import Request
from tests.github.world.state import Installation, Role
from tests.github.world.world import World

_TOKENS = "POST /app/installations/{installation_id}/access_tokens"


class StandIn:
    """A running stand-in. As a context manager it stops its server at the end."""

    def __init__(self, server: ServerThread) -> None:
        self.url = server.url
        self._server = server
        self._call = server.call

    @classmethod
    def start(cls, data: Path, *, time_scale: float = 1.0, seed: int = 1, port: int = 0) -> Self:
        """Serve an empty GitHub that keeps its repositories and violations under `data`.

        `time_scale` is simulated seconds per real second; port 0 takes a free port.
        """
        server = ServerThread(data, time_scale=time_scale, seed=seed, port=port)
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
        self._server.stop()

    # ---- Apps, accounts, repositories

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
        return self._call(lambda world: App.of_record(installs.register_app(world, form)))

    def set_webhook_url(self, app_id: int, url: str) -> None:
        """Change the URL of an App's hook."""

        def act(world: World) -> None:
            world.apps[app_id].webhook_url = url

        self._call(act)

    def add_user(self, login: str, type: str = "User") -> int:  # noqa: A002 - GitHub's word
        """Create an account (User, Bot or Organization) and return its id.

        Authors of issues and comments get an account on first use.
        """
        return self._call(lambda world: world.account(login, type).id)

    def delete_user(self, login: str) -> None:
        """Delete an account: its author fields become null."""
        self._call(lambda world: installs.delete_user(world.user(login)))

    def create_repository(
        self,
        full_name: str,
        files: Mapping[str, str],
        *,
        default_branch: str = "main",
        private: bool = False,
    ) -> Repo:
        """Create `owner/name` with one commit of `files`."""

        def act(world: World) -> Repo:
            repo = installs.create_repository(world, full_name, files, default_branch, private)
            return Repo(repo.full_name, repo.id, repo.head_sha, self._server)

        return self._call(act)

    def install(
        self, app: App, repos: Sequence[Repo], permissions: Mapping[str, str] | None = None
    ) -> int:
        """Install an App on repositories of one owner; return the installation's id."""

        def act(world: World) -> int:
            records = [world.repository(repo.full_name) for repo in repos]
            return installs.install(world, world.apps[app.app_id], records, permissions).id

        return self._call(act)

    def suspend(self, installation_id: int) -> None:
        """Suspend an installation."""
        self._call_installation(
            installation_id, lambda world, record: installs.suspend(world, record, True)
        )

    def unsuspend(self, installation_id: int) -> None:
        """End an installation's suspension."""
        self._call_installation(
            installation_id, lambda world, record: installs.suspend(world, record, False)
        )

    def uninstall(self, installation_id: int) -> None:
        """Remove an installation."""
        self._call_installation(installation_id, installs.uninstall)

    def accept_permissions(self, installation_id: int, permissions: Mapping[str, str]) -> None:
        """Replace the permissions of an installation."""
        self._call_installation(
            installation_id,
            lambda world, record: installs.accept_permissions(world, record, permissions),
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
        def act(world: World, record: Installation) -> None:
            records = [world.repository(repo.full_name) for repo in repos]
            installs.change_repositories(world, record, records, added)

        self._call_installation(installation_id, act)

    def _call_installation(
        self, installation_id: int, act: Callable[[World, Installation], None]
    ) -> None:
        def call(world: World) -> None:
            record = world.installations.get(installation_id)
            if record is None:
                raise not_found()
            act(world, record)

        self._call(call)

    def revoke_tokens(self, installation_id: int) -> int:
        """Revoke all live tokens of an installation; return their number."""

        def act(world: World) -> int:
            tokens = world.tokens
            world.tokens = {k: t for k, t in tokens.items() if t.installation.id != installation_id}
            return len(tokens) - len(world.tokens)

        return self._call(act)

    def grant(self, repo: Repo, login: str, role: str) -> None:
        """Set a role: none, read, triage, write, maintain or admin."""

        def act(world: World) -> None:
            collaborators = world.repository(repo.full_name).collaborators
            collaborators[world.account(login).id] = Role(role)

        self._call(act)

    # ---- webhooks

    def drain(self, timeout: float = 10.0) -> None:
        """Wait until every queued delivery was attempted; StandInError after `timeout` s."""
        if not self._server.drain(timeout):
            raise StandInError(f"deliveries are still under way after {timeout} s")

    def deliveries(self) -> list[DeliveryFacts]:
        """Return all attempts so far, oldest first, with those that are held back."""
        return self._call(
            lambda world: [DeliveryFacts.of_record(d) for d in world.deliveries.log.values()]
        )

    def redeliver(self, guid: str) -> None:
        """Deliver once more under the same GUID."""

        def act(world: World) -> None:
            attempts = [d for d in world.deliveries.log.values() if d.guid == guid]
            if not attempts:
                raise ApiError(404, f"no delivery has the GUID {guid}")
            world.deliveries.redeliver(attempts[-1])

        self._call(act)

    def answer_within(self, seconds: float) -> None:
        """Set how long a delivery waits for its answer: 10 real seconds by default."""
        self._call(lambda world: setattr(world.deliveries, "answer_seconds", seconds))

    def hold_webhooks(self) -> None:
        """Keep deliveries back from now on."""
        self._call(lambda world: world.deliveries.hold())

    def release(self, order: Sequence[int] | None = None) -> int:
        """Send the held deliveries; return how many were held.

        `order` lists positions: a repeated position is sent twice, a missing one is dropped.
        None sends all of them once.
        """
        return self._call(lambda world: world.deliveries.release(order))

    # ---- looking, faults and time

    def violations(self) -> list[Violation]:
        """Return every violation of GitHub's contract so far."""
        return self._call(lambda world: list(world.journal.violations))

    def history(self, since: int = 0) -> list[Request]:
        """Return the requests answered after a mark, oldest first."""
        return self._call(lambda world: world.journal.requests[since:])

    def mark(self) -> int:
        """Return the present position in the history."""
        return self._call(lambda world: len(world.journal.requests))

    def calls(self, since: int = 0) -> Calls:
        """Count the calls of each operation after a mark."""
        counts = self._call(lambda world: world.journal.counts(since))
        tokens = counts.pop(_TOKENS, 0)
        return Calls(dict(counts), tokens)

    def meters(self) -> dict[str, Meter]:
        """Return the rate-limit meters by client, such as `installation:7`."""

        def act(world: World) -> dict[str, Meter]:
            return {
                key: Meter(len(meters.content), meters.requests_while_blocked, meters.refused)
                for key, meters in world.limits.meters.items()
            }

        return self._call(act)

    def fault(
        self, match: str, kind: str, *, times: int = 1, skip: int = 0, seconds: float = 72.0
    ) -> None:
        """Break requests whose `METHOD /path` matches a pattern; `skip` requests pass first.

        Paths have no /api/v3; GraphQL is `POST /graphql`. `kind` is a value of `faults.Kind`.
        """
        rule = Fault(match, Kind(kind), times, skip, seconds)
        self._call(lambda world: world.faults.rules.append(rule))

    def fault_hits(self) -> list[int]:
        """Return how often each fault struck, in the order in which they were set."""
        return self._call(lambda world: [rule.hits for rule in world.faults.rules])

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._call(lambda world: world.faults.rules.clear())

    def set_listing_lag(self, seconds: float) -> None:
        """Keep new comments out of lists for some simulated seconds; 0 ends it."""
        self._call(lambda world: setattr(world, "listing_lag", seconds))

    def set_limit(self, resource: str, limit: int) -> None:
        """Change an hourly budget (core, graphql)."""
        self._call(lambda world: world.limits.limits.update({resource: limit}))

    def exhaust(self, installation_id: int, resource: str = "core") -> None:
        """Use up an installation's hourly budget."""
        key = f"installation:{installation_id}"
        self._call(lambda world: world.limits.exhaust(key, resource))

    def advance(self, seconds: float) -> None:
        """Move simulated time forward."""
        self._call(lambda world: world.clock.advance(seconds))

    def now(self) -> float:
        """Return the simulated time in seconds since the epoch."""
        return self._call(lambda world: world.clock.now())
