"""Runs in vLLM's own environment: replies as a model writes them, through the parsers that vLLM has for them.

JSON on stdin (`tools`, and `replies` by the parser's name), JSON on stdout: for each what the server would answer.
"""

import json
import sys

from transformers import AutoTokenizer
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.tool_parsers import ToolParserManager

given = json.load(sys.stdin)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
said = [{"role": "user", "content": "It adds."}]
request = ChatCompletionRequest(messages=said, model="m", tools=given["tools"])
answers = {}
for name, reply in given["replies"].items():
    parser = ToolParserManager.get_tool_parser(name)(tokenizer, request.tools)
    found = parser.extract_tool_calls(reply, request)
    calls = [call.model_dump() for call in found.tool_calls]
    answers[name] = {"role": "assistant", "content": found.content, "tool_calls": calls}
json.dump(answers, sys.stdout)
