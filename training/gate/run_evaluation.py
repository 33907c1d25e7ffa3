"""Measure a trained model and the champion on the same groups, and store the gate's decision."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from app.learning.gate_rules import Rules
from app.learning.model_serving import IN_PROCESS
from model import catalog
from model.adapters import adapter_files, adapter_server
from model.adapters.adapter_server import NamedAdapter, Replica
from model.catalog import EngineChoice, VotingChoice
from model.errors import BadAdapter, EngineDown, EngineError
from model.protocols import Engine
from model.verifiers import judge_prompts
from training.curation.splits import REPOSITORIES, TEST, TRAIN
from training.datasets import dataset
from training.datasets.groups import LabelSource, TrainingGroup
from training.evaluation import metrics
from training.evaluation.evaluation_replies import ReplySettings, collect_replies
from training.evaluation.metrics import GroupReplies
from training.gate import gate_decision, gate_facts, gate_file
from training.gate.gate_decision import GateDecision
from training.gate.gate_facts import ChampionComparison, ProvenanceCheck, StepHealth
from training.gate.gate_file import MeasurementKey
from training.labels.labels import RULE_VERSION
from training.plans.plan import TrainingMethod
from training.runs import provenance, run_folder
from training.runs.run_folder import BadRun

MEASURED = "-measured"
"""Suffix of the served name during measurement. The name of a serving model stays untouched."""


@dataclass(frozen=True, slots=True)
class EvaluationServer:
    """A vLLM server of the base model, and of the champion where it is another model."""

    url: str
    base: str
    """Served name of the base."""
    champion: str | None = None
    """Served name of the champion; None for the base."""
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """A request to compare a run's model with the champion: the run, the dataset and the settings."""

    run: Path
    data: Path
    """Folder of the dataset to measure on."""
    server: EvaluationServer | None = None
    """None to measure in this process, against the base."""
    splits: tuple[str, ...] = ()
    """Splits to measure on; empty for TEST and REPOSITORIES where they exist."""
    learnt_from: Path | None = None
    """Folder of the training dataset; None for `data`."""
    limit: int | None = None
    """Most groups of a split."""
    verifier: str = "r4p"
    reply_tokens: int | None = None
    reply_settings: ReplySettings = field(default_factory=ReplySettings)
    rules: Rules = field(default_factory=Rules)


ProgressCallback = Callable[[str, int, int], None]
"""Receives the role, the number of finished groups, and the number of all groups."""


def evaluate_run(
    request: EvaluationRequest, on_progress: ProgressCallback = lambda _who, _done, _of: None
) -> GateDecision:
    """Compare a run's model with the champion and return the gate's decision. Writes evaluation.json and gate.json.

    Raises BadRun, BadDataset and BadAdapter for unreadable folders, UnknownVerifier, and EngineError when the engine is
    down or too many groups are unanswered. After an error the files stay as they were.
    """
    catalog.check_choice(request.verifier, VotingChoice())
    sets = _read_sets(request)
    provenance = _check_provenance(request, sets)
    directory = request.run / run_folder.ADAPTER
    if provenance.status != run_folder.RunStatus.FINISHED:
        return _write_decision(
            request, provenance, gate_decision.build_refusal(provenance.status, request.rules), []
        )
    try:
        objections = adapter_files.find_objections(directory)
        comparisons = [] if objections else _compare_sets(request, sets, on_progress)
    except BadAdapter as error:
        objections, comparisons = (str(error),), []
    decision = gate_decision.decide_gate(provenance, objections, comparisons, request.rules)
    return _write_decision(request, provenance, decision, comparisons)


def _read_sets(request: EvaluationRequest) -> dict[str, list[TrainingGroup]]:
    """Read the groups to measure on, by split and label source, in a fixed order."""
    there = dataset.read_manifest(request.data).splits
    splits = request.splits or tuple(split for split in (TEST, REPOSITORIES) if split in there)
    sets = {}
    for split in splits:
        groups = sorted(dataset.read_split(request.data, split), key=lambda group: group.key)[
            : request.limit
        ]
        for source, source_groups in metrics.split_by_source(groups).items():
            name = source.value if split == TEST else f"{source.value}, {split}"
            sets[name] = source_groups
    return sets


def _check_provenance(
    request: EvaluationRequest, sets: Mapping[str, Sequence[TrainingGroup]]
) -> ProvenanceCheck:
    result = run_folder.read_result(request.run)
    if result is None:
        raise BadRun(
            f"{request.run} holds no finished run; continue it with r4p train run --resume"
        )
    if result.ended_at is None:
        raise BadRun(f"{request.run} has no end time, which the model's name needs; train it anew")
    groups = [group for set_groups in sets.values() for group in set_groups]
    by_outcomes = any(group.source is LabelSource.OUTCOMES for group in groups)
    manifest = dataset.read_manifest(request.data)
    taught, noted = _find_training_data(request), provenance.read_provenance(request.run)
    directory = request.run / run_folder.ADAPTER
    return ProvenanceCheck(
        status=result.status if result.status == "finished" else f"{result.status}: {result.why}",
        steps=tuple(_convert_step(step) for step in run_folder.read_steps(request.run)),
        samples=result.trainer == TrainingMethod.GRPO,
        adapter=result.adapter_sha256 or "none",
        adapter_now=adapter_files.hash_adapter(directory) if directory.is_dir() else "none",
        dataset=noted.digest,
        dataset_now=dataset.read_manifest(taught).digest,
        label_rule=manifest.rules.get("labels") if by_outcomes else None,
        label_rule_now=RULE_VERSION,
        trained_on=frozenset(noted.issues)
        | {group.issue for group in dataset.read_split(taught, TRAIN)},
        measured_on=frozenset(group.issue for group in groups),
    )


