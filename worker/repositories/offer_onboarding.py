"""Find out whether a new repository needs the pull request that sets the bot up."""

import logging

from app.db.session import transaction
from app.db.store.issues import groups, issue_controls
from app.db.store.queue.effects import build_onboarding_key, find_github_id
from app.github.api import graphql_reader
from app.github.api.effect_store import EffectKey
from app.github.errors import Forbidden, NotFound, Unprocessable
from app.github.http.connection import GitHub
from app.jobs.job import Planned
from app.jobs.onboarding_jobs import OfferOnboarding, OpenOnboarding
from app.policy.onboarding_policy import find_obstacle
from app.values.identifiers import RepositoryRef
from worker.queue.context import Context

log = logging.getLogger(__name__)


def offer_onboarding(github: GitHub, context: Context, job: OfferOnboarding) -> None:
    """Read a repository from GitHub, and plan its setup pull request unless something speaks against it.

    A repository that has had its setup pull request gets no second one.
    """
    with transaction(context.database) as connection:
        stored = groups.load_active_repository(connection, job.repository)
        if stored is None:
            return
        source = issue_controls.find_default_source(connection, stored.ref)
    if find_github_id(context.database, EffectKey(stored.ref, build_onboarding_key())) is not None:
        return
    try:
        facts = graphql_reader.read_repository(github, stored.ref)
        has_default = source is not None and _has_settings(github, source)
    except (NotFound, Forbidden, Unprocessable) as error:
        log.info("%s: no setup pull request: %s", stored.ref.full_name, error)
        return
    if obstacle := find_obstacle(facts, has_default=has_default):
        log.info("%s: no setup pull request: %s", stored.ref.full_name, obstacle)
        return
    with context.transaction() as connection:
        context.enqueue(connection, [Planned(OpenOnboarding(job.installation, job.repository))])


def _has_settings(github: GitHub, repository: RepositoryRef) -> bool:
    """Read from GitHub, because the copy in the database may be older than the event that this job follows."""
    return graphql_reader.read_repository(github, repository).config is not None
