"""Delete the data of a removed repository from the database and from the workers' disks."""

from collections.abc import Callable, Collection, Sequence

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.alternatives import proposals
from app.db.store.evidence import group_tests
from app.db.store.issues import groups, purge
from app.github.api import rest_reader
from app.github.errors import Forbidden
from app.github.http.connection import GitHub
from app.jobs.job import OF_THE_APP, ForgetCheckout, Planned, PurgeData, TidyCheckouts
from app.values.identifiers import EvaluationId, InstallationId, RepositoryId
from worker.git.checkout import CheckoutBusy, Checkouts
from worker.git.tree_store import TreeStore
from worker.queue.context import Context
from worker.queue.errors import Postponed

FindAwaited = Callable[[Connection, Collection[EvaluationId]], frozenset[EvaluationId]]
"""Returns those evaluations whose source trees somebody still needs."""
_GIT_WAITS_SECONDS = 60.0
_SUSPENDED_SECONDS = 3600.0
_HANDED_OVER_SECONDS = 60.0
"""A tree may exist shortly before its evaluation is visible."""


def purge_data(github: GitHub, context: Context, job: PurgeData) -> None:
    """Delete an installation's data, or that of one repository, from the database in one transaction.

    `job` names the installation, and the repository (None: all). The webhook about a removal may arrive after the
    repository was added again. So this asks GitHub first, and deletes nothing if the App can read the repository. An
    installation never returns under its old number. Raises Postponed if GitHub refuses to answer.
    """
    if job.repository is not None and _is_back(github, job.installation, job.repository):
        return
    with context.transaction() as connection:
        forgotten = purge.purge(connection, job.installation, job.repository)
        followed = [Planned(ForgetCheckout(job.installation, gone)) for gone in forgotten]
        context.enqueue(connection, followed)


def _is_back(github: GitHub, installation: InstallationId, repository: RepositoryId) -> bool:
    try:
        return rest_reader.has_repository(github, installation, repository)
    except Forbidden as error:
        raise Postponed(str(error), after_seconds=_SUSPENDED_SECONDS) from error


def forget_checkout(
    checkouts: Checkouts,
    trees: TreeStore,
    suite_trees: TreeStore,
    context: Context,
    job: ForgetCheckout,
) -> None:
    """Delete a repository's git objects from this machine, unless the App is installed there again.

    Exported trees that no agent, judge or test needs are deleted too. Raises Postponed when another process uses the git objects.
    """
    with transaction(context.database) as connection:
        back = groups.load_repository(connection, job.repository)
    if back is None:
        _forget(checkouts, job.repository)
        _sweep(context, trees, proposals.find_awaited)
        _sweep(context, suite_trees, group_tests.find_awaited)


def tidy_checkouts(
    checkouts: Checkouts,
    trees: TreeStore,
    suite_trees: TreeStore,
    context: Context,
    _job: TidyCheckouts,
) -> None:
    """Delete checkouts of repositories that the database does not know, and trees that no agent, judge or test needs.

    Each machine runs this periodically.
    """
    fetched = checkouts.list_fetched()
    with transaction(context.database) as connection:
        unknown = purge.find_unknown(connection, fetched)
    for repository in unknown:
        _forget(checkouts, repository)
    _sweep(context, trees, proposals.find_awaited)
    _sweep(context, suite_trees, group_tests.find_awaited)


def plan_checkout_cleanup(_connection: Connection) -> Sequence[Planned]:
    """Return the job that deletes unneeded git checkouts; it cleans the machine whose worker takes it."""
    return [Planned(TidyCheckouts(OF_THE_APP))]


def _forget(checkouts: Checkouts, repository: RepositoryId) -> None:
    try:
        checkouts.forget(repository)
    except CheckoutBusy as error:
        raise Postponed(str(error), after_seconds=_GIT_WAITS_SECONDS) from error


def _sweep(context: Context, trees: TreeStore, find_awaited: FindAwaited) -> None:
    """Delete handed-over trees that nobody needs: their evaluation was replaced or forgotten."""
    lying = trees.list_older_than(_HANDED_OVER_SECONDS)
    with transaction(context.database) as connection:
        awaited = find_awaited(connection, lying)
    for evaluation in lying:
        if evaluation not in awaited:
            trees.discard(evaluation)
