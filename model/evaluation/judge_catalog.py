"""Build judges for labelled groups from the verifiers of the catalogue. They show the issue and the patches only.

Consensus was trained on labelled issues, so its judge uses a fit that never saw the issue.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from model import catalog
from model.calibration.calibrator_file import CalibratorFile
from model.catalog import EngineChoice, VotingChoice
from model.domain import EngineInfo, GroupVerdict
from model.errors import BadGroups
from model.evaluation.judged_group import JudgedGroup, JudgementKey, build_judged_group
from model.evaluation.labelled_group import LabelledGroup
from model.protocols import Engine, Verifier
from model.verifiers import judge_prompts
from model.verifiers.admission import DEFAULT_RULES, AdmissionRules

CONSENSUS = "consensus"
"""Name of the verifier that was trained on labelled issues."""
COPIES_ARE_ONE = ", copies one opinion"
BLOCKS_HELD_OUT = "blocks of issues held out"
REPOSITORIES_HELD_OUT = "whole repositories held out"
LEAVE_ONE_OUT_SUFFIX = "-leave-one-out"
"""Suffix of the run name when the votes leave one rival out."""
MIN_LINES_SUFFIX = "-min-lines-"
"""Suffix of the run name when short patches are not judged; the number of lines follows."""
STRICT_SUFFIX = "-strict"
"""Suffix of the strict judge of consensus, whose fit saw no issue of the same repository."""
CALIBRATED_SUFFIX = "-calibrated-"
"""Suffix of the run name when a calibrator is applied; its digest follows."""
_WAYS = re.compile(
    f"({LEAVE_ONE_OUT_SUFFIX})?({MIN_LINES_SUFFIX}[0-9]+)?({CALIBRATED_SUFFIX}[0-9a-f]+)?({STRICT_SUFFIX})?$"
)


def build_run_name(
    name: str, voting: VotingChoice, calibrator: CalibratorFile | None = None
) -> str:
    """Build the run name of verifier `name`: its catalogue name with suffixes for the settings.

    The settings are leave-one-out, the minimum number of edited lines, and the calibrator's digest.
    """
    shorter = f"{MIN_LINES_SUFFIX}{voting.edited_lines}" if voting.edited_lines else ""
    weighed = f"{CALIBRATED_SUFFIX}{calibrator.digest}" if calibrator else ""
    return name + LEAVE_ONE_OUT_SUFFIX * voting.leave_one_out + shorter + weighed


def is_calibrated(verifier: str) -> bool:
    """Return whether the run name `verifier` says that a calibrator was applied."""
    return CALIBRATED_SUFFIX in verifier


def strip_suffixes(verifier: str) -> str:
    """Return the verifier's name in the catalogue: the run name `verifier` without its suffixes for settings."""
    return _WAYS.sub("", verifier, count=1)


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

    def key(self, group: LabelledGroup) -> JudgementKey:
        """Build the key under which a run file stores this judge's judgement of `group`."""
        return JudgementKey(group.id, self.verifier, self.engine, self.votes)

    def judge(self, group: LabelledGroup) -> JudgedGroup:
        """Judge `group` with the verifier, and return the verdicts with the group's labels. Raises EngineDown."""
        verdict = self.verify(group)
        return build_judged_group(group, verdict, self.key(group), calibrated=self.is_calibrated)


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
) -> Iterator[tuple[Judge, ...]]:
    """Open the judges of verifier `name`, as a context manager that closes their engine.

    Consensus gives two judges: the ordinary one, and a strict one whose fit saw no issue of the same repository. Every
    other verifier gives one. With `independent`, consensus counts copies as agreement of independent authors; without
    it, copies count as one opinion. With `calibrator`, verdicts carry probabilities. `prompt` is that of `load_verifier`.

    Raises EngineDown, TemplateError and UnknownVerifier. Raises IncompatibleOptions when the verifier does not support
    the options of `voting`, or the calibrator belongs to another judge.
    """
    asking = partial(_open_plain_judges, name, choice, votes, voting, prompt)
    with asking(independent=independent) as asked:
        if calibrator is None:
            yield asked
            return
        run_name = build_run_name(name, voting, calibrator)
        rules = AdmissionRules(edited_lines=voting.edited_lines)
        yield tuple(
            calibrate_judge(judge, calibrator, run_name, independent=independent, rules=rules)
            for judge in asked
        )


