"""`r4p test` runs a repository's own tests on candidate patches, in a sandbox, and reports what each patch breaks."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from model.commands import inputs
from model.commands.exit_codes import Exit, exit_on_error, format_count, print_json, stop, warn
from model.commands.options import SuiteOptions, accept_options
from model.commands.output import show_progress
from model.domain import PatchId
from model.errors import BadSuiteCommand, NoBaseline
from model.execution import candidate_tests, suite_command
from model.execution.candidate_tests import CandidateTests
from model.execution.regression import RegressionEvidence, describe_regression
from model.execution.suite_command import SuiteCommand
from model.prompts.untrusted import escape_invisible
from model.sandbox.walls import NoSandbox

_TEST = "test"


@dataclass(frozen=True, kw_only=True)
class RegressionOptions(SuiteOptions):
    """Options of `r4p test`."""

    patches: Annotated[
        list[Path] | None, Argument(metavar="FILE", help="Candidates; - is stdin.")
    ] = None
    tree: Annotated[Path, Option(metavar="DIR", help="The source tree before the patches.")]
    command: Annotated[
        str,
        Option(
            metavar="COMMAND", help="The tests, such as `pytest -q tests` or `python -m unittest`."
        ),
    ] = suite_command.DEFAULT_COMMAND
    junit: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="JUnit XML that the command writes in the tree. Then any command can run.",
        ),
    ] = None
    json_output: Annotated[bool, Option("--json", help="Print an r4p.tests/1 document.")] = False

    def read_command(self) -> SuiteCommand:
        """Return the command of these options with its Python and limits. Raises BadSuiteCommand and NoEnvironment."""
        if self.junit is None:
            return self.parse_command(self.command)
        return self.complete(suite_command.parse_junit_command(self.command, self.junit))


@accept_options(RegressionOptions)
def test(options: RegressionOptions) -> None:
    """Run a repository's tests on candidate patches, in a sandbox, and list the tests that each patch breaks.

    Only tests count that pass on the base in every run. A patch's own tests are not run. A patch is not known to pass by
    `--junit`, whose report it could write, nor if it breaks only tests that it rewrites or removes.

    Exit codes: 0 a candidate breaks nothing, 2 usage, 3 each breaks a test, 4 none is known to pass, 5 no sandbox.
    """
    with exit_on_error(_TEST, inputs.BadInput, BadSuiteCommand, NoBaseline):
        patches, notes = inputs.read_patches(options.patches or [])
        for note in notes:
            warn(_TEST, note)
        if not options.tree.is_dir():
            raise inputs.BadInput(f"--tree {options.tree} is no directory; name the source tree")
        with show_progress(options.base_runs + len(patches)) as (say, advance):
            say("running the tests")
            try:
                results = candidate_tests.run_candidate_tests(
                    options.tree,
                    patches,
                    options.read_command(),
                    base_runs=options.base_runs,
                    on_run=lambda done, _total: advance(done),
                )
            except NoSandbox as error:
                stop(_TEST, Exit.BACKEND_DOWN, str(error))
    if options.json_output:
        print_json(build_document(results))
    else:
        _show(results)
    raise typer.Exit(choose_exit_code(results.evidence))


def choose_exit_code(evidence: Mapping[PatchId, RegressionEvidence]) -> Exit:
    """Return the exit code: OK if a patch breaks nothing, NONE_CORRECT if every patch breaks a test, else UNSURE."""
    passes = {result.passes for result in evidence.values()}
    if True in passes:
        return Exit.OK
    return Exit.NONE_CORRECT if passes == {False} else Exit.UNSURE


def build_document(results: CandidateTests) -> dict[str, Any]:
    """Build the `r4p.tests/1` document."""
    return {
        "schema": "r4p.tests/1",
        "expected": len(results.baseline.stable),
        "self_reported": results.baseline.is_self_reported,
        "flaky": sorted(results.baseline.flaky),
        "seconds": round(results.baseline.seconds, 2),
        "patches": [
            {
                "id": patch,
                "broken": list(result.broken),
                "rewritten": list(result.rewritten),
                "unknown": result.unknown,
            }
            for patch, result in results.evidence.items()
        ],
    }


def _show(results: CandidateTests) -> None:
    out = Console(highlight=False, markup=False, soft_wrap=True)
    table = Table("patch", "result")
    for patch, result in results.evidence.items():
        table.add_row(
            Text(escape_invisible(patch)), Text(escape_invisible(describe_regression(result)))
        )
    out.print(table)
    if results.baseline.flaky:
        count = format_count(len(results.baseline.flaky), "test")
        out.print(f"{count} passed in some runs on the base only and did not count")
