"""Each shipped prompt and its reader agree: a reply as the prompt shows it is read, and earns the top reward."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from model.agents.agentless import search_replace
from model.agents.agentless.file_localisation import read_paths
from model.agents.agentless.search_replace import SearchReplaceEdit
from model.agents.mini_se import tool_text, tree_reader, tree_reviewer
from model.agents.tools.tool_arguments import BadCall, parse_arguments
from model.agents.tools.toolbox import TOOLS
from model.domain import RubricKind, RubricLine, RubricMark
from model.errors import MalformedEdit, UnreadableAnswer
from model.prompts import prompt_template
from model.protocols import Token
from model.reproduction.test_writing import read_script
from model.voting.boxed_answer import read_box
from model.voting.reply_form import read_review, read_test_report
from model.voting.rubric import Grade, read_grades, read_lines
from model.voting.yes_no_probability import compute_yes_probability, locate_verdict
from training.gym.back_translation.issue_reply import NoIssue, read_issue
from training.objective.rewards import MALFORMED_REWARD, reward_imitation, reward_reply

PROMPTS = sorted(path.stem for path in Path(prompt_template.__file__).parent.glob("*.j2"))
VALUES = {
    "message": "", "change": "", "tests": (), "outputs": (), "issue": "", "hint": "", "trajectory": "", "tree": "", "most": "4", "left_out": "",
    "code": "", "patches": (), "paths": (), "files": (), "test_path": "", "test_file": "", "rubric": "",
}  # fmt: skip
FILE = "folder/of/the/file.py"
SEARCH, REPLACE = "lines as they stand in the file now", "lines that shall stand there instead"
BLOCK = f"### {FILE}\n<<<<<<< SEARCH\n{SEARCH}\n=======\n{REPLACE}\n>>>>>>> REPLACE"
SOLUTION = f"<solution>\n```python\n{BLOCK}\n```\n</solution>"
TAGGED = f"<think>\nyour reasoning\n</think>\n{SOLUTION}"
EDITS = (SearchReplaceEdit(FILE, (SEARCH,), (REPLACE,)),)
BOX = r"\\boxed\{[\d, ]+\}|\\boxed\{\}(?= if|\.$)"
REVIEW = """\
{"decision": {"recommendation": "approve" or "request_changes", "confidence": a number from 0 to 1},
 "summary": {"problem": "the cause", "solution": "what the patch does", "overall_assessment": "the decision with its reason"},
 "defects": [{"severity": "high", "medium" or "low", "category": "correctness", "location": {"path": "file.py"}, "description": "what fails, and when", "suggestion": "the fix"}]}"""
TEST_REPORT = '{"test_report": "which tests pass and which fail, and why", "reward": 1}'
CONDITION = "One condition that can be checked by reading a patch."
LINE = f'{{"kind": "specification", "weight": 3, "text": "{CONDITION}"}}'
ISSUE = "Parsing an empty text fails\n\n`parse('')` raises IndexError and should return an empty list.\n"
CALL = '{"name": "search_tool", "arguments": {"construct": "function", "entity": "…"}}'


@dataclass(frozen=True)
class ReplyForm:
    """The replies that a prompt asks for, and what reads them."""

    pattern: str
    """Finds every example in the prompt."""
    readings: Mapping[str, Any]
    """What the bot reads, by example."""
    violations: tuple[str, ...]
    read: Callable[[str], Any]
    """The bot's own reader; None for a reply that it cannot use."""
    reward: Callable[[str, Any], float | None] | None = None
    """The reward of a reply where the reading is right; None where no reward reads this form."""


def read_seats(reply, seats, count=None):
    try:
        boxed = read_box(reply, range(1, seats + 1))
    except UnreadableAnswer:
        return None
    return set(boxed) if count in {None, len(boxed)} else None


def read_yes_no(reply):
    tokens = [Token(reply, -0.1)]
    chance = None if locate_verdict(tokens) is None else compute_yes_probability(tokens[0])
    return None if chance is None else chance > 0.5


def read_edits(reply, prompt):
    try:
        return search_replace.PARSERS[prompt](reply)
    except MalformedEdit:
        return None


def read_call(reply, tools):
    try:
        return [
            (call.name, parse_arguments(call, tools)) for call in tool_text.parse_calls(reply)
        ] or None
    except BadCall:
        return None


def read_report(reply, read):
    """Read a report in which the judge chose the first of the words that the prompt offers."""
    chosen = re.sub(r'("\w+")(?:, "\w+")* or "\w+"', r"\1", reply)
    try:
        return set(read(chosen.replace("a number from 0 to 1", "0.5"), {1}))
    except UnreadableAnswer:
        return None


