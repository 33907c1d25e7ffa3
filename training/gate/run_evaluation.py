"""A trained model and the champion on the same groups, and what the gate says of it; both are left in the run's folder."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from app.learning.gate_rules import Rules
from app.learning.model_serving import IN_PROCESS
from model import catalog
from model.adapters import adapter_files, adapter_server
from model.adapters.adapter_server import Replica, Servable
from model.catalog import EngineChoice, VotingChoice
from model.errors import BadAdapter, EngineDown, EngineError
from model.protocols import Engine
from training.curation.splits import REPOSITORIES, TEST, TRAIN
from training.datasets import dataset
from training.datasets.groups import LabelSource, TrainingGroup
from training.evaluation import metrics
from training.evaluation.evaluation_replies import Hearing, hear
from training.evaluation.metrics import Heard
from training.gate import comparison, gate_decision, gate_file
from training.gate.gate_decision import Gate
from training.gate.gate_facts import Compared, Provenance, Step
from training.gate.gate_file import Measured
from training.labels.labels import RULE_VERSION
from training.plans.plan import Trainer
from training.runs import provenance, run_folder
from training.runs.run_folder import BadRun

MEASURED = "-measured"
"""What is measured is served under a name of its own: who judges by the same bytes may come and go meanwhile."""


@dataclass(frozen=True, slots=True)
class Server:
    """A vLLM that serves the base, and the champion where that is another one."""

    url: str
    base: str
    """The served name."""
    champion: str | None = None
    """The served name; None: the base."""
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be measured, and how."""

    run: Path
    data: Path
    """The dataset to measure on."""
    server: Server | None = None
    """None: in this process, against the base."""
    splits: tuple[str, ...] = ()
    """Empty: those of TEST and REPOSITORIES that there are."""
    learnt_from: Path | None = None
    """The dataset that the run learnt from; None: the same."""
    limit: int | None = None
    """Groups of a split."""
    verifier: str = "r4p"
    reply_tokens: int | None = None
    hearing: Hearing = field(default_factory=Hearing)
    rules: Rules = field(default_factory=Rules)


Tell = Callable[[str, int, int], None]
"""Who judges, how many groups are done, of how many."""


def evaluate(wanted: Wanted, tell: Tell = lambda _who, _done, _of: None) -> Gate:
    """Measure a run and decide; writes evaluation.json and gate.json. Twice writes them anew.

    Raises BadRun, BadDataset and BadAdapter for folders that can't be read, UnknownVerifier, and EngineError when there
    is nobody to ask or too much was not answered: then nothing is decided.
    """
    catalog.check(wanted.verifier, VotingChoice())
    sets = _sets(wanted)
    provenance = _provenance(wanted, sets)
    directory = wanted.run / run_folder.ADAPTER
    if provenance.status != run_folder.Status.FINISHED:
        return _decided(
            wanted, provenance, gate_decision.refusal(provenance.status, wanted.rules), []
        )
    try:
        objections = adapter_files.objections(directory)
        compared = [] if objections else _compared(wanted, sets, tell)
    except BadAdapter as error:
        objections, compared = (str(error),), []
    decided = gate_decision.decide(provenance, objections, compared, wanted.rules)
    return _decided(wanted, provenance, decided, compared)


def _sets(wanted: Wanted) -> dict[str, list[TrainingGroup]]:
    """Groups to measure on, apart by split and by who labelled them; the same ones each time."""
    there = dataset.manifest(wanted.data).splits
    splits = wanted.splits or tuple(one for one in (TEST, REPOSITORIES) if one in there)
    found = {}
    for split in splits:
        groups = sorted(dataset.read(wanted.data, split), key=lambda one: one.key)[: wanted.limit]
        for source, of in metrics.by_source(groups).items():
            name = source.value if split == TEST else f"{source.value}, {split}"
            found[name] = of
    return found


def _provenance(wanted: Wanted, sets: Mapping[str, Sequence[TrainingGroup]]) -> Provenance:
    result = run_folder.result(wanted.run)
    if result is None:
        raise BadRun(f"{wanted.run} holds no run that has ended; go on with r4p train run --resume")
    if result.ended_at is None:
        raise BadRun(
            f"{wanted.run} does not say when its run ended, as a name has to; train it anew"
        )
    groups = [group for of in sets.values() for group in of]
    by_outcomes = any(one.source is LabelSource.OUTCOMES for one in groups)
    manifest = dataset.manifest(wanted.data)
    taught, noted = _learnt_from(wanted), provenance.read(wanted.run)
    directory = wanted.run / run_folder.ADAPTER
    return Provenance(
        status=result.status if result.status == "finished" else f"{result.status}: {result.why}",
        steps=tuple(_step(one) for one in run_folder.steps(wanted.run)),
        samples=result.trainer == Trainer.GRPO,
        adapter=result.adapter_sha256 or "none",
        adapter_now=adapter_files.sha256_of(directory) if directory.is_dir() else "none",
        dataset=noted.digest,
        dataset_now=dataset.manifest(taught).digest,
        label_rule=manifest.rules.get("labels") if by_outcomes else None,
        label_rule_now=RULE_VERSION,
        trained_on=frozenset(noted.issues) | {one.issue for one in dataset.read(taught, TRAIN)},
        measured_on=frozenset(one.issue for one in groups),
    )