@contextmanager
def _open_plain_judges(
    name: str,
    choice: EngineChoice,
    votes: int,
    voting: VotingChoice,
    prompt: str | None,
    *,
    independent: bool,
) -> Iterator[tuple[Judge, ...]]:
    catalog.check_choice(name, voting)
    names = catalog.parse_verifier_name(name)
    run_name = build_run_name(name, voting)
    rules = AdmissionRules(edited_lines=voting.edited_lines)
    if catalog.VOTING_VERIFIERS.isdisjoint(names):
        votes = 1  # a verifier without votes is asked once, so that its runs belong to one judge
    if names == (CONSENSUS,):
        fit = partial(build_consensus_judge, run_name, independent=independent, rules=rules)
        yield fit(strict=False), fit(strict=True)
        return
    with closing(catalog.load_engine(choice)) as engine:
        if CONSENSUS not in names:
            whole = catalog.load_verifier(name, engine, prompt=prompt, voting=voting)
            yield (build_judge(run_name, whole, votes),)
            return
        build = partial(_build_part, engine, voting, judge_prompts.parse_prompts(prompt, names))
        parts = [None if part == CONSENSUS else build(part) for part in names]
        yield (build_hybrid_judge(run_name, parts, votes, independent=independent, rules=rules),)


def _build_part(
    engine: Engine, voting: VotingChoice, prompts: Mapping[str, str], name: str
) -> Verifier:
    """Build one part of a hybrid. Leave-one-out applies only to a part that shows rivals."""
    if name not in catalog.GROUP_VERIFIERS:
        voting = replace(voting, leave_one_out=False)
    return catalog.load_verifier(name, engine, prompt=prompts, voting=voting)


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

    With `strict`, the fit saw no issue of the group's repository. With `independent`, copies count as agreement of
    independent authors; without it, as one opinion. `rules` limit which patches are judged.
    """
    from model.verifiers import consensus as verifiers

    def verify(group: LabelledGroup) -> GroupVerdict:
        unseeing = verifiers.build_holdout(
            group.repo, group.instance_id, strict=strict, independent=independent, rules=rules
        )
        return unseeing.verify(group.issue, [patch.patch for patch in group.patches])

    held_out = REPOSITORIES_HELD_OUT if strict else BLOCKS_HELD_OUT
    held_out += "" if independent else COPIES_ARE_ONE
    engine = replace(verifiers.build_shipped().engine, model=held_out)
    return Judge(name + STRICT_SUFFIX * strict, engine, 0, verify)


def build_hybrid_judge(
    name: str,
    parts: Sequence[Verifier | None],
    votes: int,
    *,
    independent: bool = True,
    rules: AdmissionRules = DEFAULT_RULES,
) -> Judge:
    """Build a judge of a hybrid verifier from its two parts, the first and the second verifier.

    A part that is None stands for consensus with a fit that never saw the group's block of issues. `independent` and
    `rules` are options of that consensus, as in `build_consensus_judge`.
    """
    from model.verifiers import consensus as verifiers
    from model.verifiers.hybrid import HybridVerifier

    def with_fit(fit: Verifier) -> HybridVerifier:
        first, second = (part or fit for part in parts)
        return HybridVerifier(first, second)

    def verify(group: LabelledGroup) -> GroupVerdict:
        hybrid = with_fit(
            verifiers.build_holdout(
                group.repo, group.instance_id, independent=independent, rules=rules
            )
        )
        return hybrid.verify(group.issue, [patch.patch for patch in group.patches], votes=votes)

    held_out = BLOCKS_HELD_OUT + ("" if independent else COPIES_ARE_ONE)
    models = [part.engine.model if part else held_out for part in parts]
    engine = replace(with_fit(verifiers.build_shipped()).engine, model=" + ".join(models))
    return Judge(name, engine, votes, verify)


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
