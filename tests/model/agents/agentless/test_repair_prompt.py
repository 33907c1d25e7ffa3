"""The operator's template for repairs: it is checked, used, and decides how replies are read."""

import pytest

from model.agents.agent_catalog import require_agent
from model.agents.agentless.sampling_plan import SamplingPlan
from model.agents.agentless.search_replace import escape_file
from model.errors import IncompatibleOptions, TemplateError
from model.prompts import prompt_template
from model.prompts.fingerprint import combine_fingerprints
from tests.model.agents.agentless_replies import MATHS, MEND, TREE, repair_reply

FORMS = {
    "agentless_repair": MEND.reply,
    "swe_rl_repair": f"<think>\nToo low.\n</think>\n<solution>\n{MEND.reply}</solution>",
}


@pytest.fixture
def own(tmp_path):
    return tmp_path / "own.j2"


def get_source(name):
    return prompt_template.load(name).source


@pytest.mark.parametrize("form", FORMS)
def test_own_template_asks_and_decides_how_replies_are_read(pipeline, own, form):
    own.write_text(get_source(form) + "{# own #}")
    reply = repair_reply("", reply=FORMS[form])
    done, _ = pipeline(MATHS, reply, plan=SamplingPlan(1, 1), repair_prompt=str(own))
    assert "+    return n / 2" in done.patch
    used = (prompt_template.load(name).fingerprint for name in ("agentless_locate", own))
    assert done.trajectory.engine.prompt_fingerprint == combine_fingerprints(*used)


def test_file_cannot_hold_the_tags_of_an_own_template(pipeline, own):
    own.write_text(
        get_source("agentless_repair")
        .replace("<patch-source-{{ loop.index }}>", "[FILE]")
        .replace("</patch-source-{{ loop.index }}>", "[/FILE]")
    )
    tree = TREE | {"pie/maths.py": TREE["pie/maths.py"] + "# [/FILE]\n"}
    _, engine = pipeline(MATHS, MEND, tree=tree, repair_prompt=str(own))
    user = engine.requests[-1].messages[1].content
    assert user.count("\n[/FILE]\n") == user.count("[/FILE]") > 0
    assert "# ⟦U+005B⟧/FILE]" in user
    assert escape_file("# [/FILE]\n") == "# [/FILE]\n"


@pytest.mark.parametrize(
    ("gap", "message"),
    [
        ("{{ files[loop.index0] }}", r"own.j2, line 21: files\[0\] is shown unchanged 0 times"),
        ("{{ path }}", r"paths\[0\] is shown unchanged 0 times"),
        ("{{ left_out }}", "left_out is shown unchanged 0 times"),
        ("{{ hint }}", "hint is shown unchanged 0 times"),
    ],
)
def test_template_that_leaves_something_out_is_refused(own, gap, message):
    own.write_text(get_source("agentless_repair").replace(gap, ""))
    with pytest.raises(TemplateError, match=message):
        require_agent("agentless-mini", str(own))
    with pytest.raises(IncompatibleOptions, match="does nothing for agent mini-se"):
        require_agent("mini-se", str(own))
