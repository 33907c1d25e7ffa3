"""Which copies of an edit share a seat, so that a judge reads the edit once and no vote is split."""

import pytest

from model.domain import Issue, Patch, PatchId
from model.engines.scripted import ScriptedEngine
from model.prompts import prompt_template
from model.verifiers.admission import AdmissionRules
from model.verifiers.prompt_builder import CandidateGroup, PromptBuilder

ISSUE = Issue("Halving is off", "")
EDIT = """diff --git a/pie.py b/pie.py
index 111..222 100644
--- a/pie.py
+++ b/pie.py
@@ -1,3 +1,3 @@ class Pie:
 def half(n):
-    return n // 2
+    return n / 2
 # end
"""


def share_a_seat(text):
    engine = ScriptedEngine([])
    prompts = PromptBuilder(engine, prompt_template.load("r4p_group"), 64, AdmissionRules())
    patches = [Patch(PatchId("a"), EDIT), Patch(PatchId("b"), text)]
    group = CandidateGroup.from_cases(*prompts.admit(ISSUE, patches))
    assert set(group.representatives) == {"a", "b"}
    return len(group.seated) == 1


@pytest.mark.parametrize(
    "text",
    [
        EDIT,
        EDIT.replace("index 111..222 100644\n", ""),
        EDIT.replace("@@ -1,3 +1,3 @@ class Pie:", "@@ -41,3 +41,3 @@"),
        "Fixes the halving.\n\n" + EDIT,
        EDIT.rstrip("\n"),
    ],
    ids=["copy", "no index line", "another place", "text around it", "no final line end"],
)
def test_same_edit_shares_a_seat(text):
    assert share_a_seat(text)


@pytest.mark.parametrize(
    "text",
    [
        EDIT.replace("+    return n / 2", "+    return n / 2  # a float").replace(
            "def half(n)", "def half(n)"
        ),
        EDIT.replace("+    return n / 2", "+    return  n / 2"),
        EDIT.replace("@@ -1,3 +1,3 @@", "@@ -1,3 +1,4 @@").replace(
            "+    return n / 2\n", "+    # mend\n+    return n / 2\n"
        ),
        EDIT.replace("+    return n / 2", "+    return number / 2"),
        EDIT.replace("pie.py", "cake.py"),
    ],
    ids=["comment at the end", "blank inside", "line of comment", "another name", "another file"],
)
def test_edit_that_reads_differently_keeps_its_own_seat(text):
    """A diff does not show whether a line lies in a string, so a wrong patch could be made to look like a right one."""
    assert not share_a_seat(text)
