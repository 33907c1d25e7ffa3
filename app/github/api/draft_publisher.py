"""Open draft pull requests as the writer App: a commit, a branch and the pull request.

The effect is planned before the first step. GitHub refuses to create the branch or an open pull
request twice, also for a worker that was paused longer than its lease. After such a refusal or a
lost answer, this module looks for its own and adopts it. The plan holds the trees of all attempts,
because the base branch may move between two of them.
"""

import base64
from dataclasses import dataclass, replace
from typing import TypeVar

from app.github.api.effect_store import EffectKey, EffectStore
from app.github.api_call import Call, Json, Method, Response
from app.github.errors import Ambiguous, NotFound, Unprocessable
from app.github.http.auth import Purpose, Scope
from app.github.http.connection import GitHub
from app.github.wire import rest
from app.values.identifiers import CommitSha, InstallationId, PullNumber, RepositoryRef

Read = TypeVar("Read")


class BranchTaken(Exception):
    """The branch for a draft pull request exists already and shows another commit."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file in the commit of a draft pull request."""

    path: str
    mode: str
    """The file's mode as git writes it: `100644` or `100755`."""
    content: bytes | None
    """The file's new content; None when the commit deletes the file."""


@dataclass(frozen=True, slots=True)
class NewCommit:
    """The commit for the branch of a draft pull request, as local git built it."""

    parent: CommitSha
    tree: str
    """Id of the commit's tree as local git computed it. GitHub's tree must have the same id."""
    changes: tuple[FileChange, ...]
    message: str


@dataclass(frozen=True, slots=True)
class NewDraft:
    """A draft pull request to open."""

    branch: str
    base: str
    """The branch into which people would merge the draft."""
    commit: NewCommit
    title: str
    body: str
    is_draft: bool = True
    """False: the pull request is ready for review at once."""


