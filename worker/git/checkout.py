"""Pull requests out of one bare repository per GitHub repository, which is never checked out.

The API's own diff ends at 300 files or 20,000 lines; git's doesn't. All pull requests of a group
and their bases come in one exchange, as few commits deep as shows where each began: on a history of
6,000 commits a hundred took 0.05 s and 1 MiB, all of it 0.7 s and 19 MiB.
"""

import fcntl
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

from app.github.endpoints import Endpoints
from app.values.identifiers import RepositoryId, RepositoryRef
from worker.git.hardened_git import (
    Caps,
    Git,
    GitError,
    GitTimeout,
    GitTooBig,
    GitUnreachable,
    Remote,
)
from worker.git.patches import (
    BaseOutOfSight,
    FetchedPull,
    Refusal,
    RefusedPull,
    WantedPull,
    read_pull,
)

DEPTHS: Final = (100, 1_000, 2_147_483_647)
"""Commits, tried in turn; the last is git's word for all."""
_MOST_PACKS: Final = 100
"""Each fetch adds a pack; past this it is cheaper to begin anew than to repack."""
_FULL_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}")
_OBJECT: Final = re.compile(r"[0-9a-f]{40}")

Read = TypeVar("Read")


BUSY_SECONDS: Final = 15.0
"""After a while it may be free."""


class CheckoutBusy(GitError):
    """Another process works in this repository; try again later."""


@dataclass(frozen=True, slots=True)
class Checkouts:
    """Every repository we fetch from, under one directory of ours. Methods raise GitError."""

    directory: Path
    github: Endpoints
    caps: Caps = field(default_factory=Caps)
    patience_seconds: float = 120.0
    """How long to wait while another process works in the same repository."""

    def fetch_pulls(
        self, repository: RepositoryRef, token: str | None, pulls: Sequence[WantedPull]
    ) -> tuple[FetchedPull | RefusedPull, ...]:
        """The patch of each pull request, or why there is none, in the order asked for.

        One exchange for all; one each when that fails, so that a hostile one refuses only itself.
        Raises GitUnreachable when GitHub is the trouble, CheckoutBusy when another process is.
        """
        wanted = [pull for pull in pulls if _is_sane(pull)]
        with self.opened(repository) as git:
            remote = self.remote(repository, token)
            try:
                found = _fetch_and_read(git, remote, wanted) if wanted else {}
            except GitUnreachable:
                raise
            except GitError:
                found = _one_by_one(git, remote, wanted)
        return tuple(
            found.get(pull.number)
            or RefusedPull(pull.number, Refusal.UNFETCHABLE, f"no valid branch or commit: {pull}")
            for pull in pulls
        )

    def forget(self, repository: RepositoryId) -> None:
        """Delete everything that was fetched from this repository. Raises CheckoutBusy."""
        if self.directory.is_dir():
            with self._locked(repository):
                shutil.rmtree(self._path(repository), ignore_errors=True)

    def fetched(self) -> tuple[RepositoryId, ...]:
        """Every repository of which something lies here."""
        found = (path.stem for path in self.directory.glob("*.git"))
        return tuple(RepositoryId(int(name)) for name in sorted(found) if name.isdecimal())

    def remote(self, repository: RepositoryRef, token: str | None) -> Remote:
        """Where to fetch it. Raises GitError for a name that is none of GitHub's."""
        name = repository.full_name
        if _FULL_NAME.fullmatch(name) is None or name.endswith(("/.", "/..")):
            raise GitError(f"repository name {name!r} is not owner/name")
        return Remote(self.github.git(name), token)

    @contextmanager
    def opened(self, repository: RepositoryRef) -> Iterator[Git]:
        """Its bare repository, to ourselves. Raises CheckoutBusy."""
        with self._locked(repository.id):
            git = Git(self._path(repository.id), self.caps)
            if _is_worn(git):
                shutil.rmtree(git.directory)
            git.create()
            yield git

    def _path(self, repository: RepositoryId) -> Path:
        return self.directory / f"{int(repository)}.git"

    @contextmanager
    def _locked(self, repository: RepositoryId) -> Iterator[None]:
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self.directory / f"{int(repository)}.lock").open("w") as lock:
            deadline = time.monotonic() + self.patience_seconds
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= deadline:
                        raise CheckoutBusy(f"repository {repository} is in use") from None
                    time.sleep(0.05)
            yield


