"""`r4p verify` judges candidate patches from files, without GitHub and without a database."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from model import catalog
from model.calibration.calibrator_file import CalibratorFile
from model.calibration.evidence import withdraw_partial_claims
from model.catalog import EngineChoice, VotingChoice
from model.commands import inputs
from model.commands.exit_codes import Exit, exit_on_error, format_count, print_json, stop, warn
from model.commands.options import JudgeOptions, SuiteOptions, accept_options
from model.commands.output import print_verdict, report_loading, show_progress
from model.commands.tree_readers import UNREADABLE_TREE, open_readers
from model.domain import EngineInfo, GroupVerdict, Issue, Patch, Verdict
from model.errors import BadSuiteCommand, NoBaseline
from model.execution import suite_command
from model.execution.evidence_source import EvidenceSource, LiveTests
from model.prompts.untrusted import escape_issue, escape_patch
from model.protocols import Engine
from model.reproduction.reproduction_source import LiveReproduction
from model.reproduction.reproduction_test import KeptTests
from model.rivals.differences import find_differences
from model.sandbox.walls import NoSandbox
from model.verdict_json import Subject, to_json
from model.voting import leave_one_out_effect
from model.voting.grouping import SEATS

_VERIFY = "verify"


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(JudgeOptions, SuiteOptions):
    """Options of `r4p verify`."""

    issue: Annotated[Path, Option(metavar="FILE", help="The issue; the first line is the title.")]
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
        """Return the tests to run, or None without `--tree`. Raises BadInput and BadSuiteCommand."""
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

    def read_patches(self) -> list[Patch]:
        """Return the candidates with their trajectories, read from files. Warns of unreadable ones. Raises BadInput."""
        patches, notes = inputs.read_patches([*(self.patch or []), *(self.more or [])])
        parts = catalog.parse_verifier_name(self.verifier)
        patches = inputs.attach_trajectories(
            patches,
            self.trajectory or [],
            self.verifier,
            reads_trajectories=catalog.TRAJECTORY_VERIFIER in parts,
        )
        for note in notes:
            warn(_VERIFY, note)
        return patches


@accept_options(VerifyOptions)
def verify(options: VerifyOptions) -> None:
    """Judge candidate patches for one issue against each other.

    Exit codes: 0 a candidate is correct, 2 usage, 3 none is correct, 4 unsure, 5 no engine.
    """
    with exit_on_error(_VERIFY, inputs.BadInput, BadSuiteCommand, NoBaseline, *UNREADABLE_TREE):
        evidence = options.choose_evidence()
        choice, fitted = options.choose_judge(
            options.verifier, options.voting, has_tests=evidence is not None
        )
        fitted = fitted or catalog.load_prior(options.verifier)
        issue, patches = inputs.read_issue(options.issue), options.read_patches()
        _warn_of_tricks(issue, patches)
        _warn_of_few_votes(options, len(patches))
        compare = partial(_judge_by_consensus, options.min_lines, issue, patches)
        try:
            verdict = _judge(options, choice, fitted, evidence, (issue, patches))
        except NoSandbox as error:
            stop(_VERIFY, Exit.BACKEND_DOWN, str(error))
        if fitted:
            verdict = fitted.calibrate(verdict, compare)
        verdict = withdraw_partial_claims(replace(verdict, differences=find_differences(patches)))
    if options.json_output:
        subject = _build_subject(issue, patches)
        calibration = fitted.calibration if fitted else None
        print_json(to_json(verdict, subject, verifier=options.verifier, calibration=calibration))
    else:
        print_verdict(verdict, fitted.calibration if fitted else None)
    if caution := describe_caution(verdict.engine):
        warn(_VERIFY, caution)
    raise typer.Exit(choose_exit_code(verdict))


def _report_dropped(kept: KeptTests) -> None:
    for reason, count in sorted(kept.dropped.items()):
        tests = format_count(count, "reproduction test")
        warn(_VERIFY, f"{tests} did not count: {reason.value.replace('_', ' ')}")


def _build_subject(issue: Issue, patches: Sequence[Patch]) -> Subject:
    texts = [issue.text, *(patch.diff for patch in patches)]
    identity = hashlib.sha256("\0".join(texts).encode(errors="replace"))
    return Subject(title=issue.title, group_id=identity.hexdigest()[:16])


def choose_exit_code(verdict: GroupVerdict) -> Exit:
    """Return the exit code: OK with a correct patch, NONE_CORRECT if all are incorrect, else UNSURE."""
    verdicts = {patch.verdict for patch in verdict.patches}
    if Verdict.CORRECT in verdicts:
        return Exit.OK
    return Exit.NONE_CORRECT if verdicts == {Verdict.INCORRECT} else Exit.UNSURE


def describe_caution(engine: EngineInfo) -> str | None:
    """Return a warning that an embedded model judges no better than chance; None for a user's own engine or model."""
    if not engine.name.startswith("local_") or Path(engine.model).is_dir():
        return None
    return (
        f"the embedded {engine.model} only shows how this works; its verdicts are no better than chance. "
        "Give --engine-url for real ones."
    )


