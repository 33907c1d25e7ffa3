"""Open the pull request that sets the bot up in a repository, with the writer App's key, once for ever."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app import comments
from app.db.session import transaction
from app.db.store.issues import groups
from app.db.store.queue.effects import build_onboarding_key
from app.github.api.draft_publisher import DraftPublisher, NewDraft
from app.github.api.effect_store import EffectKey
from app.github.endpoints import Endpoints
from app.github.http.connection import GitHub
from app.jobs.onboarding_jobs import OpenOnboarding
from app.policy.draft_policy import DraftRefusal
from app.policy.onboarding_policy import BRANCH
from app.settings.repo_config import FILE
from app.values.identifiers import PullNumber, RepositoryRef
from worker.git.hardened_git import Remote
from worker.publishing.writer_access import (
    NotOpenedError,
    build_commit,
    explain_refusals,
    require_writer_access,
)
from worker.queue.context import Context

log = logging.getLogger(__name__)

_LINES: Final[Mapping[DraftRefusal, tuple[str, str]]] = {
    DraftRefusal.NOT_INSTALLED: (
        "the writer App is not installed there",
        "install it, then take the repository out of the bot's App and add it again",
    ),
    DraftRefusal.NO_RIGHT: (
        "the writer App may not write there",
        "give it `contents: write` and `pull_requests: write`, and resume it if it is suspended",
    ),
    DraftRefusal.BRANCH_TAKEN: (
        f"the branch {BRANCH} exists, and the bot did not make it",
        f"delete the branch {BRANCH}, or rename it",
    ),
    DraftRefusal.MOVED: (f"the repository has a file {FILE} meanwhile", "none is needed"),
    DraftRefusal.NO_CODE: ("git could not read the base branch", "add the file yourself"),
    DraftRefusal.REFUSED: (
        "GitHub refuses it",
        "see GitHub's reason, and add the file yourself",
    ),
}
"""Why there is no setup pull request, and what an operator can do about it."""
_UNEXPECTED: Final = ("the bot could not build its commit", "add the file yourself")


@dataclass(frozen=True, slots=True)
class OpenOnboardingHandler:
    """Opens the setup pull request of a repository, unless one was ever open there."""

    github: GitHub
    """The connection as the writer App."""
    web: Endpoints

    def __call__(self, context: Context, job: OpenOnboarding) -> None:
        """Open the pull request, or log in one line why there is none."""
        with transaction(context.database) as connection:
            stored = groups.load_active_repository(connection, job.repository)
        if stored is None:
            return
        try:
            pull = self._open(context, stored.ref)
        except NotOpenedError as error:
            log.warning("%s: %s", stored.ref.full_name, _explain(error))
        else:
            log.info("%s: the setup pull request is #%d", stored.ref.full_name, pull)

    def _open(self, context: Context, repository: RepositoryRef) -> PullNumber:
        key = EffectKey(repository, build_onboarding_key())
        publisher = DraftPublisher(self.github, context.open_effects())
        if (existing := publisher.find_opened(key)) is not None:
            return existing
        with explain_refusals():
            writable = require_writer_access(publisher, repository)
            # GitHub remembers the question also when the bot's data was purged, and when somebody deleted the branch.
            if (earlier := publisher.find_by_branch(writable, BRANCH)) is not None:
                publisher.adopt(key, earlier)
                return earlier
            return publisher.open(writable, key, self._build(context, publisher, writable))

    def _build(
        self, context: Context, publisher: DraftPublisher, repository: RepositoryRef
    ) -> NewDraft:
        remote = Remote(self.web.git(repository.full_name), publisher.token(repository))
        base = publisher.default_branch(repository)
        title = comments.ONBOARDING_TITLE
        commit = build_commit(remote, base, build_new_file_diff(), f"{title}\n")
        context.check()
        body = comments.write_onboarding_body()
        return NewDraft(BRANCH, base, commit, title, body, is_draft=False)


def _explain(error: NotOpenedError) -> str:
    why, fix = _LINES.get(error.why, _UNEXPECTED)
    details = f" ({error.cause})" if error.cause else ""
    return f"no setup pull request: {why}{details}; fix: {fix}"


def build_new_file_diff() -> str:
    """Return the git diff that adds the settings file. It does not apply where the file exists already."""
    lines = comments.write_onboarding_file().splitlines()
    added = "".join(f"+{line}\n" for line in lines)
    return f"diff --git a/{FILE} b/{FILE}\nnew file mode 100644\n--- /dev/null\n+++ b/{FILE}\n@@ -0,0 +1,{len(lines)} @@\n{added}"
