"""What can keep the writer App from opening a pull request, as one exception with the reason."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.github.api.draft_publisher import BranchTaken, DraftPublisher, NewCommit
from app.github.errors import Forbidden, NotFound, Unprocessable
from app.policy.draft_policy import DraftRefusal
from app.values.identifiers import RepositoryRef
from model.errors import BadDiff
from worker.git.alternative_commit import DoesNotApply, build_alternative_commit
from worker.git.hardened_git import GitError, GitUnreachable, Remote


class NotOpenedError(Exception):
    """The pull request cannot be opened, and a retry would not help."""

    def __init__(self, why: DraftRefusal, cause: object = "") -> None:
        super().__init__(f"{why.value}: {cause}" if cause else why.value)
        self.why = why
        self.cause = str(cause)


@contextmanager
def explain_refusals() -> Iterator[None]:
    """Turn an error that no retry can help into NotOpenedError. Outages and lost answers pass unchanged."""
    try:
        yield
    except BadDiff as error:
        raise NotOpenedError(DraftRefusal.BAD_DIFF, error) from error
    except BranchTaken as error:
        raise NotOpenedError(DraftRefusal.BRANCH_TAKEN, error) from error
    except Forbidden as error:
        raise NotOpenedError(DraftRefusal.NO_RIGHT, error) from error
    except (NotFound, Unprocessable) as error:
        raise NotOpenedError(DraftRefusal.REFUSED, error) from error


def require_writer_access(publisher: DraftPublisher, repository: RepositoryRef) -> RepositoryRef:
    """Return the repository under the writer App's installation, once the App may write there.

    Raises NotOpenedError.
    """
    try:
        writable = publisher.find_installation(repository)
    except NotFound as error:
        raise NotOpenedError(DraftRefusal.NOT_INSTALLED, error) from error
    try:
        publisher.token(writable)
    except (Unprocessable, Forbidden) as error:
        raise NotOpenedError(DraftRefusal.NO_RIGHT, error) from error
    return writable


def build_commit(remote: Remote, base: str, diff: str, message: str) -> NewCommit:
    """Build the commit of `diff` on the newest commit of the branch `base`. Raises NotOpenedError and GitUnreachable."""
    try:
        return build_alternative_commit(remote, base, diff, message)
    except DoesNotApply as error:
        raise NotOpenedError(DraftRefusal.MOVED, error) from error
    except GitUnreachable:
        raise
    except GitError as error:
        raise NotOpenedError(DraftRefusal.NO_CODE, error) from error
