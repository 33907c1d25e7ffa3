"""The tree that agents are to work on, taken out of git by who may fetch and handed over to who may not."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.github.http.auth import Purpose, Scope
from app.github.http.connection import Connection as GitHub
from app.values.identifiers import CommitSha, EvaluationId, RepositoryRef
from worker.git.checkout import (
    BUSY_SECONDS,
    CheckoutBusy,
    Checkouts,
    branch_spec,
    fetch_until,
    is_branch,
)
from worker.git.hardened_git import Git, GitError, GitUnreachable
from worker.git.patches import BaseOutOfSight
from worker.git.tree_export import Exports
from worker.git.tree_store import Trees
from worker.queue.errors import Postponed

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Base:
    """The commit that a patch is written for."""

    branch: str
    commit: CommitSha


@dataclass(frozen=True, slots=True)
class Exported:
    """A tree on our side, until it is handed over."""

    tree: Path
    trees: Trees

    def hand_over(self, evaluation: EvaluationId) -> None:
        """It is the agents' from now on."""
        self.trees.offer(self.tree, evaluation)


@dataclass(frozen=True, slots=True)
class HandOver:
    """Takes trees out of the repositories that were fetched."""

    github: GitHub
    checkouts: Checkouts
    exports: Exports

    @property
    def trees(self) -> Trees:
        """Where trees are handed over: beside those under way, so that it takes a rename."""
        return Trees(self.exports.directory)

    @contextmanager
    def exported(self, repository: RepositoryRef, base: Base) -> Iterator[Exported | None]:
        """The base's tree, removed afterwards unless it was handed over; None: it can't be had, which is logged.

        Raises GitUnreachable when GitHub is the trouble, Postponed when another process is at this repository.
        """
        with self.exports.room() as room:
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
            yield Exported(room / "tree", self.trees)

    def _export(self, repository: RepositoryRef, base: Base, room: Path) -> None:
        if not is_branch(base.branch):
            raise GitError(f"no valid branch: {base.branch!r}")
        with self.checkouts.opened(repository) as git:
            if not _has(git, base.commit):
                self._fetch(git, repository, base)
            self.exports.export(git, base.commit, room)

    def _fetch(self, git: Git, repository: RepositoryRef, base: Base) -> None:
        scope = Scope.of(repository, Purpose.READ)
        remote = self.checkouts.remote(repository, self.github.tokens.token(scope))

        def require() -> None:
            if not _has(git, base.commit):
                raise BaseOutOfSight(f"{base.commit} is not on {base.branch}")

        try:
            fetch_until(git, remote, [branch_spec(base.branch)[0]], require)
        except GitUnreachable:
            self.github.tokens.forget(scope)  # git doesn't say whether it was the token
            raise


def _has(git: Git, commit: CommitSha) -> bool:
    return git.succeeds("cat-file", "-e", f"{commit}^{{commit}}")
