"""A tiny model that works as Mini-SE in one of two ways, at random: which is right is left to learn.

It mends `half` by `n / 2` or by `n * 0`. Both ways are one token each, so that a few steps tell them apart.
"""

import random
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from model.agents.tools.toolbox import TOOLS
from model.prompts.prompt_template import load
from model.prompts.untrusted import escape_issue
from tests.builders import guided_attempts
from tests.builders.models import tiny_model
from tests.model.agents.builders import CODE, ISSUE
from tests.model.codegraph.builders import write_files
from training.rollouts import chat_encoding

RIGHT, WRONG = "n / 2", "n * 0"
_STEPS, _ROWS = 60, 4


def tree(root: Path) -> Path:
    write_files(root, {"pie/maths.py": CODE})
    return root


def base(directory: Path, scratch: Path) -> Path:
    """The weights and the tokenizer."""
    torch.manual_seed(0)
    tiny_model.write_random_model(directory)
    tokenizer = AutoTokenizer.from_pretrained(directory)
    attempts = [
        guided_attempts.run_attempt(scratch / "tree", guided_attempts.script_fix(new))
        for new in (RIGHT, WRONG)
    ]
    tokenizer.add_tokens(_phrases(attempts))
    model = AutoModelForCausalLM.from_pretrained(directory)
    model.resize_token_embeddings(len(tokenizer))
    rows = [chat_encoding.encode_attempt(tokenizer, one) for one in attempts]
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    draw = random.Random(0)
    for _ in range(_STEPS):
        loss = sum(_loss(model, draw.choice(rows)) for _ in range(_ROWS)) / _ROWS
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def _loss(model, row):
    labels = [
        token if own else -100 for token, own in zip(row.completion, row.own_mask, strict=True)
    ]
    return model(
        input_ids=torch.tensor([row.prompt + row.completion]),
        labels=torch.tensor([[-100] * len(row.prompt) + labels]),
    ).loss


def _phrases(attempts) -> list[str]:
    """What stands in every prompt, and each whole reply."""
    opening = load("mini_se").render(issue=escape_issue(ISSUE.text).text, hint="")
    lines = [
        line
        for one in chat_encoding.flatten_tool_turns(opening, TOOLS)
        for line in one.content.splitlines()
    ]
    replies = [step.reply.content for one in attempts for step in one.steps]
    return [*dict.fromkeys([*replies, *(line for line in lines if len(line) > 30)])]
