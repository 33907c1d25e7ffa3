"""What is to be forgotten is deleted: from the database, and from the disk of the worker that fetched it."""

from dataclasses import dataclass

from app.db.session import transaction
from app.db.store import groups, purge
from app.jobs import ForgetCheckout, Planned, PurgeData
from worker.checkout import CheckoutBusy, Checkouts
from worker.context import Context
from worker.errors import Postponed

_GIT_WAITS_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PurgeDataHandler:
    """Deletes what is stored of an installation, or of one repository of it."""

    def __call__(self, context: Context, job: PurgeData) -> None:
        """Delete in one transaction; what is gone already stays gone."""
        with context.transaction() as connection:
            forgotten = purge.purge(connection, job.installation, job.repository)
            followed = [Planned(ForgetCheckout(job.installation, gone)) for gone in forgotten]
            context.enqueue(connection, followed)


@dataclass(frozen=True, slots=True)
class ForgetCheckoutHandler:
    """Deletes a repository's git objects from this machine, unless the App is back on it."""

    checkouts: Checkouts

    def __call__(self, context: Context, job: ForgetCheckout) -> None:
        """Delete them; what is gone already stays gone."""
        with transaction(context.database) as connection:
            back = groups.repository(connection, job.repository)
        if back is None:
            self._forget(job)

    def _forget(self, job: ForgetCheckout) -> None:
        try:
            self.checkouts.forget(job.repository)
        except CheckoutBusy as error:
            raise Postponed(str(error), after_seconds=_GIT_WAITS_SECONDS) from error
