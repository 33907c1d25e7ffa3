"""`r4p gym import-swebench`: turn the benchmark's issues of Django into a gym whose tests run on this machine."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

from typer import Option

from model.commands.exit_codes import Exit, exit_on_error, format_count, stop, warn
from model.commands.options import accept_options
from model.commands.output import show_progress
from model.environments.build import build_environment
from model.environments.environment_cache import DEFAULT_CACHE
from model.environments.recipe import EnvironmentRecipe
from model.errors import BadGroups, BadGym, BadRecipe, GitFailed, NoEnvironment
from model.sandbox.walls import NoSandbox
from training.gym.swebench.benchmark_issue import BenchmarkIssue, read_issues
from training.gym.swebench.import_report import build_report
from training.gym.swebench.importing import ImportPlan, measure_issues
from training.gym.swebench.release import Release, download_releases, unpack_releases
from training.gym.swebench.run_export import write_runs
from training.gym.swebench.task_writer import save_gym

_IMPORT: Final = "gym import-swebench"
REPOSITORY: Final = "django/django"
_RELEASES: Final = (
    *("3.1", "3.2a1", "3.2", "4.0a1", "4.0", "4.1a1", "4.1", "4.2a1", "4.2", "5.0a1"),
)
REPORT: Final = "import.json"
"""The file of a gym that compares what ran with the benchmark's labels."""
RECIPE: Final = EnvironmentRecipe(
    "3.11",
    (
        *("asgiref==3.13.0", "docutils==0.23", "jinja2==3.1.6", "pillow==13.0.0"),
        *("pytz==2026.6", "pyyaml==6.0.3", "sqlparse==0.6.1", "tzdata==2026.6"),
    ),
)
"""What Django's tests need. Without Pillow, tests are skipped and issues look invalid."""


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Options of `r4p gym import-swebench`."""

    instances: Annotated[
        Path, Option(metavar="FILE", help="The benchmark's issues: true patches and tests.")
    ]
    patches: Annotated[Path, Option(metavar="FILE", help="Labelled patches of these issues.")]
    out: Annotated[Path, Option(metavar="GYM", help="Folder to create.")]
    sources: Annotated[
        Path | None,
        Option(
            metavar="DIR", help="Source distributions of Django; pip downloads them by default."
        ),
    ] = None
    environments: Annotated[
        Path | None, Option(metavar="DIR", help="Folder of test environments.")
    ] = None
    issue: Annotated[
        list[str] | None, Option(metavar="ID", help="Import this issue only; can be repeated.")
    ] = None
    limit: Annotated[int | None, Option(min=1, help="Import so many issues, the newest first.")] = (
        None
    )
    repeats: Annotated[int, Option(min=1, max=9, help="Runs of each patch.")] = 1
    parallel: Annotated[int | None, Option(min=1, help="Issues at the same time.")] = None

    def read_issues(self) -> list[BenchmarkIssue]:
        """Return the issues to import. Raises BadGroups."""
        issues = read_issues(self.instances, self.patches, REPOSITORY)
        present = {issue.id for issue in issues}
        if missing := set(self.issue or ()) - present:
            raise BadGroups(f"--issue {min(missing)} is in {self.instances} or {self.patches} not")
        chosen = [issue for issue in issues if not self.issue or issue.id in self.issue]
        return chosen[: self.limit]


@accept_options(ImportOptions)
def import_swebench(options: ImportOptions) -> None:
    """Import Django's issues of SWE-bench, with agents' patches, as a gym. Releases stand in for the issues' commits.

    All tests run in a sandbox. The folder GYM.progress keeps what was measured: a killed import continues there.

    Exit codes: 0 written, 2 usage, 5 no sandbox or no environment.
    """
    usage = (BadGym, BadRecipe, GitFailed)
    with exit_on_error(_IMPORT, *usage), TemporaryDirectory(prefix="r4p-releases-") as home:
        if options.out.exists():
            raise BadGym(f"--out {options.out} exists already; name a folder to create")
        issues = options.read_issues()
        try:
            report = _import(options, issues, Path(home))
        except (NoSandbox, NoEnvironment) as error:
            stop(_IMPORT, Exit.BACKEND_DOWN, str(error))
    _show(report)


def _import(options: ImportOptions, issues: Sequence[BenchmarkIssue], home: Path) -> dict[str, Any]:
    progress = options.out.with_name(f"{options.out.name}.progress")
    environment = build_environment(RECIPE, options.environments or Path.home() / DEFAULT_CACHE)
    with show_progress(len(issues) * options.repeats) as (say, advance):
        say("unpacking releases")
        releases = _open_releases(options.sources, home)
        plan = ImportPlan(releases, environment.python, progress, options.repeats, options.parallel)
        say("running tests")
        records = measure_issues(issues, plan, advance)
        say("writing the gym")
        save_gym(options.out, issues, records, releases, environment.recipe)
    write_runs(options.out, issues, records)
    report = build_report(records)
    (options.out / REPORT).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return report


def _open_releases(sources: Path | None, home: Path) -> tuple[Release, ...]:
    if sources is None:
        sources = home / "sources"
        download_releases("Django", _RELEASES, sources)
    return tuple(unpack_releases(sources, home))


def _show(report: dict[str, Any]) -> None:
    for reason, count in report["refusals"].items():
        warn(_IMPORT, f"{format_count(count, 'issue')} refused: {reason}")
    for reason, count in report["patches"]["refusals"].items():
        warn(_IMPORT, f"{count} patches not compared: {reason}")
    same = report["labels_reproduced"]
    warn(
        _IMPORT,
        f"{report['tasks']} tasks, {report['patches']['run']} patches; the tests agree with the benchmark on "
        f"{same['count']} of {same['of']}",
    )