def _find_training_data(request: EvaluationRequest) -> Path:
    """Find the training dataset, which shows leaks. Raises BadRun when it has to be named."""
    noted = provenance.read_provenance(request.run).digest
    if request.learnt_from is None and dataset.read_manifest(request.data).digest != noted:
        raise BadRun(
            f"{request.run} did not learn from {request.data} but from dataset {noted[:12]}; name that one with "
            "--learnt-from, so that no issue is trained on and measured on"
        )
    return request.learnt_from or request.data


def _compare_sets(
    request: EvaluationRequest,
    sets: Mapping[str, Sequence[TrainingGroup]],
    on_progress: ProgressCallback,
) -> list[ChampionComparison]:
    groups = [group for set_groups in sets.values() for group in set_groups]
    if not groups:
        return []
    ask = _ask_server if request.server else _ask_here
    candidate, champion = ask(request, groups, on_progress)
    answers = dict(
        zip((group.key for group in groups), zip(candidate, champion, strict=True), strict=True)
    )
    return [
        gate_facts.compare_answered(
            name, [answers[group.key] for group in set_groups], request.rules
        )
        for name, set_groups in sets.items()
    ]


_Heard = tuple[list[GroupReplies], list[GroupReplies]]


def _ask_server(
    request: EvaluationRequest, groups: Sequence[TrainingGroup], on_progress: ProgressCallback
) -> _Heard:
    """Ask candidate and champion on one server. The candidate is loaded only for the measurement."""
    server = request.server
    if server is None:
        raise ValueError("no server was named")
    replica = Replica(server.url, server.api_key)
    directory = (request.run / run_folder.ADAPTER).resolve()
    sha256 = adapter_files.hash_adapter(directory)
    # a name of its own: serving the same bytes may start or stop meanwhile
    name = f"{adapter_files.build_run_adapter_name(request.run, sha256)}{MEASURED}"
    servable = NamedAdapter(name, server.base, directory, sha256)
    _unload_quietly(replica, name)  # a killed measurement may have left the adapter loaded
    try:
        _load(replica, servable, request.run / run_folder.PROBE)
        replies = []
        for role, model in (
            ("candidate", servable.name),
            ("champion", server.champion or server.base),
        ):
            choice = EngineChoice("openai_compatible", model, server.url, server.api_key)
            replies.append(
                _collect(
                    request,
                    catalog.load_engine(choice),
                    groups,
                    _build_counter(on_progress, role, len(groups)),
                )
            )
    finally:
        _unload_quietly(replica, name)
    return replies[0], replies[1]


def _unload_quietly(replica: Replica, name: str) -> None:
    with suppress(EngineError):  # a failed unload must not lose the measurement
        adapter_server.unload_adapter(replica, name)


def _load(replica: Replica, servable: NamedAdapter, probe: Path) -> None:
    """Load the adapter. Raises BadAdapter when the server refuses or changes it, EngineDown when it is down."""
    try:
        adapter_server.load_adapter([replica], servable, adapter_files.read_probe(probe))
    except EngineDown:
        raise
    except EngineError as error:
        raise BadAdapter(str(error)) from error


def _ask_here(
    request: EvaluationRequest, groups: Sequence[TrainingGroup], on_progress: ProgressCallback
) -> _Heard:
    """Ask candidate and champion in this process, one after the other."""
    from model.engines.local_transformers import LocalTransformers

    result = run_folder.read_result(request.run)
    base = Path(result.base if result else "")
    replies = []
    for role, directory in (("candidate", request.run / run_folder.ADAPTER), ("champion", base)):
        engine = LocalTransformers(directory, model=directory.name, tokenizer=base)
        replies.append(
            _collect(request, engine, groups, _build_counter(on_progress, role, len(groups)))
        )
    return replies[0], replies[1]


def _collect(
    request: EvaluationRequest,
    engine: Engine,
    groups: Sequence[TrainingGroup],
    on_group: Callable[[], None],
) -> list[GroupReplies]:
    with closing(engine):
        verifier = catalog.load_verifier(
            request.verifier,
            engine,
            prompt=judge_prompts.choose_trained_prompt(request.run),
            reply_tokens=request.reply_tokens,
        )
        return collect_replies(verifier, groups, request.reply_settings, on_group)


def _build_counter(on_progress: ProgressCallback, role: str, total: int) -> Callable[[], None]:
    done = iter(range(1, total + 1))
    return lambda: on_progress(role, next(done), total)


def _write_decision(
    request: EvaluationRequest,
    provenance: ProvenanceCheck,
    decision: GateDecision,
    compared: Sequence[ChampionComparison],
) -> GateDecision:
    server = request.server
    measured = MeasurementKey(
        adapter=provenance.adapter_now,
        learnt_from=provenance.dataset,
        dataset=dataset.read_manifest(request.data).digest,
        champion=(server.champion or server.base) if server else IN_PROCESS,
        verifier=request.verifier,
        votes=request.reply_settings.votes,
    )
    gate_file.write_decision(request.run, decision, measured, compared)
    return decision


def _convert_step(step: run_folder.TrainingStep) -> StepHealth:
    clips = [value for value in (step.clip_low, step.clip_high) if value is not None]
    names = tuple(
        name.replace("clip_low", "clipped").replace("clip_high", "clipped")
        for name in step.not_finite
    )
    return StepHealth(step.loss, step.entropy, sum(clips) if clips else None, names)
