"""Export source trees for agents and judges: this process may fetch from GitHub, theirs may not."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.github.http.auth import Purpose, Scope
from app.github.http.connection import GitHub
from app.values.identifiers import CommitSha, EvaluationId, RepositoryRef
from worker.git.checkout import (
    BUSY_SECONDS,
    CheckoutBusy,
    Checkouts,
    build_refspec,
    fetch_until,
    is_valid_branch,
)
from worker.git.hardened_git import Git, GitError, GitUnreachable
from worker.git.patches import BaseNotFound
from worker.git.tree_export import TreeExporter
from worker.git.tree_store import TreeStore
from worker.queue.errors import Postponed

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BaseCommit:
    """The branch and the commit on which an agent bases an alternative."""

    branch: str
    commit: CommitSha


class TreeRequired(Exception):
    """The group will be judged now, and its evaluation needs a source tree that nobody has exported yet."""

    def __init__(self, base: BaseCommit) -> None:
        super().__init__(f"the source tree of {base.commit} must be exported first")
        self.base = base


@dataclass(frozen=True, slots=True)
class ExportedTree:
    """A source tree that is exported, and not yet handed to the process that reads it."""

    tree: Path
    commit: CommitSha
    tree_store: TreeStore

    def hand_over(self, evaluation: EvaluationId) -> None:
        """Move this tree to the shared store, where its reader finds it by `evaluation`."""
        self.tree_store.offer(self.tree, evaluation)


@dataclass(frozen=True, slots=True)
class TreeHandover:
    """Exports source trees of fetched repositories for agents."""

    github: GitHub
    checkouts: Checkouts
    exporter: TreeExporter

    @property
    def tree_store(self) -> TreeStore:
        """Return the store where agents find the source trees that were handed over.

        It is in the exporter's directory, so that a rename can hand a tree over.
        """
        return TreeStore(self.exporter.directory)

    @contextmanager
    def export_tree(
        self, repository: RepositoryRef, base: BaseCommit
    ) -> Iterator[ExportedTree | None]:
        """Export the source tree of commit `base` and yield it; yield None, and log why, if that fails.

        The tree is removed afterwards unless it was handed over. Raises GitUnreachable when GitHub cannot be reached,
        and Postponed when another process uses this repository.
        """
        with self.exporter.create_folder() as room:
            try:
                self._export(repository, base, room)
            except GitUnreachable:
                raise
            except CheckoutBusy as error:
                raise Postponed(str(error), after_seconds=BUSY_SECONDS) from error
            except (GitError, OSError) as error:
                log.warning("no tree of %s for agents: %s", base.commit, error)
                yield None
                return
            yield ExportedTree(room / "tree", base.commit, self.tree_store)

    def _export(self, repository: RepositoryRef, base: BaseCommit, room: Path) -> None:
        if not is_valid_branch(base.branch):
            raise GitError(f"invalid branch name: {base.branch!r}")
        with self.checkouts.open_repository(repository) as git:
            if not _has_commit(git, base.commit):
                self._fetch(git, repository, base)
            self.exporter.export(git, base.commit, room)

    def _fetch(self, git: Git, repository: RepositoryRef, base: BaseCommit) -> None:
        scope = Scope.for_repository(repository, Purpose.READ)
        remote = self.checkouts.build_remote(repository, self.github.tokens.get_token(scope))

        def require() -> None:
            if not _has_commit(git, base.commit):
                raise BaseNotFound(f"{base.commit} is not on {base.branch}")

        try:
            fetch_until(git, remote, [build_refspec(base.branch)[0]], require)
        except GitUnreachable:
            self.github.tokens.forget(scope)  # git does not say whether the token was the cause
            raise


def _has_commit(git: Git, commit: CommitSha) -> bool:
    return git.is_success("cat-file", "-e", f"{commit}^{{commit}}")
