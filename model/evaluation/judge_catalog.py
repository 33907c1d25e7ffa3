"""Build judges for labelled groups from the verifiers of the catalogue. They show the issue and the patches only.

Consensus was trained on labelled issues, so its judge uses a fit that never saw the issue.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from model import catalog
from model.calibration.calibrator_file import CalibratorFile
from model.catalog import EngineChoice, VotingChoice
from model.domain import EngineInfo, GroupVerdict
from model.errors import BadGroups
from model.evaluation.gyms.suite_worth import assess_tests
from model.evaluation.judge_part import (
    BLOCKS_HELD_OUT,
    COPIES_ARE_ONE,
    REPOSITORIES_HELD_OUT,
    Part,
    build_consensus_part,
    build_execution_part,
)
from model.evaluation.judged_group import JudgedGroup, JudgementKey, build_judged_group
from model.evaluation.labelled_group import LabelledGroup
from model.evaluation.run_name import STRICT_SUFFIX, build_run_name
from model.execution.evidence_record import EvidenceFile
from model.protocols import Engine, Verifier
from model.verifiers import judge_prompts
from model.verifiers.admission import DEFAULT_RULES, AdmissionRules
from model.verifiers.reports.rubric_source import TreeReaders

CONSENSUS = "consensus"
"""Name of the verifier that was trained on labelled issues."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A verifier with its engine and number of votes, which judges labelled groups.

    The key of a judgement names its judge, so one run file can hold the judgements of several judges.
    """

    verifier: str
    """Run name of the verifier; see `build_run_name`."""
    engine: EngineInfo
    votes: int
    """Votes requested for each group. The judge `consensus` has 0, other verifiers without votes have 1."""
    verify: Callable[[LabelledGroup], GroupVerdict]
    """Computes the verdict on a group."""
    is_calibrated: bool = False
    """True if a calibrator adds probabilities to the verdicts."""
    tests: EvidenceFile | None = None
    """The recorded tests by which the verifier judges, if any."""

    def key(self, group: LabelledGroup) -> JudgementKey:
        """Build the key under which a run file stores this judge's judgement of `group`."""
        return JudgementKey(group.id, self.verifier, self.engine, self.votes)

    def judge(self, group: LabelledGroup) -> JudgedGroup:
        """Judge `group` with the verifier, and return the verdicts with the group's labels. Raises EngineDown."""
        verdict = self.verify(group)
        judged = build_judged_group(group, verdict, self.key(group), calibrated=self.is_calibrated)
        return replace(judged, tests=assess_tests(group, self.tests)) if self.tests else judged


def check_trajectories(name: str, groups: Sequence[LabelledGroup]) -> None:
    """Raise BadGroups when verifier `name` reads trajectories and no patch of `groups` has one.

    Raises UnknownVerifier for an unknown name.
    """
    wanted = catalog.TRAJECTORY_VERIFIER in catalog.parse_verifier_name(name)
    if wanted and not any(group.has_trajectory for group in groups):
        raise BadGroups(
            f"verifier {name} looks at trajectories, and none of the {len(groups)} groups has one; give the text "
            "as `trajectory` of a patch, or measure yes-no"
        )


@contextmanager
def open_judges(  # noqa: PLR0913 - the options of the command
    name: str,
    choice: EngineChoice,
    votes: int,
    voting: VotingChoice,
    *,
    prompt: str | None = None,
    independent: bool = True,
    calibrator: CalibratorFile | None = None,
    evidence: EvidenceFile | None = None,
    readers: TreeReaders | None = None,
) -> Iterator[tuple[Judge, ...]]:
    """Open the judges of verifier `name`, as a context manager that closes their engine.

    Consensus, and a hybrid of it that asks no language model, give two judges: the ordinary one, and a strict one whose
    fit saw no issue of the same repository. Every other verifier gives one. With `independent`, consensus counts copies as agreement of independent authors; without
    it, copies count as one opinion. With `calibrator`, verdicts carry probabilities. `prompt` is that of `load_verifier`,
    `evidence` the recorded tests for a verifier that judges by tests, and `readers` read the code that a prompt shows.

    Raises EngineDown, TemplateError and UnknownVerifier. Raises IncompatibleOptions when the verifier does not support
    the options of `voting`, or the calibrator belongs to another judge.
    """
    asking = partial(_open_plain_judges, name, choice, votes, voting, prompt, evidence)
    with asking(independent=independent, readers=readers) as asked:
        if calibrator is None:
            yield asked
            return
        run_name = build_run_name(name, voting, calibrator, shows_code=readers is not None)
        rules = AdmissionRules(edited_lines=voting.edited_lines)
        yield tuple(
            calibrate_judge(judge, calibrator, run_name, independent=independent, rules=rules)
            for judge in asked
        )