def fetch_until(
    git: Git, remote: Remote, refspecs: Sequence[str], read: Callable[[], Read]
) -> Read:
    """Fetch, read, and fetch deeper while `read` raises BaseOutOfSight."""
    for depth in _depths(git):
        _clear_leftovers(git)
        git.fetch(remote, refspecs, depth)
        (git.directory / "depth").write_text(str(depth))
        if _bytes_on_disk(git.directory) > git.caps.pack_bytes:
            shutil.rmtree(git.directory)
            raise GitTooBig(f"the repository passes {git.caps.pack_bytes} bytes on disk")
        try:
            return read()
        except BaseOutOfSight:
            continue
    raise GitError(f"{git.directory.name}: history ends before what was looked for")


def branch_spec(branch: str) -> tuple[str, str]:
    """What to fetch of a branch, and the name under which it then lies here."""
    local = f"refs/r4p/base/{sha256(branch.encode()).hexdigest()[:16]}"
    return f"+refs/heads/{branch}:{local}", local


def is_branch(name: str) -> bool:
    """Whether git's own rules allow this as a branch's name (and it is no pattern)."""
    parts = name.split("/")
    bad = re.search(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{", name)
    return bool(
        name
        and bad is None
        and name != "@"
        and not name.endswith(".")
        and all(p and not p.startswith(".") and not p.endswith(".lock") for p in parts)
    )


def _is_sane(pull: WantedPull) -> bool:
    whole = _OBJECT.fullmatch(pull.head) and _OBJECT.fullmatch(pull.base)
    return bool(whole and pull.number > 0 and is_branch(pull.base_ref))


def _fetch_and_read(
    git: Git, remote: Remote, pulls: Sequence[WantedPull]
) -> dict[int, FetchedPull | RefusedPull]:
    bases = {pull.base_ref: branch_spec(pull.base_ref) for pull in pulls}
    heads = {pull.number: f"refs/r4p/pull/{int(pull.number)}" for pull in pulls}
    specs = [spec for spec, _ in bases.values()]
    specs += [f"+refs/pull/{int(number)}/head:{local}" for number, local in heads.items()]

    def read() -> dict[int, FetchedPull | RefusedPull]:
        return {
            pull.number: _read_or_refuse(git, pull, bases[pull.base_ref][1], heads[pull.number])
            for pull in pulls
        }

    return fetch_until(git, remote, specs, read)


def _read_or_refuse(
    git: Git, pull: WantedPull, base_ref: str, head_ref: str
) -> FetchedPull | RefusedPull:
    try:
        return read_pull(git, pull, base_ref, head_ref)
    except BaseOutOfSight:
        raise
    except GitError as error:
        return _refused(pull, error)


def _one_by_one(
    git: Git, remote: Remote, pulls: Sequence[WantedPull]
) -> dict[int, FetchedPull | RefusedPull]:
    found: dict[int, FetchedPull | RefusedPull] = {}
    for pull in pulls:
        git.create()
        try:
            found |= _fetch_and_read(git, remote, [pull])
        except GitUnreachable:
            raise
        except GitError as error:
            found[pull.number] = _refused(pull, error)
    return found


def _refused(pull: WantedPull, error: GitError) -> RefusedPull:
    match error:
        case GitTooBig():
            reason = Refusal.TOO_BIG
        case GitTimeout():
            reason = Refusal.TOO_SLOW
        case _:
            reason = Refusal.UNFETCHABLE
    return RefusedPull(pull.number, reason, str(error))


def _depths(git: Git) -> tuple[int, ...]:
    """From the depth that sufficed last time: fetching less would cut what we have."""
    known = git.directory / "depth"
    last = int(known.read_text()) if known.is_file() else DEPTHS[0]
    return tuple(depth for depth in DEPTHS if depth >= last)


def _is_worn(git: Git) -> bool:
    return len(list(git.directory.glob("objects/pack/*.pack"))) > _MOST_PACKS


def _clear_leftovers(git: Git) -> None:
    """What a killed git left: half a pack, and locks that nobody holds (we hold the real one)."""
    for pattern in ("objects/pack/tmp_*", "*.lock", "refs/r4p/**/*.lock", "objects/*/tmp_obj_*"):
        for path in git.directory.glob(pattern):
            path.unlink(missing_ok=True)


def _bytes_on_disk(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("objects/pack/*"))
