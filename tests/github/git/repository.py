"""Real bare repositories: commits, diffs, merges and reverts, all made by git itself.

Not here: the smart HTTP protocol (`git_http`).
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.github.clock import timestamp

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_TIMEOUT_SECONDS = 60


class GitError(Exception):
    """A git command failed; the message holds the command and what git said."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The author of a commit and its time (simulated seconds since the epoch)."""

    login: str
    user_id: int
    at: float

    def environment(self) -> dict[str, str]:
        """Return the variables that tell git the author and committer."""
        values = {
            "NAME": self.login,
            "EMAIL": f"{self.user_id}+{self.login}@users.noreply.github.com",
            "DATE": timestamp(self.at),
        }
        return {f"GIT_{who}_{k}": v for who in ("AUTHOR", "COMMITTER") for k, v in values.items()}


@dataclass(frozen=True, slots=True)
class Blob:
    """A file at a revision."""

    oid: str
    data: bytes


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A line of a tree's listing; `kind` is blob, tree or commit (a submodule)."""

    mode: str
    kind: str
    oid: str
    name: str


class GitRepository:
    """A bare repository. Every method raises GitError when git refuses."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, default_branch: str) -> "GitRepository":
        """Make an empty bare repository that serves any reachable commit and partial clones."""
        path.mkdir(parents=True)
        repository = cls(path)
        repository.run("init", "--quiet", "--bare", f"--initial-branch={default_branch}", ".")
        for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
            repository.run("config", key, "true")
        repository.run("config", "gc.auto", "0")
        return repository

    def run(self, *arguments: str, data: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Run git here and return its output as text (undecodable bytes become U+FFFD)."""
        return self.run_bytes(*arguments, data=data, env=env).decode(errors="replace")

    def run_bytes(
        self, *arguments: str, data: bytes = b"", env: Mapping[str, str] | None = None
    ) -> bytes:
        """Run git here and return its raw output."""
        done = subprocess.run(
            ("git", *arguments),
            cwd=self.path,
            input=data,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
            env=build_environment() | dict(env or {}),
        )
        if done.returncode:
            message = (done.stderr or done.stdout).decode(errors="replace").strip()
            raise GitError(f"git {' '.join(arguments[:3])} failed in {self.path.name}: {message}")
        return done.stdout

    # ---- reading

    def resolve(self, revision: str) -> str | None:
        """Return the full SHA of `revision`, or None."""
        try:
            return self.run(
                "rev-parse", "--verify", "--quiet", "--end-of-options", revision
            ).strip()
        except GitError:
            return None

    def blob(self, revision: str, path: str) -> Blob | None:
        """Return the file at `path`, or None if it is absent or a directory."""
        oid = self.resolve(f"{revision}:{path}")
        if oid is None or self.run("cat-file", "-t", oid).strip() != "blob":
            return None
        return Blob(oid, self.run_bytes("cat-file", "blob", oid))

    def list_tree(self, oid: str) -> tuple[TreeEntry, ...]:
        """Return the entries of a tree."""
        lines = self.run("ls-tree", "-z", oid).split("\0")
        return tuple(_tree_entry(line) for line in lines if line)

    def merge_base(self, base: str, head: str) -> str:
        """The best common ancestor; the base itself for unrelated histories."""
        try:
            return self.run("merge-base", base, head).strip()
        except GitError:
            return base

    def diff(self, base: str, head: str) -> bytes:
        """Return the diff of two commits with renames, as GitHub prints it; binary files are named only."""
        return self.run_bytes("diff", "--no-color", "--find-renames", base, head)

    def set_ref(self, ref: str, sha: str) -> None:
        """Point `ref` (full name) at `sha`."""
        self.run("update-ref", ref, sha)

    # ---- writing

    def write_blob(self, data: bytes) -> str:
        """Store a file's bytes and return the blob's id."""
        return self.run("hash-object", "-w", "--stdin", "--no-filters", data=data).strip()

    def edit_tree(self, base: str, entries: list[tuple[str, str, str | None]]) -> str:
        """Return the tree of `base` with new entries (mode, path, blob); None as blob deletes one."""
        with self._index(base) as env:
            lines = [f"{m} {o}\t{p}" if o else f"0 {'0' * 40}\t{p}" for m, p, o in entries]
            data = ("\0".join(lines) + "\0").encode()
            self.run("update-index", "-z", "--index-info", data=data, env=env)
            return self.run("write-tree", env=env).strip()

    def commit_files(
        self, parent: str | None, files: Mapping[str, str | None], message: str, who: Signature
    ) -> str:
        """Commit whole files on top of `parent` (None: a root commit); a None text deletes."""
        with self._index(parent) as env:
            blobs = self._write_blobs([text for text in files.values() if text is not None])
            fresh = iter(blobs)
            lines = [
                f"0 {'0' * 40}\t{path}" if text is None else f"100644 {next(fresh)}\t{path}"
                for path, text in files.items()
            ]
            data = ("\0".join(lines) + "\0").encode()
            self.run("update-index", "-z", "--index-info", data=data, env=env)
            return self._commit_index(env, [parent] if parent else [], message, who)

    def commit_diff(self, parent: str, diff: str, message: str, who: Signature) -> str:
        """Commit `parent` with a unified diff applied; raises GitError if it does not apply."""
        if not diff.endswith("\n"):
            diff += "\n"
        with self._index(parent) as env:
            self.run("apply", "--cached", "--whitespace=nowarn", "-", data=diff.encode(), env=env)
            return self._commit_index(env, [parent], message, who)

    def commit_tree(self, tree: str, parents: list[str], message: str, who: Signature) -> str:
        """Commit an existing tree."""
        options = [option for parent in parents for option in ("-p", parent)]
        return self.run(
            "commit-tree", tree, *options, data=message.encode(), env=who.environment()
        ).strip()

    def merge_trees(self, base: str, head: str) -> str | None:
        """Merge two commits and return the tree, or None on conflict."""
        try:
            return self.run("merge-tree", "--write-tree", base, head).splitlines()[0]
        except GitError:
            return None

    def transplant(self, onto: str, change: tuple[str, str], message: str, who: Signature) -> str:
        """Commit the changes between two commits on top of `onto`.

        Raises GitError if that conflicts with what `onto` has.
        """
        diff = self.run_bytes("diff", "--binary", "--full-index", *change)
        with self._index(onto) as env:
            if diff:
                self.run("apply", "--cached", "--3way", "-", data=diff, env=env)
            return self._commit_index(env, [onto], message, who)

    def _index(self, parent: str | None) -> "_TemporaryIndex":
        return _TemporaryIndex(self, parent)

    def _write_blobs(self, texts: list[str]) -> list[str]:
        """Store texts as blobs with one git process and return their ids in order."""
        if not texts:
            return []
        with tempfile.TemporaryDirectory() as holder:
            paths = []
            for number, text in enumerate(texts):
                path = Path(holder) / str(number)
                path.write_bytes(text.encode())
                paths.append(str(path))
            listing = "\n".join(paths).encode() + b"\n"
            return self.run(
                "hash-object", "-w", "--stdin-paths", "--no-filters", data=listing
            ).split()

    def _commit_index(
        self, env: Mapping[str, str], parents: list[str], message: str, who: Signature
    ) -> str:
        return self.commit_tree(self.run("write-tree", env=env).strip(), parents, message, who)


class _TemporaryIndex:
    """A throw-away index filled from a commit, as the environment that selects it."""

    def __init__(self, repository: GitRepository, parent: str | None) -> None:
        self._repository = repository
        self._tree = parent or EMPTY_TREE
        self._holder = tempfile.TemporaryDirectory()

    def __enter__(self) -> dict[str, str]:
        env = {"GIT_INDEX_FILE": str(Path(self._holder.name) / "index")}
        if self._tree == EMPTY_TREE:
            self._repository.run("read-tree", "--empty", env=env)
        else:
            self._repository.run("read-tree", self._tree, env=env)
        return env

    def __exit__(self, *_: object) -> None:
        self._holder.cleanup()


def build_environment() -> dict[str, str]:
    """Return an environment in which git reads no configuration of the machine."""
    return {
        "PATH": os.defpath,
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
    }


def _tree_entry(line: str) -> TreeEntry:
    meta, _, name = line.partition("\t")
    mode, kind, oid = meta.split()
    return TreeEntry(mode, kind, oid, name)
