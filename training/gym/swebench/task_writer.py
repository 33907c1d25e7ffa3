"""Write the measured issues as a gym with candidates."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model.environments.recipe import EnvironmentRecipe
from model.gyms.gym_task import GymCandidate, GymManifest, GymSource, GymTask, TestsFrom
from training.gym.gym_folder import build_manifest, write_gym
from training.gym.swebench.base_choice import Base, find_base
from training.gym.swebench.benchmark_issue import BenchmarkIssue
from training.gym.swebench.import_report import count_refusals, find_refusal
from training.gym.swebench.issue_record import IssueRecord
from training.gym.swebench.measurement import build_command
from training.gym.swebench.release import Release
from training.gym.tree_store import TreeStore

ENVIRONMENT: Final = "django"
"""Name of the test environment of all tasks."""
_LICENCE: Final = "BSD-3-Clause"
"""Of Django, the project that the recipe is for."""
_UNKNOWN_DATE: Final = "1970-01-01"
"""The benchmark's files do not tell when an issue was resolved."""
Measured = tuple[BenchmarkIssue, IssueRecord, Base]


def save_gym(
    folder: Path,
    issues: Sequence[BenchmarkIssue],
    records: Sequence[IssueRecord],
    releases: Sequence[Release],
    recipe: EnvironmentRecipe,
) -> GymManifest:
    """Write the gym into the new folder `folder`, and return its manifest. Raises BadGym and GitFailed."""
    measured = list(_join(issues, records, releases))
    tasks = [_build_task(*item) for item in measured]
    repository = issues[0].repository
    versions = f"{releases[0].version}..{releases[-1].version}"
    manifest = build_manifest(
        folder.name, tasks, [GymSource(repository, _LICENCE, versions)], count_refusals(records)
    )
    with TemporaryDirectory(prefix="r4p-gym-") as home:
        store = TreeStore(Path(home) / "trees.git")
        trees = _store_trees(store, measured)
        write_gym(folder, manifest, tasks, {ENVIRONMENT: recipe}, (store, trees))
    return manifest


def _join(
    issues: Sequence[BenchmarkIssue], records: Sequence[IssueRecord], releases: Sequence[Release]
) -> list[Measured]:
    by_id = {issue.id: issue for issue in issues}
    bases = [
        (by_id[record.id], record, find_base(by_id[record.id], releases, record.base))
        for record in records
        if record.refusal is None
    ]
    return [(issue, record, base) for issue, record, base in bases if base is not None]


def _store_trees(store: TreeStore, measured: Sequence[Measured]) -> Mapping[str, str]:
    folders = sorted({base.release.folder for _, _, base in measured})
    roots = {folder: store.add_folder(folder) for folder in folders}
    return {
        issue.id: store.change_tree(roots[base.release.folder], base.changes)
        for issue, _, base in measured
    }


def _build_task(issue: BenchmarkIssue, record: IssueRecord, base: Base) -> GymTask:
    return GymTask(
        id=issue.id,
        repository=issue.repository,
        base_commit=issue.base_commit,
        created=_UNKNOWN_DATE,
        statement=issue.statement,
        patch=_end_line(issue.true_patch),
        minimal_patch=None,
        test_patch=_end_line(base.test_patch),
        command=build_command(record.labels),
        environment=ENVIRONMENT,
        fail_to_pass=record.fail_to_pass,
        pass_to_pass=record.pass_to_pass,
        provenance={"base": base.name, "benchmark": "SWE-bench", "instance": issue.id},
        licence=_LICENCE,
        tests_from=TestsFrom.BENCHMARK,
        candidates=tuple(_list_candidates(issue, record)),
    )


def _list_candidates(issue: BenchmarkIssue, record: IssueRecord) -> list[GymCandidate]:
    """Return the candidates that the tests say something about, with the benchmark's labels."""
    return [
        GymCandidate(
            labelled.patch.id,
            _end_line(labelled.patch.diff),
            resolved=labelled.resolved,
            source=labelled.source or "unknown",
        )
        for labelled, measured in zip(issue.candidates, record.candidates, strict=True)
        if find_refusal(measured) is None
    ]


def _end_line(diff: str) -> str:
    return diff if diff.endswith("\n") else f"{diff}\n"