def read_report_of_user(reply):
    try:
        return read_issue(reply)
    except NoIssue:
        return None


def reward_group(reply, correct):
    return reward_reply(reply, range(1, 5), [float(seat in correct) for seat in range(1, 5)])


CALLING = ReplyForm(
    r"```json\n.*?\n```",
    {f"```json\n{CALL}\n```": [("search_tool", {"construct": "function", "entity": "…"})]},
    ("I would look at the parser.", CALL.replace("search_tool", "shell"), CALL.replace("entity", "name")),
    partial(read_call, tools=TOOLS),
)  # fmt: skip
FORMS = {
    "r4p_group": ReplyForm(
        BOX,
        {r"\boxed{3}": {3}, r"\boxed{1, 4}": {1, 4}, r"\boxed{1, 2, 3, 4}": {1, 2, 3, 4}, r"\boxed{}": set()},
        ("3", r"\boxed{3", r"\boxed{5}", r"\boxed{the third}"),
        partial(read_seats, seats=4),
        reward_group,
    ),
    "r4p_group_v2": ReplyForm(
        r"\\boxed\{[\d, ]+\}|\\boxed\{\}(?= for none)",
        {r"\boxed{1, 4}": {1, 4}, r"\boxed{}": set()},
        ("3", r"\boxed{3", r"\boxed{5}", "Patch 1: 0.35"),
        partial(read_seats, seats=4),
        reward_group,
    ),
    "r4p_appendix_b": ReplyForm(
        BOX,
        {r"\boxed{1}": {1}, r"\boxed{2, 4}": {2, 4}, r"\boxed{1, 2, 3, 4}": {1, 2, 3, 4}, r"\boxed{}": set()},
        ("3", r"\boxed{3", r"\boxed{5}", r"\boxed{the third}"),
        partial(read_seats, seats=4),
        reward_group,
    ),
    "most_likely": ReplyForm(
        BOX,
        {r"\boxed{3}": {3}},
        ("3", r"\boxed{}", r"\boxed{1, 3}"),
        partial(read_seats, seats=4, count=1),
    ),
    "pairwise": ReplyForm(
        BOX,
        {r"\boxed{1}": {1}, r"\boxed{2}": {2}, r"\boxed{1, 2}": {1, 2}, r"\boxed{}": set()},
        ("1", r"\boxed{3}", r"\boxed{better}"),
        partial(read_seats, seats=2),
    ),
    "yes_no": ReplyForm(
        r"YES(?= if)|NO(?= if)", {"YES": True, "NO": False}, ("It does.", ""), read_yes_no
    ),
    "agentless_locate": ReplyForm(
        r"```\n.*?\n```",
        {f"```\n{FILE}\n```": (FILE,)},
        ("```\nsomewhere/else.py\n```", "In the file of the parser."),
        lambda reply: read_paths(reply, {FILE}, 4).paths or None,
    ),
    "reproduction_test": ReplyForm(
        r"```python\n.*?\n```",
        {"```python\nthe script\n```": "the script\n"},
        ("the script", "```python\n\n```", "```sh\nthe script\n```"),
        read_script,
    ),
    "agentless_repair": ReplyForm(
        r"### .*?>>>>>>> REPLACE",
        {BLOCK: EDITS},
        ("", BLOCK.replace("=======\n", ""), BLOCK.replace(f"### {FILE}\n", "")),
        partial(read_edits, prompt="agentless_repair"),
    ),
    "swe_rl_repair": ReplyForm(
        r"<think>\n.*?</solution>",
        {TAGGED: EDITS},
        (BLOCK, TAGGED + SOLUTION, TAGGED.replace("</solution>", ""), TAGGED.replace("=======\n", "")),
        partial(read_edits, prompt="swe_rl_repair"),
        lambda reply, _: reward_imitation(reply, {FILE: SEARCH}, {FILE: REPLACE}),
    ),
    "mini_se": CALLING,
    "review": ReplyForm(
        r'\{"decision".*\}\]\}',
        {REVIEW: {1}},
        ("I approve.", REVIEW.replace("recommendation", "verdict"), REVIEW.replace('"approve"', '"merge"')),
        partial(read_report, read=read_review),
    ),
    "test_report": ReplyForm(
        r'\{"test_report".*?\}',
        {TEST_REPORT: {1}},
        ("All tests pass.", TEST_REPORT.replace("1", "2"), f"{TEST_REPORT} That is all."),
        partial(read_report, read=read_test_report),
    ),
    "rubric_write": ReplyForm(
        r'\{"kind".*?\}',
        {LINE: (RubricLine(RubricKind.SPECIFICATION, 3, CONDITION),)},
        (CONDITION, LINE.replace("3", "4"), LINE.replace("specification", "style")),
        lambda reply: read_lines(reply) or None,
    ),
    "rubric_grade": ReplyForm(
        r"(?<=\n)\d: [^\n]+",
        {
            "1: MET - `parse` now returns an empty list": {1: Grade(RubricMark.MET, "`parse` now returns an empty list")},
            "2: NOT MET - the loop still skips the last item": {2: Grade(RubricMark.NOT_MET, "the loop still skips the last item")},
        },
        ("MET", "1: GOOD - well done", "3: MET - a line that the checklist lacks"),
        lambda reply: read_grades(reply, 2) or None,
    ),
    "rubric_agent": CALLING,
    "review_tools": CALLING,
    "back_translation": ReplyForm(
        r"</?issue>",
        {f"<issue>\n{ISSUE}</issue>": ISSUE},
        (ISSUE, f"<issue>\n{ISSUE}", "<issue>\nA title alone\n</issue>", f"<issue>\nThe failing test\n\n{ISSUE}</issue>"),
        read_report_of_user,
    ),
}  # fmt: skip
"""How each prompt's replies look. A reply to Mini-SE is scored by its episode and has no reward of its own."""
ASKED_AT_THE_END = {"r4p_group_v2"}
"""Prompts that show their form in the user's message, after the patches, and nowhere else."""
TAGS_ALONE = {"back_translation": {"<issue>", "</issue>"}}
"""Prompts that name the tags of a reply and show no example, which a small model would copy."""
TOOLS_OF = {
    "mini_se": TOOLS,
    "rubric_agent": tree_reader.TOOLS,
    "review_tools": tree_reviewer.TOOLS,
}


