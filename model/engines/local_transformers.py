"""An engine on this machine's CPU: Hugging Face transformers with a batched decode loop of its own.

The rows of a batch share the computation of their common prefix, and a batch reuses the prefix of the batch before.
Each row samples from a generator with its own seed. A seed fixes its reply except for rounding, which depends on
the other rows. Imports torch, so `model.catalog` imports this module on demand.

Shapes: B rows, T cached tokens with padding, S new tokens, V vocabulary, H query heads, K key heads, D head width.
"""

import copy
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers

from model.engines import local_decoding
from model.errors import EngineDown, EngineError, EngineTimeout, NoTools
from model.protocols import Completion, Message, Request, Token

BATCH_ROWS = 8
"""Rows decoded together. A step reads the weights once for all rows, and the keys and values once per row."""
TOP_K = 20
TOP_P = 0.8
"""Sampling defaults of Qwen2.5, with TOP_K. Below 1B parameters the tail of the distribution is noise."""


@dataclass(slots=True)
class _Batch:
    """The state of several rows: keys and values, the mask of real tokens (B, T), and the next positions (B, 1)."""

    cache: Any
    mask: Any
    positions: Any


@dataclass(frozen=True, slots=True)
class _Prefix:
    """The cached keys and values of one prefix with its tokens. Nobody writes into it."""

    tokens: list[int]
    cache: Any

    def first(self, length: int) -> Any:
        """Return a writable cache of the first `length` tokens."""
        if not length:
            return transformers.DynamicCache()
        cache = copy.copy(self.cache)
        cache.layers = [copy.copy(layer) for layer in self.cache.layers]
        if length < len(self.tokens):
            cache.crop(length)
        return cache


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
    deadline: float = math.inf
    """Deadline on the monotonic clock."""
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
        threads: int | None = None,
        tokenizer: Path | None = None,
        on_token: Callable[[int], None] = lambda _done: None,
    ) -> None:
        """Load torch, the tokenizer and the weights. Raises EngineDown when the directory holds no usable model.

        `threads`: None keeps torch's default. `tokenizer`: its directory when it differs, as for a LoRA adapter,
        which is applied to the base that it names. `on_token(n)` is called after each decode step, from 1 on.
        """
        self.model = model
        self.context_tokens = context_tokens
        transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self._on_token = on_token
        self._lock = threading.Lock()
        torch.set_num_threads(threads or torch.get_num_threads())
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
                tokenizer or directory
            )
            self._weights: Any = transformers.AutoModelForCausalLM.from_pretrained(
                directory,
                dtype=torch.bfloat16,
                attn_implementation=local_decoding.register_grouped_attention(),
            ).eval()  # type: ignore[no-untyped-call]
        except (OSError, ValueError, ImportError) as error:
            raise EngineDown(f"no usable model in {directory}: {error}") from error
        ends = self._weights.generation_config.eos_token_id
        self._ends = {*(ends if isinstance(ends, list) else [ends]), self._tokenizer.eos_token_id}
        self._pad: int = next(end for end in self._ends if end is not None)
        self._kept: tuple[list[_Row], _Batch] | None = None
        self._prefix = _Prefix([], transformers.DynamicCache())

    def count_tokens(self, text: str) -> int:
        """Count exactly, by the model's own tokenizer."""
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Answer each request in order. A request longer than the context gets an EngineError."""
        if any(request.tools for request in requests):
            return [NoTools(f"{self.name} offers no tools")] * len(requests)
        began = time.monotonic()
        with self._lock, torch.inference_mode():
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
            order = sorted(
                fresh, key=lambda index: fresh[index].feed
            )  # those that begin alike, together
            for start in range(0, len(order), BATCH_ROWS):
                part = order[start : start + BATCH_ROWS]
                self._start([fresh[index] for index in part])
            rows.update(fresh)
            answers.update((index, self._build_completion(row)) for index, row in rows.items())
            return [answers[index] for index in range(len(requests))]

    def close(self) -> None:
        """Release the weights and the last call's keys and values."""
        self._weights = self._tokenizer = self._kept = self._prefix = None  # type: ignore[assignment]

    def _build_row(self, request: Request, began: float) -> _Row:
        ids = self._tokenizer(
            self._render_chat(request.messages) + (request.prefill or ""), add_special_tokens=False
        )["input_ids"]
        return _Row(request, ids, len(ids), 0, deadline=_get_deadline(request, began))

    def _render_chat(self, messages: tuple[Message, ...]) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        return str(
            self._tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        )

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
        if shared:
            batch.cache.batch_repeat_interleave(len(rows))
        for index, row in enumerate(rows):
            row.feed = row.feed[shared:]
            row.cached_tokens = shared if index else cached
        self._decode(rows, batch)

    def _cache_prefix(self, tokens: list[int]) -> int:
        """Cache a prefix for the next batch. Return how many of its tokens were cached before."""
        cached = local_decoding.count_equal_prefix(tokens, self._prefix.tokens)
        if cached < len(tokens):
            cache = self._prefix.first(cached)
            ones = torch.ones(1, cached, dtype=torch.long)
            self._feed(_Batch(cache, ones, torch.full((1, 1), cached)), [tokens[cached:]])
            self._prefix = _Prefix(tokens, cache)
        return cached

    def _continue(self, requests: Sequence[Request], began: float) -> dict[int, _Row]:
        """Continue replies of the last call whose keys and values are still cached."""
        if self._kept is None:
            return {}
        kept, batch = self._kept
        self._kept = None
        matches: dict[int, tuple[int, str]] = {}
        free = dict(enumerate(kept))
        for at, request in enumerate(requests):
            for kept_index, row in free.items():
                reply = (row.request.prefill or "") + self._decode_text(row)
                opened = request.prefill or ""
                if row.request.messages == request.messages and reply and opened.startswith(reply):
                    matches[at] = (kept_index, opened[len(reply) :])
                    del free[kept_index]
                    break
        if not matches:
            return {}
        rows = {}
        for at, (kept_index, more) in matches.items():
            old = kept[kept_index]
            seen = old.prompt_tokens + len(old.tokens) - len(old.feed)
            ids = old.feed + self._tokenizer(more, add_special_tokens=False)["input_ids"]
            until = _get_deadline(requests[at], began)
            rows[at] = _Row(requests[at], ids, seen + len(ids), seen, deadline=until)
        chosen = torch.tensor([kept_index for kept_index, _ in matches.values()])
        batch.cache.batch_select_indices(chosen)
        batch.mask, batch.positions = batch.mask[chosen], batch.positions[chosen]
        self._decode(list(rows.values()), batch)
        return rows

    def _decode(self, rows: list[_Row], batch: _Batch) -> None:
        """Sample until every row has ended or is full. Tokens that the model has not read stay in `feed`."""
        generators = [torch.Generator().manual_seed(row.request.seed & (2**63 - 1)) for row in rows]
        step = 0
        while any(_is_open(row) for row in rows):
            logits = self._feed(batch, [row.feed if _is_open(row) else [] for row in rows])
            for row, scores, generator in zip(rows, logits, generators, strict=True):
                if not _is_open(row):
                    continue
                token = self._sample(scores, row.request.temperature, generator)
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
        width = max(map(len, ids))
        tokens = torch.tensor([[self._pad] * (width - len(row)) + row for row in ids])
        real = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids])
        batch.mask = torch.cat([batch.mask, real], dim=1)
        positions = batch.positions + (real.cumsum(1) - 1).clamp(min=0)
        batch.positions = batch.positions + real.sum(1, keepdim=True)
        output = self._weights(
            input_ids=tokens,
            attention_mask=batch.mask,
            position_ids=positions,
            past_key_values=batch.cache,
            use_cache=True,
            logits_to_keep=1,
        )
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

    def _sample(self, scores: Any, temperature: float, generator: Any) -> int:
        if temperature <= 0:
            return int(scores.argmax())
        top = (scores / temperature).topk(min(TOP_K, len(scores)))
        probabilities = top.values.softmax(-1)
        probabilities[probabilities.cumsum(-1) - probabilities >= TOP_P] = 0
        return int(top.indices[torch.multinomial(probabilities, 1, generator=generator)])


def _is_open(row: _Row) -> bool:
    return not (row.finished or row.is_late) and len(row.tokens) < row.request.max_tokens


def _get_deadline(request: Request, began: float) -> float:
    return math.inf if request.seconds is None else began + request.seconds