def _warn_of_few_votes(options: VerifyOptions, patches: int) -> None:
    needed = leave_one_out_effect.count_needed_votes(patches)
    if options.leave_one_out and options.votes < needed:
        warn(
            _VERIFY,
            f"--leave-one-out needs {needed} votes to find the rivals that change a verdict",
        )
    parts = catalog.parse_verifier_name(options.verifier)
    if options.votes == 1 and patches > SEATS and not catalog.GROUP_VERIFIERS.isdisjoint(parts):
        warn(
            _VERIFY,
            f"one vote compares each patch with at most {SEATS - 1} rivals; two votes compare it with others too",
        )


def _judge_by_consensus(min_lines: int, issue: Issue, patches: Sequence[Patch]) -> GroupVerdict:
    return catalog.load_consensus(min_lines).verify(issue, patches, votes=0)


def _judge(
    options: VerifyOptions,
    choice: EngineChoice,
    fitted: CalibratorFile | None,
    evidence: EvidenceSource | None,
    group: tuple[Issue, Sequence[Patch]],
) -> GroupVerdict:
    """Judge the issue and patches of `group`. Raises IncompatibleOptions for the calibrator of another judge."""
    with (
        show_progress() as (say, _),
        _open_engine(options.verifier, choice, say) as engine,
        open_readers(options.verifier, engine, options.tree, say, options.prompt) as readers,
    ):
        verifier = catalog.load_verifier(
            options.verifier,
            engine,
            prompt=options.prompt,
            voting=options.voting,
            evidence=evidence,
            readers=readers,
        )
        if fitted:
            fitted.check_engine(verifier.engine)
        steps = "votes" if evidence is None else "votes and runs of the tests"
        say(f"asking {verifier.engine.model}")
        return verifier.verify(
            *group,
            votes=options.votes,
            on_vote=lambda done, asked: say(f"{steps}: {done} of {asked}"),
        )


@contextmanager
def _open_engine(
    verifier: str, choice: EngineChoice, say: Callable[[str], None]
) -> Iterator[Engine | None]:
    """Load the engine, and close it at the end; None for a verifier without an engine."""
    if not catalog.needs_engine(verifier):
        yield None
        return
    with closing(catalog.load_engine(report_loading(choice, say))) as engine:
        yield engine


def _warn_of_tricks(issue: Issue, patches: Sequence[Patch]) -> None:
    texts = [("the issue", escape_issue(issue.text))]
    texts += [(f"patch {patch.id}", escape_patch(patch.diff)) for patch in patches]
    texts += [
        (f"trajectory of {patch.id}", escape_patch(patch.trajectory or "")) for patch in patches
    ]
    for where, safe in texts:
        if safe.injections:
            tricks = ", ".join(
                f"{count} × {trick.value.replace('_', ' ')}" for trick, count in safe.injections
            )
            warn(_VERIFY, f"{where}: {tricks} escaped before the model reads it")
