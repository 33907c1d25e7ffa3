"""The records of one repository in the stand-in's world."""

from dataclasses import dataclass

from tests.github.actions.checks import Reporter
from tests.github.server_thread import ServerThread
from tests.github.world.http_values import not_found
from tests.github.world.state import CheckRun, Issue, Repository, User
from tests.github.world.world import World


@dataclass(frozen=True, slots=True)
class RepoRecords:
    """Finds the records of a repository. Only the server's thread may use its methods.

    Unknown numbers raise ApiError with the status 404.
    """

    full_name: str
    id: int
    first_sha: str
    """The commit that the repository was created with."""
    server: ServerThread

    @property
    def _world(self) -> World:
        return self.server.world

    @property
    def _record(self) -> Repository:
        return self._world.repository(self.full_name)

    def _issue(self, number: int) -> Issue:
        return self._world.issue(self._record, number)

    def _check_run(self, check_id: int) -> CheckRun:
        if check_id not in self._record.checks:
            raise not_found()
        return self._record.checks[check_id]

    def _get_reporter(self, app: str) -> Reporter:
        return Reporter(app, self._world.account(f"{app}[bot]", "Bot"))

    def _account(self, login: str | None, default: User) -> User:
        return self._world.account(login) if login else default