@dataclass(frozen=True, slots=True)
class DraftPublisher:
    """Opens draft pull requests as the writer App, for one attempt at one job.

    Its methods raise a GitHubError when GitHub refuses a call.
    """

    github: GitHub
    effects: EffectStore

    def find_installation(self, repository: RepositoryRef) -> RepositoryRef:
        """Return `repository` with the writer App's installation id, read from GitHub, instead of the main App's.

        Raises NotFound where the writer App is not installed.
        """
        call = Call(Method.GET, f"/repos/{repository.full_name}/installation")
        installed = rest.read_slice(rest.CreatedObject, call, self.github.send_as_app(call))
        return replace(repository, installation=InstallationId(installed.id))

    def token(self, repository: RepositoryRef) -> str:
        """Return the writer App's installation token for a repository, for git's calls to GitHub.

        Raises Unprocessable or Forbidden where the App lacks a permission.
        """
        return self.github.tokens.get_token(Scope.for_repository(repository, Purpose.OPEN_DRAFT))

    def default_branch(self, repository: RepositoryRef) -> str:
        """Read the name of a repository's default branch from GitHub."""
        call = Call(Method.GET, f"/repos/{repository.full_name}")
        return rest.read_slice(rest.DefaultBranch, call, self._ask(repository, call)).default_branch

    def find_opened(self, key: EffectKey) -> PullNumber | None:
        """Return the number of the draft pull request that the database stores under `key`; None: no number is stored.

        It sends nothing to GitHub.
        """
        effect = self.effects.load(key)
        return None if effect is None or effect.github_id is None else PullNumber(effect.github_id)

    def find_by_branch(self, repository: RepositoryRef, branch: str) -> PullNumber | None:
        """Return the newest pull request from `branch` of the repository itself, open or closed; None: there is none.

        It finds a pull request of which the database knows nothing, because its data was purged.
        """
        pulls = self._list_pulls(repository, branch)
        own = (pull for pull in pulls if pull.head.ref == branch)
        return next((PullNumber(pull.number) for pull in own), None)

    def adopt(self, key: EffectKey, pull: PullNumber) -> None:
        """Store under `key` a pull request that GitHub has already. It sends nothing to GitHub."""
        self.effects.plan(key, " ".join(self._load_trees(key)))
        self.effects.confirm(key, pull)

    def find_earlier(
        self, repository: RepositoryRef, key: EffectKey, branch: str, message: str
    ) -> PullNumber | None:
        """Return the number of the draft pull request that an earlier attempt opened; None: there is none on GitHub.

        `branch` and `message` are those of the draft's commit. Without an earlier plan it sends nothing. Raises
        BranchTaken.
        """
        effect = self.effects.load(key)
        if effect is None:
            return None
        commit = self._find_own_branch(repository, key, branch, message)
        pull = None if commit is None else self._find_pull(repository, branch, commit)
        if pull is not None:
            self.adopt(key, pull)
        return pull

    def open(self, repository: RepositoryRef, key: EffectKey, new: NewDraft) -> PullNumber:
        """Create the commit, the branch and the draft pull request `new` on GitHub, once, and return its number.

        `key` names the draft in the database. Raises BranchTaken if the branch exists and the bot did not make its
        commit. After Ambiguous, call `open` again later: it first looks on GitHub for what an earlier call created.
        """
        pull = self.find_earlier(repository, key, new.branch, new.commit.message)
        if pull is not None:
            return pull
        earlier = self._load_trees(key)
        # Only the job's owner plans, so no attempt adds a tree between the two statements.
        self.effects.plan(key, " ".join(dict.fromkeys([*earlier, new.commit.tree])))
        commit = (
            self._find_own_branch(repository, key, new.branch, new.commit.message)
            if earlier
            else None
        )
        commit = commit or self._create_branch(repository, key, new)
        pull = self._create_pull(repository, key, new, commit)
        # When another attempt planned meanwhile, its own search finds this pull request and confirms.
        self.effects.confirm(key, pull)
        return pull

    def _create_branch(self, repository: RepositoryRef, key: EffectKey, new: NewDraft) -> str:
        """Create the branch with its commit and return the commit's id."""
        commit = self._create_commit(repository, new.commit)
        body: dict[str, Json] = {"ref": f"refs/heads/{new.branch}", "sha": commit}
        try:
            self._send_visible(rest.BranchSlice, (repository, key), "git/refs", body)
        except Unprocessable as error:
            existing = self._find_own_branch(repository, key, new.branch, new.commit.message)
            if existing is None:
                raise error from None
            return existing
        return commit

    def _create_commit(self, repository: RepositoryRef, new: NewCommit) -> str:
        """Create the commit without a plan: nobody sees a commit without a branch, so a repeat is
        harmless.
        """
        entries: list[Json] = [self._build_entry(repository, change) for change in new.changes]
        tree: dict[str, Json] = {"base_tree": new.parent, "tree": entries}
        created = self._create_object(repository, "git/trees", tree)
        if created != new.tree:
            raise Unprocessable(
                f"{repository.full_name}: GitHub made tree {created}, git {new.tree}"
            )
        body: dict[str, Json] = {"message": new.message, "tree": created, "parents": [new.parent]}
        return self._create_object(repository, "git/commits", body)

    def _build_entry(self, repository: RepositoryRef, change: FileChange) -> Json:
        entry: dict[str, Json] = {"path": change.path, "mode": change.mode, "type": "blob"}
        if change.content is None:
            return entry | {"sha": None}
        try:
            return entry | {"content": change.content.decode()}
        except UnicodeDecodeError:
            content = base64.b64encode(change.content).decode()
            body: dict[str, Json] = {"content": content, "encoding": "base64"}
            return entry | {"sha": self._create_object(repository, "git/blobs", body)}

    def _create_object(self, repository: RepositoryRef, path: str, body: dict[str, Json]) -> str:
        call, answer = self._write(repository, path, body)
        return rest.read_slice(rest.GitObject, call, answer).sha

    def _create_pull(
        self, repository: RepositoryRef, key: EffectKey, new: NewDraft, commit: str
    ) -> PullNumber:
        body: dict[str, Json] = {
            "title": new.title,
            "body": new.body,
            "head": new.branch,
            "base": new.base,
            "draft": new.is_draft,
        }
        try:
            created = self._send_visible(rest.NumberSlice, (repository, key), "pulls", body)
            return PullNumber(created.number)
        except Unprocessable:
            existing = self._find_pull(repository, new.branch, commit)
            if existing is None:
                raise
            return existing

    def _find_pull(self, repository: RepositoryRef, branch: str, commit: str) -> PullNumber | None:
        """Find the pull request of the bot's branch, open or closed."""
        pulls = self._list_pulls(repository, branch)
        own = (pull for pull in pulls if (pull.head.ref, pull.head.sha) == (branch, commit))
        return next((PullNumber(pull.number) for pull in own), None)

    def _list_pulls(self, repository: RepositoryRef, branch: str) -> tuple[rest.BranchPull, ...]:
        owner = repository.full_name.partition("/")[0]
        query: dict[str, str | int] = {"head": f"{owner}:{branch}", "state": "all"}
        call = Call(Method.GET, f"/repos/{repository.full_name}/pulls", query)
        return rest.read_slice(tuple[rest.BranchPull, ...], call, self._ask(repository, call))

    def _load_trees(self, key: EffectKey) -> list[str]:
        """Return the trees that attempts planned to commit; an empty list before the first plan."""
        effect = self.effects.load(key)
        return [] if effect is None else effect.content.split()

    def _find_own_branch(
        self, repository: RepositoryRef, key: EffectKey, branch: str, message: str
    ) -> str | None:
        """Return the branch's commit if the bot made it; None when there is no branch.

        Raises BranchTaken.
        """
        base = f"/repos/{repository.full_name}/git"
        call = Call(Method.GET, f"{base}/ref/heads/{branch}")
        try:
            sha = rest.read_slice(rest.BranchSlice, call, self._ask(repository, call)).object.sha
        except NotFound:
            return None
        call = Call(Method.GET, f"{base}/commits/{sha}")
        commit = rest.read_slice(rest.GitCommit, call, self._ask(repository, call))
        is_own = commit.tree.sha in self._load_trees(key)
        if not is_own or commit.message.strip() != message.strip():
            raise BranchTaken(
                f"{repository.full_name}: {branch} shows {sha}, which the bot did not make"
            )
        return sha

    def _send_visible(
        self,
        shape: type[Read],
        thing: tuple[RepositoryRef, EffectKey],
        path: str,
        body: dict[str, Json],
    ) -> Read:
        """Send a visible write and read the result."""
        repository, key = thing
        try:
            call, answer = self._write(repository, path, body)
            return rest.read_slice(shape, call, answer)
        except Ambiguous:
            self.effects.mark_ambiguous(key, None)
            raise

    def _write(
        self, repository: RepositoryRef, path: str, body: dict[str, Json]
    ) -> tuple[Call, Response]:
        call = Call(Method.POST, f"/repos/{repository.full_name}/{path}", body=body)
        permit = self.github.permit_write(repository)
        self.effects.check_owner()
        return call, self.github.write(repository, call, permit, Purpose.OPEN_DRAFT)

    def _ask(self, repository: RepositoryRef, call: Call) -> Response:
        return self.github.ask(Scope.for_repository(repository, Purpose.OPEN_DRAFT), call)
