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

from model.engines import cpu_attention, token_prefix
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
class _Head:
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
    told: list[Token] = field(default_factory=list)
    """The same tokens with their alternatives, when the request asks for them."""
    finished: bool = False
    until: float = math.inf
    """Deadline on the monotonic clock."""
    late: bool = False


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
                attn_implementation=cpu_attention.register_grouped_attention(),
            ).eval()  # type: ignore[no-untyped-call]
        except (OSError, ValueError, ImportError) as error:
            raise EngineDown(f"no usable model in {directory}: {error}") from error
        ends = self._weights.generation_config.eos_token_id
        self._ends = {*(ends if isinstance(ends, list) else [ends]), self._tokenizer.eos_token_id}
        self._pad: int = next(end for end in self._ends if end is not None)
        self._kept: tuple[list[_Row], _Batch] | None = None
        self._head = _Head([], transformers.DynamicCache())

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
            for at, request in enumerate(requests):
                if at not in rows:
                    row = self._row(request, began)
                    if row.prompt_tokens + request.max_tokens > self.context_tokens:
                        answers[at] = EngineError(
                            f"prompt of {row.prompt_tokens} tokens and reply of {request.max_tokens} exceed "
                            f"the context of {self.context_tokens}"
                        )
                    else:
                        fresh[at] = row
            order = sorted(fresh, key=lambda at: fresh[at].feed)  # those that begin alike, together
            for start in range(0, len(order), BATCH_ROWS):
                part = order[start : start + BATCH_ROWS]
                self._start([fresh[at] for at in part])
            rows.update(fresh)
            answers.update((at, self._completion(row)) for at, row in rows.items())
            return [answers[at] for at in range(len(requests))]

    def close(self) -> None:
        """Release the weights and the last call's keys and values."""
        self._weights = self._tokenizer = self._kept = self._head = None  # type: ignore[assignment]

    def _row(self, request: Request, began: float) -> _Row:
        ids = self._tokenizer(
            self._chat(request.messages) + (request.prefill or ""), add_special_tokens=False
        )["input_ids"]
        return _Row(request, ids, len(ids), 0, until=_until(request, began))

    def _chat(self, messages: tuple[Message, ...]) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        return str(
            self._tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        )

    def _completion(self, row: _Row) -> Completion | EngineTimeout:
        if row.late:
            return EngineTimeout(
                f"{self.name} had decoded {len(row.tokens)} tokens when time was up"
            )
        return Completion(
            text=self._text(row),
            finished=row.finished,
            prompt_tokens=row.prompt_tokens,
            cached_tokens=row.cached_tokens,
            completion_tokens=len(row.tokens),
            tokens=tuple(row.told),
            token_ids=tuple(row.tokens) if row.request.token_ids else (),
        )

    def _text(self, row: _Row) -> str:
        return str(self._tokenizer.decode(row.tokens, skip_special_tokens=True))

    def _start(self, rows: list[_Row]) -> None:
        """Read the prompts, their common prefix once, and decode."""
        shared = token_prefix.count_common_prefix([row.feed for row in rows])
        known = self._know(rows[0].feed[:shared])
        batch = _Batch(
            self._head.first(shared),
            torch.ones(len(rows), shared, dtype=torch.long),
            torch.full((len(rows), 1), shared),
        )
        if shared:
            batch.cache.batch_repeat_interleave(len(rows))
        for at, row in enumerate(rows):
            row.feed = row.feed[shared:]
            row.cached_tokens = shared if at else known
        self._decode(rows, batch)

    def _know(self, tokens: list[int]) -> int:
        """Cache a prefix for the next batch. Return how many of its tokens were cached before."""
        known = token_prefix.count_equal_prefix(tokens, self._head.tokens)
        if known < len(tokens):
            cache = self._head.first(known)
            ones = torch.ones(1, known, dtype=torch.long)
            self._feed(_Batch(cache, ones, torch.full((1, 1), known)), [tokens[known:]])
            self._head = _Head(tokens, cache)
        return known

    def _continue(self, requests: Sequence[Request], began: float) -> dict[int, _Row]:
        """Continue replies of the last call whose keys and values are still cached."""
        if self._kept is None:
            return {}
        kept, batch = self._kept
        self._kept = None
        found: dict[int, tuple[int, str]] = {}
        free = dict(enumerate(kept))
        for at, request in enumerate(requests):
            for index, row in free.items():
                said = (row.request.prefill or "") + self._text(row)
                opened = request.prefill or ""
                if row.request.messages == request.messages and said and opened.startswith(said):
                    found[at] = (index, opened[len(said) :])
                    del free[index]
                    break
        if not found:
            return {}
        rows = {}
        for at, (index, more) in found.items():
            old = kept[index]
            seen = old.prompt_tokens + len(old.tokens) - len(old.feed)
            ids = old.feed + self._tokenizer(more, add_special_tokens=False)["input_ids"]
            until = _until(requests[at], began)
            rows[at] = _Row(requests[at], ids, seen + len(ids), seen, until=until)
        chosen = torch.tensor([index for index, _ in found.values()])
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
                    row.told.append(self._told(scores, token, row.request.top_logprobs))
                row.late = not row.finished and time.monotonic() > row.until
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

    def _told(self, scores: Any, token: int, most: int) -> Token:
        """Return a token with the likeliest tokens, in the model's probabilities before temperature and top-p."""
        chances = scores.log_softmax(-1)
        top = chances.topk(most)
        texts = [self._tokenizer.decode([one]) for one in [token, *top.indices.tolist()]]
        return Token(
            texts[0], float(chances[token]), tuple(zip(texts[1:], top.values.tolist(), strict=True))
        )

    def _sample(self, scores: Any, temperature: float, generator: Any) -> int:
        if temperature <= 0:
            return int(scores.argmax())
        top = (scores / temperature).topk(min(TOP_K, len(scores)))
        chances = top.values.softmax(-1)
        chances[chances.cumsum(-1) - chances >= TOP_P] = 0
        return int(top.indices[torch.multinomial(chances, 1, generator=generator)])


def _is_open(row: _Row) -> bool:
    return not (row.finished or row.late) and len(row.tokens) < row.request.max_tokens


def _until(request: Request, began: float) -> float:
    return math.inf if request.seconds is None else began + request.seconds
