"""Registration of Apps, creation of repositories, and installations of Apps on repositories."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tests.github.git.repository import GitRepository
from tests.github.webhooks import payloads
from tests.github.world.http_values import ApiError
from tests.github.world.state import AppRecord, Installation, Repository, User
from tests.github.world.world import World

DEFAULT_PERMISSIONS = {
    "checks": "write",
    "statuses": "read",
    "contents": "read",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
}
DEFAULT_EVENTS = (
    "check_run",
    "check_suite",
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "push",
)


@dataclass(frozen=True, slots=True)
class AppForm:
    """The form that registers an App."""

    slug: str
    webhook_url: str
    webhook_secret: str
    permissions: Mapping[str, str]
    events: tuple[str, ...]
    organisation: str = ""
    """Login of the organisation that owns the App; empty: a person owns it."""


def register_app(world: World, form: AppForm) -> AppRecord:
    """Create an App with a new key and a bot account; send a ping if its hook has a URL."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    app_id = world.ids.next("app")
    record = AppRecord(
        id=app_id,
        slug=form.slug,
        owner=world.account(form.organisation, "Organization")
        if form.organisation
        else world.account("app-owner"),
        bot=world.account(f"{form.slug}[bot]", "Bot"),
        client_id=f"Iv23li{app_id:014d}",
        private_key=pem.decode(),
        public_key=public.decode(),
        webhook_secret=form.webhook_secret,
        webhook_url=form.webhook_url,
        hook_id=world.ids.next("hook"),
        permissions=dict(form.permissions),
        events=form.events,
        created_at=world.clock.now(),
    )
    world.apps[app_id] = record
    if record.webhook_url:
        payloads.ping(world, record)
    return record


def register_from_manifest(
    world: World, manifest: Mapping[str, Any], organisation: str = ""
) -> str:
    """Register the App of a manifest, and return the code that is worth its credentials once."""
    hook = manifest["hook_attributes"]
    secret = f"{world.ids.random.getrandbits(160):040x}"
    slug = "-".join(manifest["name"].lower().split())
    permissions, events = manifest["default_permissions"], tuple(manifest["default_events"])
    record = register_app(
        world, AppForm(slug, hook["url"], secret, permissions, events, organisation)
    )
    code = f"{world.ids.random.getrandbits(160):040x}"
    world.manifest_codes[code] = record
    return code


def create_repository(
    world: World, full_name: str, files: Mapping[str, str], default_branch: str, private: bool
) -> Repository:
    """Create a repository with one commit of `files`, and its owner's account if it is new."""
    owner_login, _, name = full_name.partition("/")
    if not owner_login or not name or full_name.lower() in world.repositories:
        raise ApiError(422, f"repository {full_name!r} must be a new owner/name")
    owner = world.account(owner_login)
    path = world.data / "git" / f"{full_name.lower()}.git"
    git = GitRepository.create(path, default_branch)
    sha = git.commit_files(None, files, "Initial commit", world.signature(owner))
    git.set_ref(f"refs/heads/{default_branch}", sha)
    now = world.clock.now()
    repo = Repository(
        world.ids.next("repository"), owner, name, private, default_branch, path, now, now
    )
    repo.branches[default_branch] = sha
    world.repositories[full_name.lower()] = repo
    return repo


def install(
    world: World, app: AppRecord, repos: list[Repository], permissions: Mapping[str, str] | None
) -> Installation:
    """Install an App on repositories of one account."""
    owners = {repo.owner.id for repo in repos}
    if len(owners) != 1:
        raise ApiError(422, "an installation needs repositories of exactly one account")
    now = world.clock.now()
    record = Installation(
        id=world.ids.next("installation"),
        app=app,
        account=repos[0].owner,
        repository_ids={repo.id for repo in repos},
        permissions=dict(permissions or app.permissions),
        created_at=now,
        updated_at=now,
    )
    world.installations[record.id] = record
    payloads.installation(world, record, "created", record.account)
    return record


def change_repositories(
    world: World, record: Installation, repos: list[Repository], added: bool
) -> None:
    """Give an installation more repositories, or take some away."""
    ids = {repo.id for repo in repos}
    record.repository_ids = record.repository_ids | ids if added else record.repository_ids - ids
    action = "added" if added else "removed"
    payloads.installation_repositories(world, record, repos, action, record.account)


def suspend(world: World, record: Installation, suspended: bool) -> None:
    """Suspend or unsuspend; tokens stop working while suspended."""
    record.suspended_at = world.clock.now() if suspended else None
    record.suspended_by = record.account if suspended else None
    action = "suspend" if suspended else "unsuspend"
    payloads.installation(world, record, action, record.account)


def uninstall(world: World, record: Installation) -> None:
    """Remove an installation and its tokens."""
    payloads.installation(world, record, "deleted", record.account)
    del world.installations[record.id]
    world.tokens = {k: t for k, t in world.tokens.items() if t.installation is not record}


def accept_permissions(world: World, record: Installation, permissions: Mapping[str, str]) -> None:
    """Accept new permissions of the App for its account."""
    record.permissions = dict(permissions)
    record.updated_at = world.clock.now()
    payloads.installation(world, record, "new_permissions_accepted", record.account)


def delete_user(user: User) -> None:
    """Delete an account; its texts stay, with a null author."""
    user.deleted = True
