"""Opens draft pull requests, as the second App: a commit, a branch and the pull request, and nothing else.

The plan comes before what can be seen, the branch and the pull request. GitHub makes neither twice, and says so: then, and
after an answer that was lost, ours is looked for and adopted.
"""

import base64
import hashlib
from dataclasses import dataclass, replace
from typing import TypeVar

from app.github.api.effect_store import EffectKey, EffectStore
from app.github.api_call import Answer, Call, Json, Method
from app.github.errors import Ambiguous, NotFound, Unprocessable
from app.github.http.auth import Purpose, Scope
from app.github.http.connection import Connection
from app.github.wire import rest
from app.values.identifiers import CommitSha, InstallationId, PullNumber, RepositoryRef

Read = TypeVar("Read")


class BranchTaken(Exception):
    """There is a branch of the name that the draft's would have, and it is not ours."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file of the new commit."""

    path: str
    mode: str
    """As git writes it: `100644` or `100755`."""
    content: bytes | None
    """None: it is deleted."""


@dataclass(frozen=True, slots=True)
class NewCommit:
    """What the branch shall show, as our own git has made it."""

    parent: CommitSha
    tree: str
    """The tree's id, which GitHub's must equal."""
    changes: tuple[FileChange, ...]
    message: str


@dataclass(frozen=True, slots=True)
class NewDraft:
    """A draft pull request, as it shall be opened."""

    branch: str
    base: str
    """The branch that it is for."""
    commit: NewCommit
    title: str
    body: str

    @property
    def digest(self) -> str:
        """Of what it shows."""
        return hashlib.sha256(f"{self.commit.tree}\0{self.title}\0{self.body}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Drafts:
    """Methods raise a GitHubError when GitHub doesn't let us."""

    github: Connection
    effects: EffectStore

    def installed_on(self, repository: RepositoryRef) -> RepositoryRef:
        """The repository as the second App sees it. Raises NotFound where it is not installed."""
        call = Call(Method.GET, f"/repos/{repository.full_name}/installation")
        found = rest.read(rest.Created, call, self.github.as_app(call))
        return replace(repository, installation=InstallationId(found.id))

    def token(self, repository: RepositoryRef) -> str:
        """To fetch with. Raises Unprocessable or Forbidden where the second App lacks a permission."""
        return self.github.tokens.token(Scope.of(repository, Purpose.OPEN_DRAFT))

    def default_branch(self, repository: RepositoryRef) -> str:
        """Of a repository, asked now."""
        call = Call(Method.GET, f"/repos/{repository.full_name}")
        return rest.read(rest.DefaultBranch, call, self._ask(repository, call)).default_branch

    def opened(self, key: EffectKey) -> PullNumber | None:
        """Its number, where it is known to be open; that is how GitHub's API names a pull request."""
        effect = self.effects.load(key)
        return None if effect is None or effect.github_id is None else PullNumber(effect.github_id)

    def open(self, repository: RepositoryRef, key: EffectKey, new: NewDraft) -> PullNumber:
        """Open it, once. Raises BranchTaken. After Ambiguous, call it again later: it looks before it sends."""
        planned = self.effects.load(key) is not None
        commit = self._ours(repository, new) if planned else None
        pull = None if commit is None else self._find(repository, new, commit)
        if pull is None:
            commit = commit or self._branch(repository, key, new)
            pull = self._pull(repository, key, new, commit)
        self.effects.confirm(key, pull, new.digest)
        return pull

    def _branch(self, repository: RepositoryRef, key: EffectKey, new: NewDraft) -> str:
        """A branch that shows the commit; its id."""
        commit = self._commit(repository, new.commit)
        body: dict[str, Json] = {"ref": f"refs/heads/{new.branch}", "sha": commit}
        try:
            self._planned(rest.Branch, (repository, key), "git/refs", body)
        except Unprocessable as error:
            there = self._ours(repository, new)
            if there is None:
                raise error from None
            return there
        return commit

    def _commit(self, repository: RepositoryRef, new: NewCommit) -> str:
        """Nobody sees a commit that no branch shows, so it is made without a plan, and again where it must be."""
        entries: list[Json] = [self._entry(repository, change) for change in new.changes]
        tree: dict[str, Json] = {"base_tree": new.parent, "tree": entries}
        made = self._make(repository, "git/trees", tree)
        if made != new.tree:
            raise Unprocessable(f"{repository.full_name}: GitHub made tree {made}, git {new.tree}")
        body: dict[str, Json] = {"message": new.message, "tree": made, "parents": [new.parent]}
        return self._make(repository, "git/commits", body)

    def _entry(self, repository: RepositoryRef, change: FileChange) -> Json:
        entry: dict[str, Json] = {"path": change.path, "mode": change.mode, "type": "blob"}
        if change.content is None:
            return entry | {"sha": None}
        try:
            return entry | {"content": change.content.decode()}
        except UnicodeDecodeError:
            content = base64.b64encode(change.content).decode()
            body: dict[str, Json] = {"content": content, "encoding": "base64"}
            return entry | {"sha": self._make(repository, "git/blobs", body)}

    def _make(self, repository: RepositoryRef, path: str, body: dict[str, Json]) -> str:
        call, answer = self._write(repository, path, body)
        return rest.read(rest.Made, call, answer).sha

    def _pull(
        self, repository: RepositoryRef, key: EffectKey, new: NewDraft, commit: str
    ) -> PullNumber:
        body: dict[str, Json] = {
            "title": new.title,
            "body": new.body,
            "head": new.branch,
            "base": new.base,
            "draft": True,
        }
        try:
            made = self._planned(rest.Numbered, (repository, key), "pulls", body)
            return PullNumber(made.number)
        except Unprocessable:
            found = self._find(repository, new, commit)
            if found is None:
                raise
            return found

    def _find(self, repository: RepositoryRef, new: NewDraft, commit: str) -> PullNumber | None:
        """The pull request of our branch, whatever became of it."""
        owner = repository.full_name.partition("/")[0]
        query: dict[str, str | int] = {"head": f"{owner}:{new.branch}", "state": "all"}
        call = Call(Method.GET, f"/repos/{repository.full_name}/pulls", query)
        found = rest.read(tuple[rest.OpenPull, ...], call, self._ask(repository, call))
        ours = (one for one in found if (one.head.ref, one.head.sha) == (new.branch, commit))
        return next((PullNumber(one.number) for one in ours), None)

    def _ours(self, repository: RepositoryRef, new: NewDraft) -> str | None:
        """The commit that the branch shows, if it is ours; None: there is no such branch. Raises BranchTaken."""
        base = f"/repos/{repository.full_name}/git"
        call = Call(Method.GET, f"{base}/ref/heads/{new.branch}")
        try:
            sha = rest.read(rest.Branch, call, self._ask(repository, call)).object.sha
        except NotFound:
            return None
        call = Call(Method.GET, f"{base}/commits/{sha}")
        commit = rest.read(rest.GitCommit, call, self._ask(repository, call))
        shown = (commit.tree.sha, commit.message.strip())
        if shown != (new.commit.tree, new.commit.message.strip()):
            raise BranchTaken(
                f"{repository.full_name}: {new.branch} shows {sha}, which is not ours"
            )
        return sha

    def _planned(
        self,
        shape: type[Read],
        thing: tuple[RepositoryRef, EffectKey],
        path: str,
        body: dict[str, Json],
    ) -> Read:
        """Send what can be seen, and read what it became."""
        repository, key = thing
        self.effects.plan(key, None)
        try:
            call, answer = self._write(repository, path, body)
            return rest.read(shape, call, answer)
        except Ambiguous:
            self.effects.mark_ambiguous(key)
            raise

    def _write(
        self, repository: RepositoryRef, path: str, body: dict[str, Json]
    ) -> tuple[Call, Answer]:
        call = Call(Method.POST, f"/repos/{repository.full_name}/{path}", body=body)
        permit = self.github.permit_write(repository)
        return call, self.github.write(repository, call, permit, Purpose.OPEN_DRAFT)

    def _ask(self, repository: RepositoryRef, call: Call) -> Answer:
        return self.github.ask(Scope.of(repository, Purpose.OPEN_DRAFT), call)
