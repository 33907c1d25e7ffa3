"""What tests of Agentless Mini are made of: replies of its two stages, and what became of them."""

import json
from dataclasses import replace

from model.agents.agentless.search_replace import SearchReplaceEdit, render
from model.engines.scripted import ScriptLine
from model.protocols import Completion
from tests.model.fake_engines import RecordingEngine

CODE = "def half(n):\n    return n // 2\n\n\ndef third(n):\n    return n // 3\n"
PIE = "from pie.maths import half\n\n\ndef cut(n):\n    return half(n)\n"
TREE = {"pie/maths.py": CODE, "pie/pie.py": PIE, "README.md": "# Pie\n"}
LOCATE, REPAIR, REPRODUCE = "<patch-tree>", "<patch-source-1>", "Write the script that tells"
"""What only the prompts of that stage hold."""


def locate_reply(*paths, **values):
    """A reply that names these files."""
    return ScriptLine(when=LOCATE, reply="```\n" + "\n".join(paths) + "\n```", **values)


def repair_reply(new, old="    return n // 2", path="pie/maths.py", **values):
    """A reply that replaces a line by some."""
    edits = [SearchReplaceEdit(path, (old,), tuple(new.split("\n")))]
    return ScriptLine(**{"when": REPAIR, "reply": f"So:\n\n{render(edits)}"} | values)


def reproduce_reply(text, **values):
    """A reply with a reproduction test."""
    return ScriptLine(when=REPRODUCE, reply=f"So:\n\n```python\n{text}\n```", **values)


MATHS = locate_reply("pie/maths.py", repeat=True)
ROUND = repair_reply("    return round(n / 2)")
MEND = repair_reply("    return n / 2")


class CuttingEngine(RecordingEngine):
    """Cuts replies that hold the word CUT."""

    def _answer(self, request):
        said = super()._answer(request)
        is_cut = isinstance(said, Completion) and "CUT" in said.text
        return replace(said, finished=False) if is_cut else said


def read_outcomes(attempt, stage="repair"):
    """What was read from the replies of a stage."""
    return [json.loads(step.outcome) for step in attempt.trajectory.steps if step.stage == stage]


def read_user_prompt(request):
    """What a request shows of the issue and the tree."""
    return request.messages[1].content
