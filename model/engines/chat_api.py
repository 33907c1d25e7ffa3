"""Encode requests for the chat completions API and decode its answers (pure).

Requests that differ only in the seed are samples of one prompt. They travel as one HTTP request with `n` and the
first seed. vLLM reads the prompt once and uses consecutive seeds from there. So a seed fixes a reply only together
with the other samples of its request. Votes need no more than that.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from model.protocols import Completion, Message, Request, Token, Tool, ToolCall


def group_by_prompt(requests: Sequence[Request]) -> list[list[int]]:
    """Return groups of indices of `requests` that can share one HTTP request, since they differ only in the seed.

    A greedy request (temperature 0) is alone in its group, because servers refuse several samples of it.
    """
    # The key is the whole request but its seed. A greedy request also gets its own index, so it stays alone.
    groups: dict[tuple[Request, int], list[int]] = {}
    for index, request in enumerate(requests):
        own_group = index if request.temperature <= 0 else -1
        groups.setdefault((replace(request, seed=0), own_group), []).append(index)
    return list(groups.values())


def build_body(model: str, samples: Sequence[Request], *, token_ids: bool = True) -> dict[str, Any]:
    """Build the JSON body of one chat completions request for `samples`, which differ only in the seed.

    `model` is the model's name on the server. `token_ids` says whether the server supports `return_token_ids`.
    """
    request = samples[0]
    messages = [_encode_message(item) for item in request.messages]
    body: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "n": len(samples),
        "stream": False,
    }
    if request.top_logprobs:
        body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
    if request.tools:
        body["tools"] = [_encode_tool(item) for item in request.tools]
    if request.token_ids and token_ids:
        body["return_token_ids"] = True
    if request.prefill is not None:
        # vLLM's options to continue an opened turn instead of starting a new one
        # The prefill is the start of the reply, so the turn must not be closed before it.
        messages.append({"role": "assistant", "content": request.prefill})
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    return body


def build_scored_body(model: str, prompt: Sequence[Message]) -> dict[str, Any]:
    """Build the JSON body of a request to vLLM's `/classify`: the score of one prompt, as the reward model learnt it.

    `model` is the model's name on the server.
    """
    return {
        "model": model,
        "messages": [_encode_message(item) for item in prompt],
        # Training ends the prompt where a reply would begin; without this the last token would be another.
        "add_generation_prompt": True,
        # vLLM would apply a sigmoid, which is 1.0 in 32 bits for every score above 17.
        "use_activation": False,
    }


def parse_scores(document: Any) -> tuple[list[float], int]:
    """Decode `document`, the parsed JSON answer of `/classify`: the head's numbers, and the prompt's tokens.

    Raises ValueError, KeyError, TypeError or AttributeError for other documents.
    """
    (entry,) = document["data"]
    usage = document.get("usage") or {}
    return [float(value) for value in entry["probs"]], int(usage.get("prompt_tokens") or 0)


def parse_completions(document: Any) -> list[Completion]:
    """Decode `document`, the parsed JSON answer of the chat completions API: one completion per choice.

    The API counts tokens per answer, not per choice. So the first completion carries all prompt tokens, the sampled
    tokens are divided evenly, and the sums equal the API's counts. Raises ValueError, KeyError, TypeError or
    AttributeError for other documents.
    """
    choices = document["choices"]
    usage = document.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    sampled = int(usage.get("completion_tokens") or 0)
    prompt = int(usage.get("prompt_tokens") or 0), int(details.get("cached_tokens") or 0)
    if not choices:
        raise ValueError("no choices")
    # Seven tokens of three choices become 3, 2, 2: nothing is lost by rounding.
    share, rest = divmod(sampled, len(choices))
    return [
        Completion(
            text=_read_text(choice),
            finished=choice.get("finish_reason") != "length",
            # `n` samples share one reading of the prompt, so only the first one carries its cost.
            prompt_tokens=0 if index else prompt[0],
            cached_tokens=0 if index else prompt[1],
            completion_tokens=share + (index < rest),
            tokens=_read_tokens(choice),
            tool_calls=_read_calls(choice),
            token_ids=tuple(int(token_id) for token_id in choice.get("token_ids") or ()),
        )
        for index, choice in enumerate(choices)
    ]


def _encode_message(message: Message) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        sent["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _require_object(call.arguments)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        sent["tool_call_id"] = message.tool_call_id
    return sent


def _require_object(arguments: str) -> str:
    """Return arguments that are a JSON object, or `{}`: servers refuse a whole conversation for others."""
    try:
        return arguments if isinstance(json.loads(arguments), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _encode_tool(tool: Tool) -> dict[str, Any]:
    described = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": described}


def _read_text(choice: dict[str, Any]) -> str:
    """Return the reply's text, which a server may omit only beside tool calls."""
    message = choice["message"]
    return str((message.get("content") if message.get("tool_calls") else message["content"]) or "")


def _read_calls(choice: dict[str, Any]) -> tuple[ToolCall, ...]:
    asked = choice["message"].get("tool_calls") or ()
    return tuple(
        ToolCall(
            str(call.get("id") or f"call-{index}"),
            str(call["function"]["name"]),
            _dump_arguments(call["function"].get("arguments")),
        )
        for index, call in enumerate(asked)
    )


def _dump_arguments(arguments: Any) -> str:
    """Return the arguments as text. Some servers have already parsed the model's JSON."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {})


def _read_tokens(choice: dict[str, Any]) -> tuple[Token, ...]:
    # Shapes: one entry per sampled token, each with at most `top_logprobs` alternatives.
    reported = (choice.get("logprobs") or {}).get("content") or ()
    tokens = tuple(
        Token(
            str(entry["token"]),
            float(entry["logprob"]),
            tuple((str(o["token"]), float(o["logprob"])) for o in entry.get("top_logprobs") or ()),
        )
        for entry in reported
    )
    text = _read_text(choice)
    # vLLM also reports the token that ended the reply, which is not part of the text
    ended = choice.get("finish_reason") == "stop" and tokens and not text.endswith(tokens[-1].text)
    return tokens[:-1] if ended else tokens
