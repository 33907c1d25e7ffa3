"""Thoughts are left out, wherever they were opened; marks inside code are code."""

import pytest

from model.agents.agentless.search_replace import parse
from model.agents.mini_se.tool_text import parse_calls
from model.agents.think_tags import strip_thought


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("It is this.", "It is this."),
        ("<think>hm</think>It is this.", "It is this."),
        (" <think>hm\n</think>\n\nIt is this.", "\n\nIt is this."),
        ("hm, opened by the prompt\n</think>\nIt is this.", "\nIt is this."),
        ("hm\r\n  </think> \r\nIt is this.", "\nIt is this."),
        ("text.split('</think>')[1]", "text.split('</think>')[1]"),
        ("<think>hm</think>text.split('</think>')[1]", "text.split('</think>')[1]"),
        ("<think>and on and on", None),
        ("", ""),
    ],
)
def test_answer_is_the_text_after_the_thought(reply, read):
    assert strip_thought(reply) == read


def test_edit_and_call_about_the_tag_itself_are_parsed():
    (edit,) = parse(
        "### a.py\n<<<<<<< SEARCH\nend = '</think>'\n=======\nend = '</thought>'\n>>>>>>> REPLACE\n"
    )
    assert edit.search == ("end = '</think>'",)
    (call,) = parse_calls('{"name": "search_tool", "arguments": {"entity": "</think>"}}')
    assert call.name == "search_tool"
    assert "</think>" in call.arguments
