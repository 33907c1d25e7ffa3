"""The whole simulated GitHub in one place: its records, clock, ids and look-ups."""

from dataclasses import dataclass, field
from pathlib import Path

from tests.github.clock import Clock
from tests.github.contract import Contract
from tests.github.git.changes import Changes, Comparison
from tests.github.git.repository import GitRepository, Signature
from tests.github.world.deliveries import Deliveries
from tests.github.world.faults import Faults
from tests.github.world.http_values import ApiError, not_found
from tests.github.world.journal import Journal
from tests.github.world.limits import Limits
from tests.github.world.sign_ins import SignIns
from tests.github.world.state import (
    AppRecord,
    Comment,
    Ids,
    Installation,
    Issue,
    Pull,
    Repository,
    Role,
    Token,
    User,
)


@dataclass(slots=True)
class World:
    """All state. Only the server's thread touches it, so it has no locks."""

    data: Path
    url: str
    clock: Clock
    ids: Ids
    journal: Journal
    contract: Contract
    deliveries: Deliveries
    limits: Limits
    faults: Faults = field(default_factory=Faults)
    changes: Changes = field(default_factory=Changes)
    users: dict[str, User] = field(default_factory=dict)
    repositories: dict[str, Repository] = field(default_factory=dict)
    apps: dict[int, AppRecord] = field(default_factory=dict)
    installations: dict[int, Installation] = field(default_factory=dict)
    manifest_codes: dict[str, AppRecord] = field(default_factory=dict)
    """Apps registered from a manifest, by the code that is worth their credentials once."""
    tokens: dict[str, Token] = field(default_factory=dict)
    sign_ins: SignIns = field(default_factory=SignIns)
    listing_lag: float = 0.0
    """How long, in simulated seconds, a new comment is missing from lists."""
    checked_queries: set[bytes] = field(default_factory=set)
    """GraphQL requests whose form was checked before."""

    # ---- look-ups; each raises the 404 a client would see

    def user(self, login: str) -> User:
        """Return an account by login, in any case."""
        user = self.users.get(login.lower())
        if user is None or user.deleted:
            raise not_found()
        return user

    def account(self, login: str, kind: str = "User") -> User:
        """Return an account by login; create it if it is new."""
        return self.users.setdefault(login.lower(), User(self.ids.next("user"), login, kind))

    def repository(self, full_name: str) -> Repository:
        """Return a repository by `owner/name`, in any case."""
        record = self.repositories.get(full_name.lower())
        if record is None:
            raise not_found()
        return record

    def issue(self, repository: Repository, number: int) -> Issue:
        """Return an issue or pull request; 410 for a deleted one."""
        issue = repository.issues.get(number)
        if issue is None:
            raise not_found()
        if issue.deleted:
            raise ApiError(410, "This issue was deleted")
        return issue

    def pull(self, repository: Repository, number: int) -> tuple[Issue, Pull]:
        """Return a pull request as its issue and its own part."""
        issue = self.issue(repository, number)
        if issue.pull is None:
            raise not_found()
        return issue, issue.pull

    def comment(self, repository: Repository, comment_id: int) -> Comment:
        """Return an issue comment by id."""
        record = repository.comments.get(comment_id)
        if record is None:
            raise not_found()
        return record

    # ---- git

    def git(self, repository: Repository) -> GitRepository:
        """Return the repository's commits."""
        return GitRepository(repository.git_dir)

    def signature(self, user: User) -> Signature:
        """Return the signature of a commit that `user` makes now."""
        return Signature(user.login, user.id, self.clock.now())

    def comparison(self, repository: Repository, pull: Pull) -> Comparison:
        """Compare a pull request's base and head."""
        return self.changes.compare(self.git(repository), pull.base_sha, pull.head_sha)

    # ---- authority

    def role(self, repository: Repository, user: User) -> Role:
        """Return the role of `user`: owners are admins, and others read public repositories."""
        if user.id == repository.owner.id:
            return Role.ADMIN
        default = Role.NONE if repository.private else Role.READ
        return repository.collaborators.get(user.id, default)

    def association(self, repository: Repository, user: User) -> str:
        """Return the `author_association` that GitHub prints beside a text of `user`."""
        if user.id == repository.owner.id:
            return "OWNER"
        if user.id in repository.collaborators:
            return "COLLABORATOR"
        merged = (
            i.pull is not None and i.pull.merged_at is not None and i.author.id == user.id
            for i in repository.issues.values()
        )
        return "CONTRIBUTOR" if any(merged) else "NONE"

    def installations_on(self, repository: Repository) -> list[Installation]:
        """Return every installation on the repository, suspended ones included."""
        return [i for i in self.installations.values() if repository.id in i.repository_ids]
