"""An engine in this process, on a CPU or a GPU: Hugging Face transformers with a decode loop of its own.

The rows of a batch share the computation of their common prefix, and a batch reuses the prefix of the batch before.
Each row samples from a generator with its own seed. A seed fixes its reply except for rounding, which depends on
the other rows. Imports torch, so `model.catalog` imports this module on demand.

Shapes: B rows, T cached tokens with padding, S new tokens, V vocabulary, H query heads, K key heads, D head width.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers

from model.engines import local_decoding
from model.errors import EngineDown, EngineError, EngineTimeout, NoTools
from model.prompts.special_tokens import SpecialTokens, read_special_tokens
from model.protocols import Completion, Message, Request, Token

BATCH_ROWS, GPU_BATCH_ROWS = 8, 32
"""Rows decoded together. A step reads the weights once for all rows, and the keys and values once per row."""


@dataclass(slots=True)
class _Batch:
    """The state of several rows: keys and values, the mask of real tokens (B, T), and the next positions (B, 1)."""

    cache: Any
    mask: Any
    positions: Any


@dataclass(slots=True)
class _Row:
    """One running request."""

    request: Request
    feed: list[int]
    """Tokens that the model has not read yet."""
    prompt_tokens: int
    cached_tokens: int
    tokens: list[int] = field(default_factory=list)
    report: list[Token] = field(default_factory=list)
    """The same tokens with their alternatives, when the request asks for them."""
    finished: bool = False
    deadline: float = math.inf  # on the monotonic clock
    is_late: bool = False


class LocalTransformers:
    """Engine that runs the model in `directory`, a saved bf16 copy with its tokenizer."""

    name = "local_transformers"

    def __init__(
        self,
        directory: Path,
        *,
        model: str,
        context_tokens: int = 8192,
        device: str = "cpu",
        tokenizer: Path | None = None,
        on_token: Callable[[int], None] = lambda _done: None,
    ) -> None:
        """Load torch, the tokenizer and the weights. Raises EngineDown when the directory holds no usable model.

        `model` is the name that the engine reports, and `device` is torch's name, such as `cuda`. `tokenizer` is the
        tokenizer's directory where it is not `directory`, as for a LoRA adapter; the adapter is applied to the base
        model that its config names. `on_token(n)` is called after decode step n of a batch, from 1 on.
        """
        self.model = model
        self.context_tokens = context_tokens
        transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self._on_token = on_token
        self._lock = threading.Lock()
        # MKL then stays with this number of threads
        torch.set_num_threads(torch.get_num_threads())
        self._device = torch.device(device)
        on_cpu = self._device.type == "cpu"
        # new tensors lie on the device; on a CPU the context would only cost time in each step
        self._place: AbstractContextManager[Any] = nullcontext() if on_cpu else self._device
        self._batch_rows = BATCH_ROWS if on_cpu else GPU_BATCH_ROWS
        try:
            load_tokenizer = transformers.AutoTokenizer.from_pretrained
            self._tokenizer: Any = load_tokenizer(tokenizer or directory)
            attention = local_decoding.register_grouped_attention()
            weights: Any = transformers.AutoModelForCausalLM.from_pretrained(
                directory, dtype=torch.bfloat16, attn_implementation=attention
            )
            self._weights: Any = weights.to(self._device).eval()
        except (OSError, ValueError, ImportError) as error:
            raise EngineDown(f"no usable model in {directory}: {error}") from error
        self._special_tokens = read_special_tokens(self._tokenizer)
        # chat models end a turn by another token than a text; the configuration holds an int or a list
        ends = self._weights.generation_config.eos_token_id
        self._ends = {*(ends if isinstance(ends, list) else [ends]), self._tokenizer.eos_token_id}
        # any valid id serves as padding, since the mask hides it
        self._pad: int = next(end for end in self._ends if end is not None)
        self._kept: tuple[list[_Row], _Batch] | None = None
        self._prefix = local_decoding.CachedPrefix([], transformers.DynamicCache())

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens of the model's own tokenizer."""
        return self._special_tokens

    def count_tokens(self, text: str) -> int:
        """Return the exact number of tokens in `text`, by the model's own tokenizer."""
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return one completion or error per request, in order. A request longer than the context gets an error."""
        if any(request.tools for request in requests):
            return [NoTools(f"{self.name} offers no tools")] * len(requests)
        began = time.monotonic()
        # one lock: the kept batch and the prefix cache belong to one call at a time
        with self._lock, torch.inference_mode(), self._place:
            answers: dict[int, Completion | EngineError] = {}
            rows = self._continue(requests, began)
            fresh: dict[int, _Row] = {}
            for index, request in enumerate(requests):
                if index not in rows:
                    row = self._build_row(request, began)
                    if row.prompt_tokens + request.max_tokens > self.context_tokens:
                        answers[index] = EngineError(
                            f"prompt of {row.prompt_tokens} tokens and reply of {request.max_tokens} exceed "
                            f"the context of {self.context_tokens}"
                        )
                    else:
                        fresh[index] = row
            # sorted prompts put rows with a long common prefix into one batch
            order = sorted(fresh, key=lambda index: fresh[index].feed)
            for start in range(0, len(order), self._batch_rows):
                self._start([fresh[index] for index in order[start : start + self._batch_rows]])
            rows.update(fresh)
            answers.update((index, self._build_completion(row)) for index, row in rows.items())
            return [answers[index] for index in range(len(requests))]

    def close(self) -> None:
        """Free the model's weights, and the attention keys and values of the last call."""
        self._weights = self._tokenizer = self._kept = self._prefix = None  # type: ignore[assignment]

    def _build_row(self, request: Request, began: float) -> _Row:
        ids = self._tokenizer(
            self._render_chat(request.messages) + (request.prefill or ""), add_special_tokens=False
        )["input_ids"]
        return _Row(request, ids, len(ids), 0, deadline=_get_deadline(request, began))

    def _render_chat(self, messages: tuple[Message, ...]) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        render = self._tokenizer.apply_chat_template
        return str(render(turns, add_generation_prompt=True, tokenize=False))

    def _build_completion(self, row: _Row) -> Completion | EngineTimeout:
        if row.is_late:
            return EngineTimeout(
                f"{self.name} had decoded {len(row.tokens)} tokens when time was up"
            )
        return Completion(
            text=self._decode_text(row),
            finished=row.finished,
            prompt_tokens=row.prompt_tokens,
            cached_tokens=row.cached_tokens,
            completion_tokens=len(row.tokens),
            tokens=tuple(row.report),
            token_ids=tuple(row.tokens) if row.request.token_ids else (),
        )

    def _decode_text(self, row: _Row) -> str:
        return str(self._tokenizer.decode(row.tokens, skip_special_tokens=True))

    def _start(self, rows: list[_Row]) -> None:
        """Read the prompts, their common prefix once, and decode."""
        shared = local_decoding.count_common_prefix([row.feed for row in rows])
        cached = self._cache_prefix(rows[0].feed[:shared])
        batch = _Batch(
            self._prefix.first(shared),
            torch.ones(len(rows), shared, dtype=torch.long),
            torch.full((len(rows), 1), shared),
        )
        # keys and values (1, K, T, D) -> (B, K, T, D); an empty cache has no tensor to repeat
        if shared:
            batch.cache.batch_repeat_interleave(len(rows))
        for index, row in enumerate(rows):
            row.feed = row.feed[shared:]
            # the first row pays for the shared prefix, as far as no earlier batch did
            row.cached_tokens = shared if index else cached
        self._decode(rows, batch)

    def _cache_prefix(self, tokens: list[int]) -> int:
        """Cache a prefix for the next batch. Return how many of its tokens were cached before."""
        cached = local_decoding.count_equal_prefix(tokens, self._prefix.tokens)
        if cached < len(tokens):
            cache = self._prefix.first(cached)
            ones = torch.ones(1, cached, dtype=torch.long)
            self._feed(_Batch(cache, ones, torch.full((1, 1), cached)), [tokens[cached:]])
            self._prefix = local_decoding.CachedPrefix(tokens, cache)
        return cached

    def _continue(self, requests: Sequence[Request], began: float) -> dict[int, _Row]:
        """Continue replies of the last call whose keys and values are still cached."""
        if self._kept is None:
            return {}
        kept, batch = self._kept
        self._kept = None  # decoding writes into the cache, so nobody may continue from it again
        matches: dict[int, tuple[int, str]] = {}
        free = dict(enumerate(kept))
        for position, request in enumerate(requests):
            for kept_index, row in free.items():
                reply = (row.request.prefill or "") + self._decode_text(row)
                opened = request.prefill or ""
                if row.request.messages == request.messages and reply and opened.startswith(reply):
                    matches[position] = (kept_index, opened[len(reply) :])
                    del free[kept_index]
                    break
        if not matches:
            return {}
        rows = {}
        for position, (kept_index, more) in matches.items():
            old, request = kept[kept_index], requests[position]
            # the last sampled token is in `feed`: the model has not read it, so it is not cached
            seen = old.prompt_tokens + len(old.tokens) - len(old.feed)
            ids = old.feed + self._tokenizer(more, add_special_tokens=False)["input_ids"]
            until = _get_deadline(request, began)
            rows[position] = _Row(request, ids, seen + len(ids), seen, deadline=until)
        chosen = torch.tensor([kept_index for kept_index, _ in matches.values()])
        batch.cache.batch_select_indices(chosen)  # (B, K, T, D) -> (rows that continue, K, T, D)
        batch.mask, batch.positions = batch.mask[chosen], batch.positions[chosen]
        self._decode(list(rows.values()), batch)
        return rows

    def _decode(self, rows: list[_Row], batch: _Batch) -> None:
        """Sample until every row has ended or is full. Tokens that the model has not read stay in `feed`."""
        # one generator per row: a reply does not depend on how many draws the other rows make
        seeds = [row.request.seed & (2**63 - 1) for row in rows]
        generators = [torch.Generator(self._device).manual_seed(seed) for seed in seeds]
        step = 0
        while any(_is_open(row) for row in rows):
            # finished rows stay in the batch as padding: dropping them would copy the whole cache
            logits = self._feed(batch, [row.feed if _is_open(row) else [] for row in rows])
            for row, scores, generator in zip(rows, logits, generators, strict=True):
                if not _is_open(row):
                    continue
                token = local_decoding.sample_token(scores, row.request.temperature, generator)
                row.finished = token in self._ends
                row.feed = [] if row.finished else [token]
                row.tokens.extend(row.feed)
                if row.feed and row.request.top_logprobs:
                    row.report.append(self._report_token(scores, token, row.request.top_logprobs))
                row.is_late = not row.finished and time.monotonic() > row.deadline
            step += 1
            self._on_token(step)
        self._kept = (rows, batch)

    def _feed(self, batch: _Batch, ids: list[list[int]]) -> Any:
        """Feed each row its new tokens, padded on the left, and return the logits (B, V) of the next token."""
        width = max(map(len, ids))  # S
        tokens = torch.tensor([[self._pad] * (width - len(row)) + row for row in ids])
        real = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids])  # (B, S)
        # padding enters the cache as well; the mask (B, T + S) hides it from every later step
        batch.mask = torch.cat([batch.mask, real], dim=1)
        # rotary positions (B, S) count real tokens only, or padding would shift a row against its own cache
        positions = batch.positions + (real.cumsum(1) - 1).clamp(min=0)
        batch.positions = batch.positions + real.sum(1, keepdim=True)
        output = self._weights(
            input_ids=tokens,
            attention_mask=batch.mask,
            position_ids=positions,
            past_key_values=batch.cache,
            use_cache=True,
            logits_to_keep=1,  # the vocabulary projection (B, S, V) is the largest tensor; one row of it is enough
        )
        # (B, 1, V) -> (B, V); bfloat16 has 8 bits of precision, too few to compare close logits
        return output.logits[:, -1].float()

    def _report_token(self, scores: Any, token: int, most: int) -> Token:
        """Return a token with the likeliest tokens, in the model's probabilities before temperature and top-p."""
        log_probabilities = scores.log_softmax(-1)
        top = log_probabilities.topk(most)
        texts = [self._tokenizer.decode([token_id]) for token_id in [token, *top.indices.tolist()]]
        return Token(
            texts[0],
            float(log_probabilities[token]),
            tuple(zip(texts[1:], top.values.tolist(), strict=True)),
        )


def _is_open(row: _Row) -> bool:
    return not (row.finished or row.is_late) and len(row.tokens) < row.request.max_tokens


def _get_deadline(request: Request, began: float) -> float:
    return math.inf if request.seconds is None else began + request.seconds