@pytest.fixture(params=PROMPTS)
def form(request):
    assert request.param in FORMS, "a new prompt needs its reply form here"
    return FORMS[request.param]


def render(prompt):
    system, user = prompt_template.load(prompt).render(**VALUES)
    shown = user if prompt in ASKED_AT_THE_END else system
    return shown.content + (
        tool_text.describe_tools(TOOLS_OF[prompt]) if prompt in TOOLS_OF else ""
    )


@pytest.mark.parametrize("prompt", PROMPTS)
def test_prompt_shows_these_forms_and_no_more(prompt):
    shown = {*re.findall(FORMS[prompt].pattern, render(prompt), re.DOTALL)}
    assert shown == TAGS_ALONE.get(prompt, {*FORMS[prompt].readings})


def test_reply_in_the_form_of_the_prompt_is_read_and_earns_all(form):
    for example, reading in form.readings.items():
        assert form.read(example) == reading
        assert form.reward is None or form.reward(example, reading) == 1


def test_reply_in_another_form_is_not_read_and_does_not_earn_all(form):
    for reply in form.violations:
        assert form.read(reply) is None
        for reading in form.readings.values():
            assert form.reward is None or form.reward(reply, reading) <= 0


def test_mini_se_names_its_tools():
    system, _ = prompt_template.load("mini_se").render(**VALUES)
    assert {*re.findall(r"`(\w+_(?:tool|submission))`", system.content)} == {
        tool.name for tool in TOOLS
    }


def test_agent_reads_each_reply_that_the_reward_scores():
    files, merged = {FILE: f"{SEARCH}\n{SEARCH}s\n"}, {FILE: f"{REPLACE}\n{SEARCH}s\n"}
    for reply in (
        TAGGED,
        f"Well. {TAGGED} {BLOCK}",
        TAGGED.replace("<solution>", "So: <solution>"),
    ):
        assert reward_imitation(reply, files, merged) == 1
        after = search_replace.apply(search_replace.parse_solution(reply), files)
        assert after == merged


def test_agent_needs_no_thought_in_the_reply_but_the_reward_does():
    """A server with a parser for reasoning takes the thought out of a reply."""
    assert search_replace.parse_solution(SOLUTION) == EDITS
    assert reward_imitation(SOLUTION, {FILE: SEARCH}, {FILE: REPLACE}) == MALFORMED_REWARD


def test_tag_in_the_code_is_escaped_and_edited_unescaped():
    files = {FILE: "open = '<solution>'\nclose = '</solution>'\n"}
    shown = search_replace.escape_file(files[FILE])
    assert "solution>" in shown
    assert "<" not in shown
    reply = TAGGED.replace(SEARCH, shown.splitlines()[0]).replace(REPLACE, "open = ''")
    merged = {FILE: "open = ''\nclose = '</solution>'\n"}
    assert reward_imitation(reply, files, merged) == 1
