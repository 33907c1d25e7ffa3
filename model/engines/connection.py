"""How a model server is reached: a client of its API, where its other paths are, and what to say of a key it refuses."""

from typing import Final

import httpx

CONNECT_SECONDS: Final = 5.0
REFUSED_KEY: Final = (401, 403)
_IDLE_SECONDS: Final = 2.0
"""vLLM hangs up after five; a request sent just then fails, and nobody knows whether it was taken."""


def http_client(url: str, api_key: str | None, seconds: float) -> httpx.Client:
    """A client whose paths start at the API's base; `seconds` for an answer, CONNECT_SECONDS for a connection."""
    return httpx.Client(
        base_url=url.rstrip("/") + "/",
        headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
        timeout=httpx.Timeout(seconds, connect=CONNECT_SECONDS),
        limits=httpx.Limits(keepalive_expiry=_IDLE_SECONDS),
        trust_env=False,  # the engine's address is a setting of ours; nothing else redirects code to elsewhere
    )


def server_root(client: httpx.Client) -> str:
    """Where vLLM keeps what is not OpenAI's, such as `/tokenize`: the base without its `/v1`."""
    return str(client.base_url).rstrip("/").removesuffix("/v1")


def refused_key(answer: httpx.Response, url: str, api_key: str | None) -> str:
    """What to say to a person where a server did not take the API key; empty: it did."""
    if answer.status_code not in REFUSED_KEY:
        return ""
    return (
        f"the engine at {url} refuses the API key (HTTP {answer.status_code}): {'another' if api_key else 'none'} was given. "
        "A command reads it from --api-key-file, the bot from R4P_ENGINE_API_KEY, a training's evaluation from "
        "--api-key-file in R4P_TRAIN_EVALUATE_ARGS, its run from rollout.api_key_file and reward.api_key_file in the plan"
    )
