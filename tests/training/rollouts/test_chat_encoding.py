"""Conversations as token ids, by a real tokenizer with a real chat template."""

import pytest

from model.agents.tools.toolbox import TOOLS
from model.agents.trajectories.trajectory import build_conversation
from model.protocols import Message
from tests.builders import guided_attempts, tiny_model
from training.rollouts import chat_encoding
from training.rollouts.tokenization import render_prompt, tokenize_text


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_model._tokenizer()


TALK = (
    Message("system", "Mend."),
    Message("user", "It is off."),
    Message("assistant", "I look."),
    Message("user", "Here it is."),
    Message("assistant", "I mend."),
)


def test_own_mask_covers_the_models_replies(tokenizer):
    encoded = chat_encoding.encode_chat(tokenizer, TALK)
    own = [
        token for token, is_own in zip(encoded.completion, encoded.own_mask, strict=True) if is_own
    ]
    assert tokenizer.decode(own) == "I look.<|im_end|>I mend.<|im_end|>"
    assert tokenizer.decode(encoded.prompt) == render_prompt(tokenizer, TALK[:2])
    whole = tokenizer.apply_chat_template(
        [{"role": one.role, "content": one.content} for one in TALK], tokenize=False
    )
    assert tokenizer.decode(encoded.prompt + encoded.completion) == whole.removesuffix("\n")


def test_conversation_that_waits_ends_with_the_reply_prompt(tokenizer):
    encoded = chat_encoding.encode_chat(tokenizer, TALK[:4])
    assert tokenizer.decode(encoded.prompt + encoded.completion) == render_prompt(
        tokenizer, TALK[:4]
    )
    assert encoded.own_mask[-1] == 0
    assert chat_encoding.encode_chat(tokenizer, TALK[:2]).completion == []


def test_sampled_reply_keeps_its_tokens(tokenizer):
    cut_otherwise = [*tokenize_text(tokenizer, "I"), *tokenize_text(tokenizer, " look."), 2]
    encoded = chat_encoding.encode_chat(tokenizer, TALK, [cut_otherwise])
    assert encoded.completion[: len(cut_otherwise)] == cut_otherwise
    assert encoded.own_mask[: len(cut_otherwise) + 1] == [1] * len(cut_otherwise) + [0]


def test_attempt_is_encoded_up_to_its_last_reply(tokenizer, tmp_path):
    trajectory = guided_attempts.run_attempt(tmp_path / "tree", guided_attempts.script_fix("n / 2"))
    encoded = chat_encoding.encode_attempt(tokenizer, trajectory)
    own = [
        token for token, is_own in zip(encoded.completion, encoded.own_mask, strict=True) if is_own
    ]
    own_text = tokenizer.decode(own)
    assert own_text.count("<|im_end|>") == 2
    assert "patch_submission" in own_text
    assert "Result of" not in own_text
    assert "Result of edit_tool" in tokenizer.decode(encoded.completion)
    assert "### search_tool" in tokenizer.decode(encoded.prompt)
    assert "The patch was handed in" not in tokenizer.decode(encoded.completion)


def test_turns_without_tools_are_unchanged():
    assert chat_encoding.flatten_tool_turns(TALK, ()) == TALK
    assert chat_encoding.flatten_tool_turns(TALK[:2], TOOLS)[0].content.startswith("Mend.")
    assert build_conversation(TALK, ()) == TALK


def test_template_that_changes_earlier_turns_is_refused(tokenizer):
    template = tokenizer.chat_template
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] if loop.last }}{% endfor %}"
    try:
        with pytest.raises(chat_encoding.BadChatTemplate, match="changes earlier turns"):
            chat_encoding.encode_chat(tokenizer, TALK)
    finally:
        tokenizer.chat_template = template