def _learnt_from(wanted: Wanted) -> Path:
    """The folder of what was trained on, by which a leak is seen. Raises BadRun where it has to be named."""
    noted = provenance.read(wanted.run).digest
    if wanted.learnt_from is None and dataset.manifest(wanted.data).digest != noted:
        raise BadRun(
            f"{wanted.run} did not learn from {wanted.data} but from dataset {noted[:12]}; name that one with "
            "--learnt-from, so that no issue is trained on and measured on"
        )
    return wanted.learnt_from or wanted.data


def _compared(
    wanted: Wanted, sets: Mapping[str, Sequence[TrainingGroup]], tell: Tell
) -> list[Compared]:
    groups = [group for of in sets.values() for group in of]
    if not groups:
        return []
    ask = _ask_server if wanted.server else _ask_here
    candidate, champion = ask(wanted, groups, tell)
    answers = dict(
        zip((one.key for one in groups), zip(candidate, champion, strict=True), strict=True)
    )
    return [
        comparison.answered(name, [answers[one.key] for one in of], wanted.rules)
        for name, of in sets.items()
    ]


_Heard = tuple[list[Heard], list[Heard]]


def _ask_server(wanted: Wanted, groups: Sequence[TrainingGroup], tell: Tell) -> _Heard:
    """Both by name on one server, which is given the candidate for as long as this takes."""
    server = wanted.server
    if server is None:
        raise ValueError("no server was named")
    replica = Replica(server.url, server.api_key)
    directory = (wanted.run / run_folder.ADAPTER).resolve()
    sha256 = adapter_files.sha256_of(directory)
    name = f"{adapter_files.name_of_run(wanted.run, sha256)}{MEASURED}"
    servable = Servable(name, server.base, directory, sha256)
    _forget(replica, name)  # what was killed may have left it
    try:
        _load(replica, servable, wanted.run / run_folder.PROBE)
        said = []
        for who, model in (
            ("candidate", servable.name),
            ("champion", server.champion or server.base),
        ):
            choice = EngineChoice("openai_compatible", model, server.url, server.api_key)
            said.append(
                _said(wanted, catalog.engine(choice), groups, _telling(tell, who, len(groups)))
            )
    finally:
        _forget(replica, name)
    return said[0], said[1]


def _forget(replica: Replica, name: str) -> None:
    with suppress(EngineError):  # what was measured is not lost for that
        adapter_server.unload(replica, name)


def _load(replica: Replica, servable: Servable, probe: Path) -> None:
    """Raises BadAdapter for one that the server refuses, or serves otherwise than it was trained; else EngineDown."""
    try:
        adapter_server.load([replica], servable, adapter_files.probe_of(probe))
    except EngineDown:
        raise
    except EngineError as error:
        raise BadAdapter(str(error)) from error


def _ask_here(wanted: Wanted, groups: Sequence[TrainingGroup], tell: Tell) -> _Heard:
    """Both in this process, one after the other."""
    from model.engines.local_transformers import LocalTransformers

    result = run_folder.result(wanted.run)
    base = Path(result.base if result else "")
    said = []
    for who, directory in (("candidate", wanted.run / run_folder.ADAPTER), ("champion", base)):
        engine = LocalTransformers(directory, model=directory.name, tokenizer=base)
        said.append(_said(wanted, engine, groups, _telling(tell, who, len(groups))))
    return said[0], said[1]


def _said(
    wanted: Wanted, engine: Engine, groups: Sequence[TrainingGroup], on_group: Callable[[], None]
) -> list[Heard]:
    with closing(engine):
        verifier = catalog.verifier(wanted.verifier, engine, reply_tokens=wanted.reply_tokens)
        return hear(verifier, groups, wanted.hearing, on_group)


def _telling(tell: Tell, who: str, of: int) -> Callable[[], None]:
    done = iter(range(1, of + 1))
    return lambda: tell(who, next(done), of)


def _decided(
    wanted: Wanted, provenance: Provenance, decided: Gate, compared: Sequence[Compared]
) -> Gate:
    server = wanted.server
    measured = Measured(
        adapter=provenance.adapter_now,
        learnt_from=provenance.dataset,
        dataset=dataset.manifest(wanted.data).digest,
        champion=(server.champion or server.base) if server else IN_PROCESS,
        verifier=wanted.verifier,
        votes=wanted.hearing.votes,
    )
    gate_file.write(wanted.run, decided, measured, compared)
    return decided


def _step(one: run_folder.Step) -> Step:
    clips = [value for value in (one.clip_low, one.clip_high) if value is not None]
    names = tuple(
        name.replace("clip_low", "clipped").replace("clip_high", "clipped")
        for name in one.not_finite
    )
    return Step(one.loss, one.entropy, sum(clips) if clips else None, names)
