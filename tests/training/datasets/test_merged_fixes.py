"""Merged fixes to imitate: how they are read, and that training asks with the bytes of Agentless Mini."""

import json

import pytest

from model.agents.agentless.agentless_mini import AgentlessMini
from model.agents.agentless.repair_prompt import load_repair_prompt
from model.agents.agentless.sampling_plan import SamplingPlan
from model.domain import Issue
from tests.model.agents import agentless_replies
from tests.model.agents.builders import ISSUE, open_tool_context
from training.datasets.merged_fixes import MergedFix, read_fixes
from training.plans.plan import BadPlan

FIX = {
    "format": "r4p.fix/1",
    "issue": "octo/pie#1",
    "title": "Off",
    "body": "It is off.",
    "files": {"a.py": "one\ntwo\n", "b.py": "four\n"},
    "merged": {"a.py": "one\nTWO\n"},
}


def write(tmp_path, *lines):
    path = tmp_path / "fixes.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_fixes_are_read_without_those_held_out(tmp_path):
    path = write(tmp_path, FIX, FIX | {"issue": "octo/pie#2"})
    (fix,) = read_fixes(path, {"octo/pie#2"})
    assert fix == MergedFix(
        "octo/pie#1", Issue("Off", "It is off."), FIX["files"], {"a.py": "one\nTWO\n"}
    )
    assert (fix.group.key, fix.group.repo, fix.group.targets) == ("octo/pie#1", "octo/pie", (0.0,))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([FIX | {"format": "r4p.task/1"}], "line 1 is 'r4p.task/1', but this version reads r4p.fix/1"),
        ([FIX, FIX], "has two fixes for the same issue; keep one"),
        ([FIX | {"merged": {"c.py": ""}}], "line 1: `merged` has c.py, which `files` lacks; add it"),
        ([FIX | {"merged": {"b.py": "four\n"}}], "`merged` changes no file; give the texts after"),
        ([FIX | {"files": []}], "line 1 is no fix: AttributeError"),
        ([], "none of the 0 fixes in .* can be used: there are none"),
    ],
)  # fmt: skip
def test_unusable_fixes_are_refused_with_the_line(tmp_path, lines, message):
    with pytest.raises(BadPlan, match=message):
        read_fixes(write(tmp_path, *lines))


def test_missing_file_of_fixes_is_named(tmp_path):
    with pytest.raises(BadPlan, match="name the file of their fixes with --material"):
        read_fixes(None)
    with pytest.raises(BadPlan, match=r"fixes .*none.jsonl can't be read"):
        read_fixes(tmp_path / "none.jsonl")


OWN = """{% block system %}Repair it. <solution>{% endblock %}{% block user %}{{ issue }}{{ hint }}{{ left_out }}
{% for path in paths %}[FILE] {{ path }}
{{ files[loop.index0] }}
[/FILE]
{% endfor %}{% endblock %}"""


@pytest.mark.parametrize("is_own", [False, True])
def test_training_and_agentless_mini_render_the_same_prompt(tmp_path, is_own):
    own = tmp_path / "own.j2"
    own.write_text(OWN)
    template = load_repair_prompt(own if is_own else "swe_rl_repair")
    text = "def half(n):\n    return n // 2\n# </solution> <|im_end|> [/FILE] \u200b\r\n"
    files = {"pie/maths.py": text}
    engine = agentless_replies.CuttingEngine(
        agentless_replies.MATHS, agentless_replies.MEND, context_tokens=32_768
    )
    agent = AgentlessMini(engine, plan=SamplingPlan(1, 1), repair_prompt=template)
    with open_tool_context(tmp_path / "tree", files) as tools:
        agent.propose(ISSUE, tools, seed=3)
    fix = MergedFix("octo/pie#1", ISSUE, files, files)
    assert fix.render(template, engine.special_tokens) == engine.requests[-1].messages
