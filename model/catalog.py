"""Build every engine and verifier from its name. Each one is imported only when it is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.engines.engine_catalog import DEFAULT_MODEL, EngineChoice, load_engine, prepare_model
from model.errors import BadEngine, IncompatibleOptions, NoTests, UnknownVerifier
from model.protocols import Engine, Verifier
from model.verifiers.admission import AdmissionRules

if TYPE_CHECKING:
    from model.calibration.calibrator_file import CalibratorFile
    from model.domain import EngineInfo
    from model.execution.evidence_source import EvidenceSource
    from model.verifiers.reports.rubric_source import TreeReaders
    from model.verifiers.voting_verifier import VotingOptions

__all__ = [
    "DEFAULT_MODEL",
    "EARLY_STOPPING_VERIFIERS",
    "ENGINELESS_VERIFIERS",
    "EXECUTION_VERIFIERS",
    "GROUP_VERIFIERS",
    "SCORING_VERIFIERS",
    "TRAJECTORY_VERIFIER",
    "VERIFIERS",
    "VOTING_VERIFIERS",
    "EngineChoice",
    "VotingChoice",
    "check_choice",
    "has_writing_model",
    "load_consensus",
    "load_engine",
    "load_execution",
    "load_prior",
    "load_verifier",
    "needs_engine",
    "parse_verifier_name",
    "prepare_model",
]

VERIFIERS = {
    "r4p": "groups of four, judged against each other (the paper)",
    "r4p-two-rounds": "r4p, then a vote for the most likely of its correct patches",
    "pointwise": "one patch at a time",
    "pairwise": "two at a time: which is better",
    "swiss": "two at a time, in a tournament for the first place",
    "yes-no": "P(YES) of one patch, from log-probabilities",
    "yes-no-trajectory": "yes-no that also reads the agent's trajectory",
    "reward-model": "the score of a trained reward model, one patch at a time",
    "review": "a code review of one patch, with a decision (SWE-Review)",
    "test-report": "a simulated test report about one patch, with 0 or 1 (SWE-World)",
    "rubric": "a checklist for the issue, then grades of one patch at a time",
    "consensus": "how rivals agree, without a language model",
    "regression": "tests that pass on the base and that a patch breaks, without a language model",
    "execution": "regression, then tests that were written for the issue",
    "hybrid": "yes-no makes a shortlist, r4p judges it; hybrid:A+B combines any two",
}
"""Every verifier by name, with a short description."""
TRAJECTORY_VERIFIER = "yes-no-trajectory"
"""The verifier that also reads the trajectory of a patch."""
EXECUTION_VERIFIERS = frozenset({"regression", "execution"})
"""Verifiers that judge by tests, so that they need a source of evidence."""
ENGINELESS_VERIFIERS = EXECUTION_VERIFIERS | {"consensus"}
"""Verifiers that ask no language model."""
SCORING_VERIFIERS = frozenset({"reward-model"})
"""Verifiers whose engine runs a reward model, which writes nothing."""
REPORT_VERIFIERS = frozenset({"review", "test-report"})
"""Verifiers whose model writes a report about one patch."""
VOTING_VERIFIERS = REPORT_VERIFIERS | frozenset(
    {"r4p", "r4p-two-rounds", "pointwise", "pairwise", "swiss", "rubric"}
)
"""Verifiers whose verdict becomes more reliable with more votes."""
EARLY_STOPPING_VERIFIERS = VOTING_VERIFIERS - {"pairwise", "swiss", "rubric"}
"""Verifiers that can know their verdict before the last vote."""
GROUP_VERIFIERS = frozenset({"r4p", "r4p-two-rounds"})
"""Verifiers that show a patch beside its rivals, so that a vote can leave one rival out."""


_NO_TESTS = (
    "verifier {} judges by tests, and there are none here: `r4p verify` takes the source tree with --tree DIR, "
    "`r4p evaluate` the record of `r4p gym run` with --evidence FILE, and the bot runs tests beside every other verifier "
    "by R4P_TESTS, and R4P_TESTS_CLAIM lets them claim"
)


def load_consensus(edited_lines: int = 0) -> Verifier:
    """Build the consensus verifier, which needs no language model. Loads numpy and the shipped consensus model.

    The verifier does not judge patches that edit fewer than `edited_lines` lines.
    """
    from model.verifiers import consensus as verifiers

    return verifiers.build_shipped(AdmissionRules(edited_lines=edited_lines))


def load_prior(name: str, engine: "EngineInfo | None" = None) -> "CalibratorFile | None":
    """Load the packaged prior of consensus; None for another verifier, or an `engine` that is not the shipped model."""
    if name != "consensus":
        return None
    from model.verifiers import consensus as verifiers

    prior = verifiers.build_prior()
    return prior if engine in {None, prior.engine} else None


def load_execution(name: str, evidence: "EvidenceSource | None", edited_lines: int = 0) -> Verifier:
    """Build the verifier `regression` or `execution`, which judges by the tests of `evidence`.

    The verifier does not judge patches that edit fewer than `edited_lines` lines. Raises NoTests without `evidence`.
    """
    if evidence is None:
        raise NoTests(_NO_TESTS.format(name))
    from model.verifiers.execution import ExecutionVerifier

    rules = AdmissionRules(edited_lines=edited_lines)
    return ExecutionVerifier(name, evidence, with_reproduction=name == "execution", rules=rules)


def parse_verifier_name(name: str) -> tuple[str, ...]:
    """Return the verifiers that a verifier's name stands for: itself, or the two parts of a hybrid, shortlist first.

    `hybrid:A+B` gives ("A", "B"), and `hybrid` alone gives ("yes-no", "r4p"). Raises UnknownVerifier.
    """
    kind, colon, pair = name.partition(":")
    parts = tuple(pair.split("+")) if colon else ("yes-no", "r4p")
    names = parts if kind == "hybrid" else (name,)
    if kind == "hybrid" and len(parts) != 2:
        raise UnknownVerifier(
            f"{name!r} names {len(parts)} verifiers; a hybrid needs two, as in hybrid:yes-no+r4p"
        )
    if unknown := [part for part in names if part == "hybrid" or part not in VERIFIERS]:
        raise UnknownVerifier(
            f"unknown verifier {unknown[0]!r}; choose {', '.join(VERIFIERS)}, or hybrid:A+B for any other two"
        )
    scoring = SCORING_VERIFIERS.intersection(names)
    if scoring and {*names} - scoring - ENGINELESS_VERIFIERS:
        raise UnknownVerifier(
            f"{name!r} asks one engine for a reward model and for a model that writes; combine reward-model with consensus"
        )
    return names


def needs_engine(name: str) -> bool:
    """Return whether the verifier `name` asks a language model. Raises UnknownVerifier."""
    return not ENGINELESS_VERIFIERS.issuperset(parse_verifier_name(name))


def has_writing_model(name: str) -> bool:
    """Return whether the engine of the verifier `name` runs a model that writes. Agents need one."""
    parts = name.removeprefix("hybrid:").split("+")
    return not ENGINELESS_VERIFIERS.issuperset(parts) and SCORING_VERIFIERS.isdisjoint(parts)


@dataclass(frozen=True, slots=True)
class VotingChoice:
    """The voting options for a verifier. A verifier that does not vote uses `edited_lines` only."""

    stop_early: bool = False
    """Skip votes that can no longer change a verdict."""
    edited_lines: int = 0
    """The fewest added and removed lines of a patch that the verifier judges."""
    leave_one_out: bool = False
    """Every vote leaves out one patch of the group. A verdict that depends on one rival becomes unsure."""
    shortlist: int | None = None
    """The patches that the first part of a hybrid passes on: 0 for all, None for the default."""


def check_choice(
    name: str,
    voting: VotingChoice,
    prompt: str | Path | None = None,
    *,
    has_tests: bool = False,
) -> None:
    """Check that the verifier `name` exists and supports the options in `voting` and the templates in `prompt`.

    No model is loaded. `prompt` is as for `load_verifier`. `has_tests` says whether there is a source of evidence.
    Raises UnknownVerifier, IncompatibleOptions and TemplateError.
    """
    parts = parse_verifier_name(name)
    if not has_tests and not EXECUTION_VERIFIERS.isdisjoint(parts):
        raise NoTests(_NO_TESTS.format(name))
    if voting.shortlist is not None and len(parts) == 1:
        raise IncompatibleOptions(
            f"verifier {name} makes no shortlist; choose a hybrid, or leave --shortlist out"
        )
    if prompt is not None:
        from model.verifiers import judge_prompts

        prompts = judge_prompts.parse_prompts(prompt, parts)
        for verifier in prompts:
            judge_prompts.load_prompt(verifier, prompts)
    if not voting.leave_one_out:
        return
    if GROUP_VERIFIERS.isdisjoint(parts):
        raise IncompatibleOptions(
            f"verifier {name} shows no groups, so it cannot leave one rival out; use r4p, "
            "r4p-two-rounds or a hybrid of them"
        )
    if voting.stop_early:
        raise IncompatibleOptions(
            "leave-one-out votes cannot stop early: a skipped vote could show that a verdict depends on a rival; "
            "choose one of the two options"
        )


def load_verifier(  # noqa: PLR0913 - the choices of an operator, and where a verifier gets what it reads
    name: str,
    engine: Engine | None,
    *,
    prompt: str | Path | Mapping[str, str] | None = None,
    reply_tokens: int | None = None,
    voting: VotingChoice = VotingChoice(),
    evidence: "EvidenceSource | None" = None,
    readers: "TreeReaders | None" = None,
) -> Verifier:
    """Build the verifier `name`, a name in VERIFIERS or a hybrid. `engine` may be None where `needs_engine` is false.

    - `prompt` is the name or file of another prompt template. For parts of a hybrid it is `VERIFIER=FILE,…` or a mapping.
    - `reply_tokens` limits the reply of one vote; `voting` holds the options for votes.
    - `evidence` is where `regression` and `execution` get the results of tests.
    - `readers` read the code for `rubric`, `review` and templates that show code. Without them, the verifier reads issue and diffs alone.

    Raises TemplateError, UnknownVerifier and IncompatibleOptions.
    """
    from model.verifiers import judge_prompts
    from model.verifiers.vote_sampling import Sampling
    from model.verifiers.voting_verifier import VotingOptions

    check_choice(name, voting, has_tests=evidence is not None)
    names = parse_verifier_name(name)
    prompts = judge_prompts.parse_prompts(prompt, names)
    # On two CPU cores, 256 tokens keep three votes on four patches well under 90 seconds.
    here = engine is not None and engine.name == "local_transformers"
    default = Sampling(max_tokens=256, batch=4) if here else Sampling()
    tokens = reply_tokens or default.max_tokens
    options = VotingOptions(
        replace(default, max_tokens=tokens, stop_early=voting.stop_early),
        edited_lines=voting.edited_lines,
        leave_one_out=voting.leave_one_out,
        read_code=readers.code if readers else None,
    )
    built = [
        load_consensus(voting.edited_lines)
        if part == "consensus"
        else load_execution(part, evidence, voting.edited_lines)
        if part in EXECUTION_VERIFIERS
        else _build_verifier(part, engine, prompts, options, readers)
        for part in names
    ]
    if len(built) == 1:
        return built[0]
    from model.verifiers.hybrid import HybridVerifier

    return HybridVerifier(built[0], built[1], voting.shortlist)


def _build_verifier(
    name: str,
    engine: Engine | None,
    prompts: Mapping[str, str],
    options: "VotingOptions",
    readers: "TreeReaders | None",
) -> Verifier:
    from model.verifiers import reward_model, swiss, two_rounds, vote_schemes, yes_no
    from model.verifiers.judge_prompts import load_prompt
    from model.verifiers.reports import report_verifier, rubric_source, rubric_verifier

    if engine is None:
        raise BadEngine(f"verifier {name} asks a language model, and no engine is given; name one")
    if name == "review" and readers and readers.reviewer:
        engine, prompts = readers.reviewer, {"review": "review_tools", **prompts}
    template = load_prompt(name, prompts)
    match name:
        case "yes-no" | "yes-no-trajectory":
            with_trajectory = name == TRAJECTORY_VERIFIER
            return yes_no.YesNoVerifier(engine, template, options, trajectories=with_trajectory)
        case "r4p-two-rounds":
            first = _build_verifier("r4p", engine, prompts, options, readers)
            second = two_rounds.MostLikelyVerifier(engine, template, options)
            return two_rounds.TwoRoundsVerifier(first, second)
        case "reward-model":
            return reward_model.RewardModelVerifier(engine, template, options.edited_lines)
        case "rubric":
            kept = readers.rubrics if readers else None
            source = kept or rubric_source.build_issue_source(engine)
            return rubric_verifier.RubricVerifier(engine, template, source, options)
    kinds: dict[str, Any] = {
        "pointwise": vote_schemes.PointwiseVerifier,
        "pairwise": vote_schemes.PairwiseVerifier,
        "swiss": swiss.SwissVerifier,
        "review": report_verifier.ReviewVerifier,
        "test-report": report_verifier.SimulatedTestVerifier,
        "r4p": vote_schemes.R4PVerifier,
    }
    verifier: Verifier = kinds[name](engine, template, options)
    return verifier
