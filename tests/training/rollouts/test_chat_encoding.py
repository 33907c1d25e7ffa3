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


def test_the_models_own_words_are_told_from_what_it_was_told(tokenizer):
    found = chat_encoding.encode_chat(tokenizer, TALK)
    own = [token for token, is_own in zip(found.completion, found.own_mask, strict=True) if is_own]
    assert tokenizer.decode(own) == "I look.<|im_end|>I mend.<|im_end|>"
    assert tokenizer.decode(found.prompt) == render_prompt(tokenizer, TALK[:2])
    whole = tokenizer.apply_chat_template(
        [{"role": one.role, "content": one.content} for one in TALK], tokenize=False
    )
    assert tokenizer.decode(found.prompt + found.completion) == whole.removesuffix("\n")


def test_a_conversation_that_waits_for_a_reply_ends_with_its_opening(tokenizer):
    found = chat_encoding.encode_chat(tokenizer, TALK[:4])
    assert tokenizer.decode(found.prompt + found.completion) == render_prompt(tokenizer, TALK[:4])
    assert found.own_mask[-1] == 0
    assert chat_encoding.encode_chat(tokenizer, TALK[:2]).completion == []


def test_a_reply_that_was_sampled_keeps_its_own_tokens(tokenizer):
    cut_otherwise = [*tokenize_text(tokenizer, "I"), *tokenize_text(tokenizer, " look."), 2]
    found = chat_encoding.encode_chat(tokenizer, TALK, [cut_otherwise])
    assert found.completion[: len(cut_otherwise)] == cut_otherwise
    assert found.own_mask[: len(cut_otherwise) + 1] == [1] * len(cut_otherwise) + [0]


def test_an_attempt_is_encoded_up_to_its_last_reply_its_tools_in_words(tokenizer, tmp_path):
    done = guided_attempts.run_attempt(tmp_path / "tree", guided_attempts.script_fix("n / 2"))
    found = chat_encoding.encode_attempt(tokenizer, done)
    own = [token for token, is_own in zip(found.completion, found.own_mask, strict=True) if is_own]
    said = tokenizer.decode(own)
    assert said.count("<|im_end|>") == 2
    assert "patch_submission" in said
    assert "Result of" not in said
    assert "Result of edit_tool" in tokenizer.decode(found.completion)
    assert "### search_tool" in tokenizer.decode(found.prompt)
    assert "The patch was handed in" not in tokenizer.decode(found.completion)


def test_without_tools_turns_are_as_they_are():
    assert chat_encoding.flatten_tool_turns(TALK, ()) == TALK
    assert chat_encoding.flatten_tool_turns(TALK[:2], TOOLS)[0].content.startswith("Mend.")
    assert build_conversation(TALK, ()) == TALK


def test_a_template_that_changes_earlier_turns_is_refused(tokenizer):
    template = tokenizer.chat_template
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] if loop.last }}{% endfor %}"
    try:
        with pytest.raises(chat_encoding.BadChatTemplate, match="changes earlier turns"):
            chat_encoding.encode_chat(tokenizer, TALK)
    finally:
        tokenizer.chat_template = template