@contextmanager
def _open_plain_judges(  # noqa: PLR0913 - the options of the command
    name: str,
    choice: EngineChoice,
    votes: int,
    voting: VotingChoice,
    prompt: str | None,
    evidence: EvidenceFile | None,
    *,
    independent: bool,
    readers: TreeReaders | None,
) -> Iterator[tuple[Judge, ...]]:
    catalog.check_choice(name, voting, has_tests=evidence is not None)
    names = catalog.parse_verifier_name(name)
    run_name = build_run_name(name, voting, shows_code=readers is not None)
    rules = AdmissionRules(edited_lines=voting.edited_lines)
    if catalog.VOTING_VERIFIERS.isdisjoint(names):
        votes = 1  # a verifier without votes is asked once, so that its runs belong to one judge
    if names == (CONSENSUS,):
        fit = partial(build_consensus_judge, run_name, independent=independent, rules=rules)
        yield fit(strict=False), fit(strict=True)
        return
    with _open_engine(name, choice) as engine:
        if catalog.ENGINELESS_VERIFIERS.isdisjoint(names):
            whole = catalog.load_verifier(
                name, engine, prompt=prompt, voting=voting, readers=readers
            )
            yield (build_judge(run_name, whole, votes),)
            return
        prompts = judge_prompts.parse_prompts(prompt, names)

        def build(part: str, *, strict: bool) -> Part:
            if part == CONSENSUS:
                return build_consensus_part(strict=strict, independent=independent, rules=rules)
            if evidence is not None and part in catalog.EXECUTION_VERIFIERS:
                return build_execution_part(part, evidence, rules)
            return _build_engine_part(engine, voting, prompts, readers, part)

        def build_whole(*, strict: bool = False) -> Judge:
            parts = [build(part, strict=strict) for part in names]
            name = run_name + STRICT_SUFFIX * strict
            return replace(
                build_judge_of_parts(name, parts, votes, voting.shortlist), tests=evidence
            )

        has_twin = engine is None and CONSENSUS in names
        yield (build_whole(), build_whole(strict=True)) if has_twin else (build_whole(),)


@contextmanager
def _open_engine(name: str, choice: EngineChoice) -> Iterator[Engine | None]:
    if not catalog.needs_engine(name):
        yield None
        return
    with closing(catalog.load_engine(choice)) as engine:
        yield engine


def _build_engine_part(
    engine: Engine | None,
    voting: VotingChoice,
    prompts: Mapping[str, str],
    readers: TreeReaders | None,
    name: str,
) -> Part:
    """Build one part that asks a language model. Leave-one-out applies only to a part that shows rivals."""
    own = replace(voting, shortlist=None)
    if name not in catalog.GROUP_VERIFIERS:
        own = replace(own, leave_one_out=False)
    verifier = catalog.load_verifier(name, engine, prompt=prompts, voting=own, readers=readers)
    return Part(verifier.engine, lambda _group: verifier)


