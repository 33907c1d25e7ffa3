"""The chat completions API in both directions: requests to one body, one answer to completions (pure).

Requests that differ in nothing but the seed are one prompt, sampled several times. They travel together, as one
request with `n` and the first of their seeds: vLLM reads the prompt once and seeds the samples with that number and
the ones that follow it. So a seed fixes a reply only together with its company; votes need no more than that.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from model.protocols import Completion, Request, Token


def companies(requests: Sequence[Request]) -> list[list[int]]:
    """Which requests, by position, can travel together; greedy ones go alone, since servers refuse `n` for them."""
    together: dict[tuple[Request, int], list[int]] = {}
    for at, request in enumerate(requests):
        alone = at if request.temperature <= 0 else -1
        together.setdefault((replace(request, seed=0), alone), []).append(at)
    return list(together.values())


def body(model: str, company: Sequence[Request]) -> dict[str, Any]:
    """What is sent for requests that differ only in the seed."""
    request = company[0]
    messages = [{"role": one.role, "content": one.content} for one in request.messages]
    asked: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "n": len(company),
        "stream": False,
    }
    if request.alternatives:
        asked |= {"logprobs": True, "top_logprobs": request.alternatives}
    if request.prefill is not None:
        # vLLM's words for going on with a turn instead of starting the next one
        messages.append({"role": "assistant", "content": request.prefill})
        asked |= {"continue_final_message": True, "add_generation_prompt": False}
    return asked


def completions(document: Any) -> list[Completion]:
    """One completion per choice. Raises ValueError, KeyError, TypeError or AttributeError for anything else.

    Servers count a whole answer: the prompt, read once, stands with the first completion, and the sampled tokens
    are divided evenly. The sums are what was billed.
    """
    choices = document["choices"]
    usage = document.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    sampled = int(usage.get("completion_tokens") or 0)
    prompt = int(usage.get("prompt_tokens") or 0), int(details.get("cached_tokens") or 0)
    if not choices:
        raise ValueError("no choices")
    share, rest = divmod(sampled, len(choices))
    return [
        Completion(
            text=str(choice["message"]["content"] or ""),
            finished=choice.get("finish_reason") != "length",
            prompt_tokens=0 if at else prompt[0],
            cached_tokens=0 if at else prompt[1],
            completion_tokens=share + (at < rest),
            tokens=_tokens(choice),
        )
        for at, choice in enumerate(choices)
    ]


def _tokens(choice: dict[str, Any]) -> tuple[Token, ...]:
    reported = (choice.get("logprobs") or {}).get("content") or ()
    tokens = tuple(
        Token(
            str(one["token"]),
            float(one["logprob"]),
            tuple((str(o["token"]), float(o["logprob"])) for o in one.get("top_logprobs") or ()),
        )
        for one in reported
    )
    said = choice["message"]["content"] or ""
    # vLLM reports the token that ended the reply as well, which is no part of it
    ended = choice.get("finish_reason") == "stop" and tokens and not said.endswith(tokens[-1].text)
    return tokens[:-1] if ended else tokens
