"""`r4p verify` judges candidate patches from files, without GitHub and without a database."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import typer

from model import catalog
from model.calibration.calibrator_file import CalibratorFile
from model.calibration.evidence import withdraw_partial_claims
from model.catalog import EngineChoice
from model.commands import inputs
from model.commands.exit_codes import Exit, exit_on_error, print_json, stop, warn
from model.commands.options import accept_options
from model.commands.output import print_verdict, report_loading, show_progress
from model.commands.tree_readers import UNREADABLE_TREE, open_readers
from model.commands.verify_options import VERIFY, VerifyInput, VerifyOptions, VerifyResult
from model.domain import EngineInfo, GroupVerdict, Issue, Patch, Verdict
from model.errors import BadSuiteCommand, NoBaseline
from model.execution.evidence_source import EvidenceSource
from model.prompts.untrusted import escape_issue, escape_patch
from model.protocols import Engine
from model.rivals.differences import find_differences
from model.sandbox.walls import NoSandbox
from model.voting import leave_one_out_effect
from model.voting.grouping import SEATS


@accept_options(VerifyOptions)
def verify(options: VerifyOptions) -> None:
    """Judge candidate patches for one issue against each other.

    Exit codes: 0 a candidate is correct, 2 usage, 3 none is correct, 4 unsure, 5 no engine.
    """
    raise typer.Exit(choose_exit_code(judge(options, options.read_group).verdict))


def judge(options: VerifyOptions, read_group: Callable[[], VerifyInput]) -> VerifyResult:
    """Judge the group that `read_group` returns, print the verdicts, and return them.

    `read_group` runs after all options were checked. Ends the process with an exit code for input or options that
    cannot be used, and without an engine.
    """
    with exit_on_error(VERIFY, inputs.BadInput, BadSuiteCommand, NoBaseline, *UNREADABLE_TREE):
        evidence = options.choose_evidence()
        choice, fitted = options.choose_judge(
            options.verifier, options.voting, has_tests=evidence is not None
        )
        fitted = fitted or catalog.load_prior(options.verifier)
        group = read_group()
        issue, patches = group.issue, group.patches
        _warn_of_tricks(issue, patches)
        _warn_of_few_votes(options, len(patches))
        compare = partial(_judge_by_consensus, options.min_lines, issue, patches)
        try:
            verdict = _judge(options, choice, fitted, evidence, (issue, patches))
        except NoSandbox as error:
            stop(VERIFY, Exit.BACKEND_DOWN, str(error))
        if fitted:
            verdict = fitted.calibrate(verdict, compare)
        verdict = withdraw_partial_claims(replace(verdict, differences=find_differences(patches)))
    calibration = fitted.calibration if fitted else None
    result = VerifyResult(verdict, group, options.verifier, calibration)
    _print(result, as_json=options.json_output)
    return result


def _print(result: VerifyResult, *, as_json: bool) -> None:
    if as_json:
        print_json(result.document)
    else:
        print_verdict(result.verdict, result.calibration)
    if caution := describe_caution(result.verdict.engine):
        warn(VERIFY, caution)


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
            VERIFY,
            f"--leave-one-out needs {needed} votes to find the rivals that change a verdict",
        )
    parts = catalog.parse_verifier_name(options.verifier)
    if options.votes == 1 and patches > SEATS and not catalog.GROUP_VERIFIERS.isdisjoint(parts):
        warn(
            VERIFY,
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
        _open_engine(options, choice, say) as engine,
        open_readers(options.verifier, engine, options.tree, say, options.prompt) as readers,
    ):
        verifier = catalog.load_verifier(
            options.verifier,
            engine,
            prompt=options.prompt,
            voting=options.voting,
            evidence=options.add_written_tests(evidence, engine),
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
    options: VerifyOptions, choice: EngineChoice, say: Callable[[str], None]
) -> Iterator[Engine | None]:
    """Load the engine, and close it at the end; None where nothing asks one."""
    if not catalog.needs_engine(options.verifier) and not options.write_tests:
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
            warn(VERIFY, f"{where}: {tricks} escaped before the model reads it")