def calibrate_judge(
    judge: Judge,
    calibrator: CalibratorFile,
    name: str,
    *,
    independent: bool = True,
    rules: AdmissionRules = DEFAULT_RULES,
) -> Judge:
    """Return a judge whose verdicts are those of `judge` with the probabilities of `calibrator`.

    `name` is the run name of the new judge. The calibrator also receives the belief of consensus, from a fit that never
    saw the issue; `independent` and `rules` are options of that consensus. Raises IncompatibleOptions when the
    calibrator was fitted for another judge.
    """
    calibrator.check_engine(get_production_engine(judge.engine))
    strict = judge.verifier.endswith(STRICT_SUFFIX)
    beside = build_consensus_judge(strict=strict, independent=independent, rules=rules).verify

    def verify(group: LabelledGroup) -> GroupVerdict:
        return calibrator.calibrate(judge.verify(group), lambda: beside(group))

    return Judge(
        name + STRICT_SUFFIX * strict, judge.engine, judge.votes, verify, is_calibrated=True
    )


def get_production_engine(engine: EngineInfo) -> EngineInfo:
    """Convert the engine of an evaluation's judge to the one that the bot and `r4p verify` record.

    Only a consensus model's name changes: it names the fit on every issue in place of the fit with held-out issues.
    """
    from model.verifiers import consensus as verifiers

    everything = verifiers.build_shipped().engine.model
    model = engine.model.replace(COPIES_ARE_ONE, "")
    for held_out in (BLOCKS_HELD_OUT, REPOSITORIES_HELD_OUT):
        model = model.replace(held_out, everything)
    return replace(engine, model=model)


def build_judge(name: str, verifier: Verifier, votes: int) -> Judge:
    """Build a judge with run name `name` that shows `verifier` only the issue and the patches of a group."""

    def verify(group: LabelledGroup) -> GroupVerdict:
        return verifier.verify(group.issue, [patch.patch for patch in group.patches], votes=votes)

    return Judge(name, verifier.engine, votes, verify)


def build_consensus_judge(
    name: str = CONSENSUS,
    *,
    strict: bool,
    independent: bool = True,
    rules: AdmissionRules = DEFAULT_RULES,
) -> Judge:
    """Build a consensus judge whose fit never saw the group's block of issues.

    `strict`, `independent` and `rules` are those of `build_consensus_part`.
    """
    part = build_consensus_part(strict=strict, independent=independent, rules=rules)

    def verify(group: LabelledGroup) -> GroupVerdict:
        return part.build(group).verify(
            group.issue, [patch.patch for patch in group.patches], votes=0
        )

    return Judge(name + STRICT_SUFFIX * strict, part.engine, 0, verify)


def build_judge_of_parts(
    name: str, parts: Sequence[Part], votes: int, shortlist: int | None = None
) -> Judge:
    """Build a judge of one part, or of a hybrid's two parts, the first and the second verifier.

    `shortlist` is that of `HybridVerifier`.
    """
    from model.verifiers.hybrid import HybridVerifier, join_engines

    def verify(group: LabelledGroup) -> GroupVerdict:
        built = [part.build(group) for part in parts]
        verifier = built[0] if len(built) == 1 else HybridVerifier(built[0], built[1], shortlist)
        return verifier.verify(group.issue, [patch.patch for patch in group.patches], votes=votes)

    engines = [part.engine for part in parts]
    return Judge(name, engines[0] if len(parts) == 1 else join_engines(*engines), votes, verify)


def build_caution(name: str, groups: Sequence[LabelledGroup | JudgedGroup]) -> str | None:
    """Return a warning for the reader if consensus was trained on some of the groups; else None.

    `name` is the verifier's name in the catalogue. The result is None for a verifier without consensus.
    """
    if CONSENSUS not in catalog.parse_verifier_name(name):
        return None
    from model.rivals import consensus_model as learnt

    artefact = learnt.load_shipped()
    fits = [artefact.select_fit(group.repo, group.instance_id).name for group in groups]
    if not (seen_in_training := fits.count(learnt.EVERYTHING)):
        return None
    return (
        f"{seen_in_training} of {len(fits)} groups lie outside the blocks that were held out: the fit on all labelled issues judged "
        "them. Their metrics are honest only if consensus never learnt from these issues."
    )
