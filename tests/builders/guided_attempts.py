"""Attempts of Mini-SE with and without a hint, made by the agent itself on a small tree, its model a script."""

import json
from dataclasses import replace
from pathlib import Path

from model.agents.mini_se.mini_se import MiniSE
from model.agents.trajectories import trajectory_json
from model.agents.trajectories.guidance import Guidance, HintSource
from model.agents.trajectories.trajectory import Trajectory
from model.domain import Issue
from model.engines.scripted import ScriptedEngine, ScriptLine
from tests.model.agents.builders import CODE, ISSUE, open_tool_context
from training.datasets.pairs import JudgedAttempt

HINT = Guidance("The test of odd numbers fails: nothing may be rounded.", said_by="octo")


def script_call(name, reply="", **arguments):
    """A reply that calls a tool in words, as a model without tools of its own does."""
    call = json.dumps({"name": name, "arguments": arguments})
    return ScriptLine(reply=f"{reply}\n```json\n{call}\n```")


def script_fix(new, reply="Mend it."):
    return [
        script_call("edit_tool", reply, path="pie/maths.py", old_str="n // 2", new_str=new),
        script_call("patch_submission", "It is done."),
    ]


def run_attempt(
    root: Path, lines: list[ScriptLine], *, issue: Issue = ISSUE, hint=None
) -> Trajectory:
    """One attempt; the tree is made where it is missing."""
    with open_tool_context(root, {"pie/maths.py": CODE}) as desk:
        agent = MiniSE(ScriptedEngine(lines))
        return agent.propose(issue, desk, seed=1, guidance=hint).trajectory


def build_judged_pair(
    root: Path, number: int = 1, *, better: str = "n / 2", source=HintSource.VERDICT
):
    """A first attempt that was found wanting, and one with feedback that was not."""
    issue = replace(ISSUE, title=f"{ISSUE.title} ({number})")
    first = run_attempt(root, script_fix("int(n / 2)"), issue=issue)
    hint = replace(HINT, parent=trajectory_json.compute_identity(first), source=source)
    second = run_attempt(root, script_fix(better, "Divide."), issue=issue, hint=hint)
    name = f"octo/pie#{number}"
    return [JudgedAttempt(name, 0.1, first), JudgedAttempt(name, 0.9, second)]
