"""Options of `r4p propose`, and what they ask for."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from model.agents.agent_catalog import AGENTS
from model.agents.agentless.sampling_plan import SamplingPlan
from model.agents.agentless.search_replace import PARSERS
from model.commands import inputs
from model.commands.options import EngineOptions
from model.reproduction.test_writing import WritingLimits

if TYPE_CHECKING:
    from model.reproduction.patch_selection import ExecutionSelection


@dataclass(frozen=True, kw_only=True)
class ProposeOptions(EngineOptions):
    """Options of `r4p propose`."""

    repo: Annotated[
        Path,
        Option(
            "--repo",
            "--tree",
            metavar="DIR",
            help="Folder of the code; the command never writes into it.",
        ),
    ]
    issue: Annotated[
        Path, Option(metavar="FILE", help="File with the issue; the first line is the title.")
    ]
    agent: Annotated[
        str, Option(metavar="NAME", help=f"Agent that writes the patch: {', '.join(AGENTS)}.")
    ] = "mini-se"
    repair_prompt: Annotated[
        str | None,
        Option(
            metavar="NAME|FILE",
            help=f"Prompt of Agentless Mini's repairs: {', '.join(PARSERS)}, or a file.",
        ),
    ] = None
    localisations: Annotated[
        int, Option(min=1, help="Sampled sets of suspicious files in an attempt of Agentless Mini.")
    ] = SamplingPlan().localisations
    repairs: Annotated[
        int, Option(min=1, help="Sampled repairs in an attempt of Agentless Mini.")
    ] = SamplingPlan().repairs
    tests_command: Annotated[
        str | None,
        Option(
            metavar="COMMAND",
            help="Tests of the code, such as `pytest -q`; they run in a sandbox and choose among patches.",
        ),
    ] = None
    tests_python: Annotated[
        Path | None,
        Option(metavar="FILE", help="Python of the environment with the tests' dependencies."),
    ] = None
    tests: Annotated[
        int,
        Option(min=0, help="Reproduction tests that the model writes, with --tests-command."),
    ] = WritingLimits().tests
    attempts: Annotated[int, Option(min=1, max=64, help="Number of attempts, side by side.")] = 1
    seed: Annotated[
        int, Option(min=0, help="Seed of the first attempt; the other attempts count up from it.")
    ] = 0
    database: Annotated[
        Path | None, Option(metavar="FILE", help="File of the code graph (~/.cache/r4p/index).")
    ] = None
    trajectories: Annotated[
        Path | None, Option(metavar="DIR", help="Folder to keep what each attempt saw and did.")
    ] = None
    feedback: Annotated[
        str | None,
        Option(
            metavar="TEXT", help="What was wrong with an earlier attempt, or what to do instead."
        ),
    ] = None
    parent: Annotated[
        Path | None, Option(metavar="FILE", help="Trajectory that --feedback is about.")
    ] = None
    json_output: Annotated[bool, Option("--json", help="Print one r4p.proposal/1 document.")] = (
        False
    )

    def build_plan(self) -> SamplingPlan:
        """Return what Agentless Mini samples in an attempt. It writes tests only where they can be run."""
        tests = self.tests if self.tests_command else 0
        return SamplingPlan(self.localisations, self.repairs, tests)

    def prepare_tests(self, say: Callable[[str], None]) -> "ExecutionSelection | None":
        """Run the tests on the base, before the model costs anything; None without a test command.

        Raises BadInput, BadSuiteCommand, NoBaseline and NoSandbox.
        """
        from model.execution.suite_command import parse_command
        from model.reproduction.patch_selection import prepare_selection

        if self.tests_command is None:
            if self.tests_python:
                raise inputs.BadInput("--tests-python needs --tests-command: name the tests")
            return None
        if self.tests_python and not self.tests_python.exists():
            raise inputs.BadInput(
                f"--tests-python {self.tests_python} does not exist; name an interpreter"
            )
        python = self.tests_python and self.tests_python.absolute()
        command = replace(parse_command(self.tests_command), python=python)
        say("running the tests on the base")
        return prepare_selection(self.repo, command, most_tests=max(self.tests, 1))
