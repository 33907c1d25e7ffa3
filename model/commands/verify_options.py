"""The options of `r4p verify`, its input and its result."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from model import catalog
from model.catalog import VotingChoice
from model.commands import inputs
from model.commands.exit_codes import format_count, warn
from model.commands.options import JudgeOptions, SuiteOptions
from model.domain import GroupVerdict, Issue, Patch
from model.execution import suite_command
from model.execution.evidence_source import EvidenceSource, LiveTests
from model.protocols import Engine
from model.reproduction.reproduction_source import LiveReproduction
from model.reproduction.reproduction_test import KeptTests
from model.reproduction.test_writing import WritingLimits, write_tests
from model.verdict_json import Calibration, Json, Subject, to_json

VERIFY = "verify"
"""The name of the command in messages."""


@dataclass(frozen=True, slots=True)
class VerifyInput:
    """The issue and the patches that one run of `r4p verify` judges."""

    issue: Issue
    patches: Sequence[Patch]
    subject: Subject
    notes: Sequence[str] = ()
    """Sentences about pull requests that are not judged."""
    repository_url: str | None = None
    """Address of the repository's page on GitHub; None for patches from files."""


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The result of one run of `r4p verify`."""

    verdict: GroupVerdict
    group: VerifyInput
    verifier: str
    calibration: Calibration | None
    """What the probabilities rest on; None without probabilities."""

    @property
    def document(self) -> dict[str, Json]:
        """The result as an `r4p.verdict/1` document."""
        group, calibration = self.group.subject, self.calibration
        return to_json(self.verdict, group, verifier=self.verifier, calibration=calibration)


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(JudgeOptions, SuiteOptions):
    """Options of `r4p verify`."""

    issue: Annotated[
        Path | None, Option(metavar="FILE", help="The issue; the first line is the title.")
    ] = None
    patch: Annotated[
        list[Path] | None, Option(metavar="FILE", help="A candidate as a unified diff.")
    ] = None
    more: Annotated[
        list[Path] | None, Argument(metavar="FILE", help="Candidates, like --patch; - is stdin.")
    ] = None
    verifier: Annotated[
        str,
        Option(
            metavar="NAME",
            help=f"Method: {', '.join(catalog.VERIFIERS)}. auto: r4p with an engine or a model, else consensus.",
        ),
    ] = "auto"
    trajectory: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="How an agent made a patch; one file for each patch, in their order (yes-no-trajectory).",
        ),
    ] = None
    stop_early: Annotated[
        bool, Option("--stop-early", help="Skip votes that cannot change a verdict.")
    ] = False
    tree: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="The source tree before the patches (regression, execution, rubric, review, or a prompt that shows code).",
        ),
    ] = None
    tests: Annotated[
        str, Option(metavar="COMMAND", help="The tests of the tree, such as `pytest -q tests`.")
    ] = suite_command.DEFAULT_COMMAND
    reproduction: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="A script that says whether the issue is there, once for each (execution).",
        ),
    ] = None
    write_tests: Annotated[
        int,
        Option(
            min=0,
            help="Reproduction tests that a model writes; those that show the issue on the tree count (execution).",
        ),
    ] = 0
    json_output: Annotated[bool, Option("--json", help="Print an r4p.verdict/1 document.")] = False

    def __post_init__(self) -> None:
        """Replace the verifier `auto`: `consensus` needs no model, and the embedded 0.5B model judges at chance."""
        if self.verifier == "auto":
            has_model = self.engine or self.engine_url or self.script or self.model
            object.__setattr__(self, "verifier", "r4p" if has_model else "consensus")

    @property
    def voting(self) -> VotingChoice:
        """The voting settings that these options choose."""
        return VotingChoice(self.stop_early, self.min_lines, self.leave_one_out, self.shortlist)

    def choose_evidence(self) -> EvidenceSource | None:
        """Return the tests to run, or None without `--tree`. Raises BadInput and BadSuiteCommand.

        Tests that a model writes are added by `add_written_tests`, once its engine is loaded.
        """
        if self.write_tests and self.reproduction:
            raise inputs.BadInput(
                "--write-tests and --reproduction exclude each other; leave one out"
            )
        if self.tree is None:
            return None
        if not self.tree.is_dir():
            raise inputs.BadInput(f"--tree {self.tree} is no directory; name the source tree")
        command = self.parse_command(self.tests)
        tests = LiveTests(self.tree, command, self.tests, base_runs=self.base_runs)
        if not self.reproduction:
            return tests
        written = inputs.read_reproduction_tests(self.reproduction)
        return LiveReproduction(tests, lambda _issue: written, _report_dropped)

    def add_written_tests(
        self, evidence: EvidenceSource | None, engine: Engine | None
    ) -> EvidenceSource | None:
        """Return the evidence with tests that the engine writes; as it is without `--write-tests`."""
        if not self.write_tests or engine is None or not isinstance(evidence, LiveTests):
            return evidence
        limits = WritingLimits(self.write_tests)

        def find_tests(issue: Issue) -> KeptTests:
            return write_tests(engine, issue, evidence.tree, limits=limits)

        return LiveReproduction(evidence, find_tests, _report_dropped)

    def read_group(self) -> VerifyInput:
        """Return the issue and the candidates, read from files. Warns of unreadable ones. Raises BadInput."""
        if self.issue is None:
            raise inputs.BadInput("there is no issue; give --issue FILE")
        issue, patches = inputs.read_issue(self.issue), self._read_patches()
        return VerifyInput(issue, patches, build_subject(issue, patches))

    def _read_patches(self) -> list[Patch]:
        """Return the candidates with their trajectories."""
        patches, notes = inputs.read_patches([*(self.patch or []), *(self.more or [])])
        parts = catalog.parse_verifier_name(self.verifier)
        patches = inputs.attach_trajectories(
            patches,
            self.trajectory or [],
            self.verifier,
            reads_trajectories=catalog.TRAJECTORY_VERIFIER in parts,
        )
        for note in notes:
            warn(VERIFY, note)
        return patches


def _report_dropped(kept: KeptTests) -> None:
    for reason, count in sorted(kept.dropped.items()):
        tests = format_count(count, "reproduction test")
        warn(VERIFY, f"{tests} did not count: {reason.value.replace('_', ' ')}")


def build_subject(issue: Issue, patches: Sequence[Patch]) -> Subject:
    """Return the subject of a verdict on these texts, with a hash of them as its group id."""
    texts = [issue.text, *(patch.diff for patch in patches)]
    identity = hashlib.sha256("\0".join(texts).encode(errors="replace"))
    return Subject(title=issue.title, group_id=identity.hexdigest()[:16])
