"""An engine on this machine's CPU: Hugging Face transformers with a batched decode loop of our own.

Rows of one batch share the computation of their common beginning, and a batch what it has in common with the one
before; each row samples from its own generator, so its seed holds, apart from rounding that depends on who else is in
the batch. Imports torch; `model.catalog` loads this module when it is asked for. Where weights come from:
`model.engines.weights`.
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
from model.errors import EngineDown, EngineError, NoTools, TimedOut
from model.protocols import Completion, Message, Request, Token

BATCH_ROWS = 8
"""Rows decoded together: weights are read once a step for all of them, keys and values once for each."""
TOP_K = 20
TOP_P = 0.8
"""Qwen2.5's published sampling defaults; below 1B parameters the tail of the distribution is noise."""


@dataclass(slots=True)
class _Batch:
    """Keys and values of some rows, which of them are real (B, T), and each row's next position (B, 1)."""

    cache: Any
    mask: Any
    positions: Any


@dataclass(frozen=True, slots=True)
class _Head:
    """Keys and values of one row's beginning, and the tokens they stand for; nobody writes into them."""

    tokens: list[int]
    cache: Any

    def first(self, length: int) -> Any:
        """A cache of the first `length` tokens, to be written on."""
        if not length:
            return transformers.DynamicCache()
        cache = copy.copy(self.cache)
        cache.layers = [copy.copy(layer) for layer in self.cache.layers]
        if length < len(self.tokens):
            cache.crop(length)
        return cache


@dataclass(slots=True)
class _Row:
    """One request under way."""

    request: Request
    feed: list[int]
    """Tokens the model has not been shown yet."""
    prompt_tokens: int
    cached_tokens: int
    tokens: list[int] = field(default_factory=list)
    told: list[Token] = field(default_factory=list)
    """The same with what stood beside them, where the request asks for it."""
    finished: bool = False
    until: float = math.inf
    """By the monotonic clock."""
    late: bool = False


class LocalTransformers:
    """Runs the model in `directory`, a saved bf16 copy with its tokenizer. Loads torch and the weights at once."""

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
        """`threads`: None leaves it to torch. `on_token(n)` is told after each decoded step, from 1 on. `tokenizer`: where
        it is not in `directory`, as for a LoRA adapter, which is applied to the base that it names.

        Raises EngineDown when the directory holds no usable model.
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
                directory, dtype=torch.bfloat16, attn_implementation=cpu_attention.registered()
            ).eval()  # type: ignore[no-untyped-call]
        except (OSError, ValueError, ImportError) as error:
            raise EngineDown(f"no usable model in {directory}: {error}") from error
        ends = self._weights.generation_config.eos_token_id
        self._ends = {*(ends if isinstance(ends, list) else [ends]), self._tokenizer.eos_token_id}
        self._pad: int = next(end for end in self._ends if end is not None)
        self._kept: tuple[list[_Row], _Batch] | None = None
        self._head = _Head([], transformers.DynamicCache())

    def count_tokens(self, text: str) -> int:
        """Exact, by the model's own tokenizer."""
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """One answer per request, in order; a request longer than the context comes back as an EngineError."""
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
        """Let go of the weights and of the last call's keys and values."""
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

    def _completion(self, row: _Row) -> Completion | TimedOut:
        if row.late:
            return TimedOut(f"{self.name} had decoded {len(row.tokens)} tokens when time was up")
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
        """Read the prompts, the common beginning once, and decode."""
        shared = token_prefix.common([row.feed for row in rows])
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
        """Have a beginning read, and kept for the next batch; how much of it was known already."""
        known = token_prefix.alike(tokens, self._head.tokens)
        if known < len(tokens):
            cache = self._head.first(known)
            ones = torch.ones(1, known, dtype=torch.long)
            self._feed(_Batch(cache, ones, torch.full((1, 1), known)), [tokens[known:]])
            self._head = _Head(tokens, cache)
        return known

    def _continue(self, requests: Sequence[Request], began: float) -> dict[int, _Row]:
        """Requests that take up a reply of the last call, its keys and values still at hand."""
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
        """Sample until every row has ended or is full; what the model has not read of a row stays in `feed`."""
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
                if row.feed and row.request.alternatives:
                    row.told.append(self._told(scores, token, row.request.alternatives))
                row.late = not row.finished and time.monotonic() > row.until
            step += 1
            self._on_token(step)
        self._kept = (rows, batch)

    def _feed(self, batch: _Batch, ids: list[list[int]]) -> Any:
        """Show each row its tokens, padded on the left; the scores (B, V) of what comes next."""
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
        """A token with the likeliest ones, in the model's own probabilities: before temperature and any cut."""
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
