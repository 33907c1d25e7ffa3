"""What is to be forgotten is deleted: from the database, and from the disks of workers that fetched it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.alternatives import proposals
from app.db.store.issues import groups, purge
from app.github.api import rest_reader
from app.github.errors import Forbidden
from app.github.http.connection import Connection as GitHub
from app.jobs.job import OF_THE_APP, ForgetCheckout, Planned, PurgeData, TidyCheckouts
from app.values.identifiers import InstallationId, RepositoryId
from worker.git.checkout import CheckoutBusy, Checkouts
from worker.git.tree_store import Trees
from worker.queue.context import Context
from worker.queue.errors import Postponed

_GIT_WAITS_SECONDS = 60.0
_SUSPENDED_SECONDS = 3600.0
_HANDED_OVER_SECONDS = 60.0
"""A tree is there a moment before its evaluation can be seen."""


@dataclass(frozen=True, slots=True)
class PurgeDataHandler:
    """Deletes what is stored of an installation, or of one repository of it."""

    github: GitHub

    def __call__(self, context: Context, job: PurgeData) -> None:
        """Delete in one transaction; what is gone already stays gone.

        That a repository was taken out may be told after it was added again, so GitHub is asked. An
        installation never comes back under its number.
        """
        if job.repository is not None and self._is_back(job.installation, job.repository):
            return
        with context.transaction() as connection:
            forgotten = purge.purge(connection, job.installation, job.repository)
            followed = [Planned(ForgetCheckout(job.installation, gone)) for gone in forgotten]
            context.enqueue(connection, followed)

    def _is_back(self, installation: InstallationId, repository: RepositoryId) -> bool:
        try:
            return rest_reader.covers(self.github, installation, repository)
        except Forbidden as error:
            raise Postponed(str(error), after_seconds=_SUSPENDED_SECONDS) from error


@dataclass(frozen=True, slots=True)
class ForgetCheckoutHandler:
    """Deletes a repository's git objects from this machine, unless the App is back on it."""

    checkouts: Checkouts
    trees: Trees

    def __call__(self, context: Context, job: ForgetCheckout) -> None:
        """Delete them; what is gone already stays gone."""
        with transaction(context.database) as connection:
            back = groups.repository(connection, job.repository)
        if back is None:
            _forget(self.checkouts, job.repository)
            _sweep(context, self.trees)


@dataclass(frozen=True, slots=True)
class TidyCheckoutsHandler:
    """Finds what another machine was told to forget: sooner or later each runs such a job."""

    checkouts: Checkouts
    trees: Trees

    def __call__(self, context: Context, _job: TidyCheckouts) -> None:
        """Delete what belongs to no repository that is known, and trees that no agent will work on."""
        fetched = self.checkouts.fetched()
        with transaction(context.database) as connection:
            unknown = purge.unknown(connection, fetched)
        for repository in unknown:
            _forget(self.checkouts, repository)
        _sweep(context, self.trees)


def due_checkouts(_connection: Connection) -> Sequence[Planned]:
    """By the clock: one machine looks at its disk."""
    return [Planned(TidyCheckouts(OF_THE_APP))]


def _forget(checkouts: Checkouts, repository: RepositoryId) -> None:
    try:
        checkouts.forget(repository)
    except CheckoutBusy as error:
        raise Postponed(str(error), after_seconds=_GIT_WAITS_SECONDS) from error


def _sweep(context: Context, trees: Trees) -> None:
    """Trees that were handed over, and whose agents will not come: newer work replaced theirs, or it is forgotten."""
    lying = trees.lying(_HANDED_OVER_SECONDS)
    with transaction(context.database) as connection:
        awaited = proposals.awaited(connection, lying)
    for evaluation in lying:
        if evaluation not in awaited:
            trees.discard(evaluation)
