"""A commit that may become a gym task: check its limits, and check out its base tree with its two diffs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model.codegraph.reader_pool import ReadRequest, read_all
from model.errors import BadDiff, GitFailed, PatchDoesNotApply
from model.execution.tree_changes import NO_CHANGES, TreeChanges, apply_diff
from model.gyms.gym_task import TestsFrom
from model.gyms.tree_files import write_tree
from training.gym import validation
from training.gym.back_translation.issue_writer import IssueWriter
from training.gym.commits import commit_limits
from training.gym.commits.commit_limits import CommitLimits, SourceEdit, SourceVersion
from training.gym.commits.history import ContentReader, HistoryCommit, read_diff
from training.gym.environment_search import EnvironmentShelf

HAS_TESTS: Final = "has tests of its own"
_READ_SECONDS: Final = 60.0


class Refused(Exception):
    """A commit gives no task. The message is the reason, in the same words for the same cause."""


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """What holds for all commits of a build."""

    repository: Path
    """The git directory."""
    name: str
    """`owner/name` of the repository."""
    licence: str
    limits: CommitLimits
    shelf: EnvironmentShelf
    pythons: tuple[str, ...]
    runs: int = validation.RUNS
    seconds: float = 60.0
    """Processor time that a run of the tests may take."""
    has_suite: bool = True
    """Whether the rest of the suite runs too, as often as the changed modules, for its pass-to-pass tests."""
    history: tuple[HistoryCommit, ...] = ()
    """All commits of the build, whose edits serve as wrong candidates of their neighbours."""
    has_candidates: bool = True
    """Whether wrong candidates and the minimal patch are looked for, which takes about ten runs."""

    tests_from: TestsFrom = TestsFrom.COMMIT
    """COMMIT takes commits that bring tests; GENERATED takes the others, and writes tests for them."""
    issue_writer: IssueWriter | None = None
    """Writes the statements with a model; None writes them from the failing tests."""

    def name_task(self, commit: HistoryCommit) -> str:
        """Return the id of a commit's task."""
        return f"{self.name.rpartition('/')[2]}-{commit.sha[:12]}"


@dataclass(frozen=True, slots=True)
class CommitChange:
    """The two diffs of a commit and its base tree."""

    commit: HistoryCommit
    patch: str
    test_patch: str
    tree: Path
    """The base tree, checked out."""
    patch_changes: TreeChanges
    test_changes: TreeChanges

    def list_test_modules(self) -> list[str]:
        """Return the paths of the changed test modules that exist after the commit."""
        names = (path for path in self.test_changes.written if path.endswith(".py"))
        return sorted(path for path in names if is_test_module(path.rpartition("/")[2]))


def is_test_module(name: str) -> bool:
    """Return whether pytest collects a file of this name by itself."""
    return (
        name.startswith("test_")
        or name.endswith(("_test.py", "_tests.py"))
        or name in {"test.py", "tests.py"}
    )


def check_limits(settings: BuildSettings, commit: HistoryCommit) -> str:
    """Return the true patch of a commit. Raises Refused when the commit is not of the wanted kind, or too large."""
    if reason := commit_limits.explain_refusal(commit, settings.limits):
        raise Refused(reason)
    is_generated = settings.tests_from is TestsFrom.GENERATED
    if is_generated == bool(commit.tests):
        raise Refused(HAS_TESTS if is_generated else commit_limits.NO_TESTS)
    patch = read_diff(settings.repository, commit, commit.sources)
    reads_content = settings.limits != CommitLimits(settings.limits.files, settings.limits.lines)
    edits = list(_read_edits(settings.repository, commit)) if reads_content else []
    if reason := commit_limits.explain_content_refusal(patch, edits, settings.limits):
        raise Refused(reason)
    return patch


def _read_edits(repository: Path, commit: HistoryCommit) -> Iterator[SourceEdit]:
    """Yield the versions of each changed source file, with their definitions from the code graph."""
    paths = [file.path for file in commit.sources]
    with ContentReader(repository) as reader:
        texts = {
            f"{revision}/{path}": reader.read(revision, path)
            for revision in (commit.parent, commit.sha)
            for path in paths
        }
    wanted = [
        ReadRequest("python", key)
        for key, text in texts.items()
        if key.endswith(".py") and text is not None
    ]
    readings = read_all(wanted, lambda key: texts[key] or b"", _READ_SECONDS)
    definitions = {request.path: reading.rows for request, reading in readings}

    def build(key: str) -> SourceVersion | None:
        text = texts[key]
        return None if text is None else SourceVersion(text, definitions.get(key, ()))

    for path in paths:
        yield SourceEdit(build(f"{commit.parent}/{path}"), build(f"{commit.sha}/{path}"))


@contextmanager
def check_out(settings: BuildSettings, commit: HistoryCommit, patch: str) -> Iterator[CommitChange]:
    """Yield a commit with its base tree checked out. Raises Refused."""
    with TemporaryDirectory(prefix="r4p-gym-base-") as home:
        tree = Path(home).resolve() / "tree"
        try:
            test_patch = read_diff(settings.repository, commit, commit.tests)
            write_tree(settings.repository, commit.parent, tree)
            changes = [
                apply_diff(tree, diff) if diff else NO_CHANGES for diff in (patch, test_patch)
            ]
        except (GitFailed, BadDiff, PatchDoesNotApply) as error:
            raise Refused("its diff cannot be read or applied") from error
        yield CommitChange(commit, patch, test_patch, tree, *changes)
