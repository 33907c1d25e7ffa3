"""vLLM's own parsers for Qwen2.5 and Qwen3 read calls of our tools, and we read what they make of them."""

import json
import subprocess
from pathlib import Path

import pytest

from model.agents.tools.toolbox import TOOLS
from model.engines import chat_api
from model.protocols import Message, Request
from tests import vllm_server
from tests.services import ROOT

pytestmark = [pytest.mark.model, pytest.mark.vllm]

CALL = {"name": "edit_tool", "arguments": {"path": "a.py", "old_str": "x <\n  1", "new_str": ""}}
XML = """<tool_call>
<function=edit_tool>
<parameter=path>
a.py
</parameter>
<parameter=old_str>
x <
  1
</parameter>
<parameter=new_str>

</parameter>
</function>
</tool_call>"""
REPLIES = {
    "hermes": f"It compares.\n<tool_call>\n{json.dumps(CALL)}\n</tool_call>",
    "qwen3_coder": f"It compares.\n{XML}",
    "qwen3_xml": f"It compares.\n{XML}",
}


@pytest.fixture(scope="module")
def answers():
    """What a server with each parser would answer."""
    asks = (Message("user", "It adds."),)
    request = Request(asks, max_tokens=10, temperature=0.0, seed=0, tools=TOOLS)
    asked = chat_api.build_body("m", [request])
    ran = subprocess.run(
        [
            vllm_server.PYTHON,
            Path(__file__).with_name("tool_parsers_child.py"),
            vllm_server.weights(),
        ],
        input=json.dumps({"tools": asked["tools"], "replies": REPLIES}),
        env={"PATH": "/usr/bin:/bin", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize("parser", REPLIES)
def test_a_call_of_a_tool_comes_through_as_it_was_meant(answers, parser):
    choice = {"message": answers[parser], "finish_reason": "tool_calls", "index": 0}
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    (read,) = chat_api.parse_completions({"choices": [choice], "usage": usage})
    (call,) = read.tool_calls
    assert call.name == "edit_tool"
    assert json.loads(call.arguments) == CALL["arguments"]
    assert read.text.strip() == "It compares."
