"""A writer App, and requests for draft pull requests that it opens."""

import pytest
from pydantic import SecretStr

from app.db.session import transaction
from app.db.store.alternatives import attempts, drafts
from app.db.store.alternatives.attempts import Place
from app.db.store.alternatives.drafts import DraftRequest
from app.db.store.issues import groups
from app.db.store.queue.github_state import PostgresEtags, PostgresLimiter
from app.github.endpoints import build_endpoints
from app.github.http.auth import App as OurApp
from app.github.http.connection import GitHub
from app.jobs.draft_jobs import OpenDraft
from app.values.identifiers import AlternativeNumber, CommitSha
from model.domain import Issue
from tests.builders.history.stored_verdict import build_attempt
from tests.builders.worker_scene import CONFIG, build_diff
from worker.publishing.open_draft import OpenDraftHandler

WANTED = CONFIG + "draft_pull_requests: true\n"
RIGHTS = {"contents": "write", "pull_requests": "write", "metadata": "read"}
DIFF = build_diff("w * h")


@pytest.fixture
def writer(standin, app):
    return standin.register_app(slug=f"{app.slug}-writer", permissions=RIGHTS)


@pytest.fixture
def opening(scene, writer, database):
    """The handler, as the second App."""
    url = build_endpoints(scene.standin.url)
    app = OurApp(writer.app_id, SecretStr(writer.private_key))
    github = GitHub.open(app, url, PostgresLimiter(database), PostgresEtags(database))
    yield OpenDraftHandler(github, url)
    github.close()


@pytest.fixture
def wish(scene, writer, database):
    """`wish(diff)`: somebody asked for a draft of A1; the job that opens it."""

    def ask(diff=DIFF, *, rights=RIGHTS, config=WANTED):
        scene.begin("w - h", config=config)
        if rights:
            scene.standin.install(writer, [scene.repo], rights)
        scene.store_evaluation()
        base = CommitSha(scene.repo.pull(scene.pulls[0]).base_sha)
        with transaction(database) as connection:
            groups.save_config(connection, scene.id, text=config, error=None)
            group = groups.find_group(connection, scene.id, scene.issue)
            place = Place(scene.id, group.id, base, Issue("Area is wrong", "It adds."))
            record = build_attempt(patch=diff)
            attempt = attempts.save(connection, place, record, AlternativeNumber(1))
            comment = scene.repo.comment(scene.issue, "/r4p open A1", "maintainer")
            who = DraftRequest(str(comment), scene.issue, "maintainer")
            draft = drafts.request_draft(connection, scene.id, attempt, who)
        return OpenDraft(scene.installation, scene.id, draft.id)

    return ask
