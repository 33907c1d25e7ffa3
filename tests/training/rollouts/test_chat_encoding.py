"""Conversations as token ids, by a real tokenizer with a real chat template."""

import pytest

from model.agents.tools.toolbox import TOOLS
from model.agents.trajectories.trajectory import build_conversation
from model.protocols import Message
from tests.builders import guided_attempts
from tests.builders.models import tiny_model
from training.rollouts import chat_encoding
from training.rollouts.chat_encoding import SampledReply
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
    encoded = chat_encoding.encode_chat(tokenizer, TALK, [SampledReply(cut_otherwise)])
    assert encoded.completion[: len(cut_otherwise)] == cut_otherwise
    assert encoded.own_mask[: len(cut_otherwise) + 1] == [1] * len(cut_otherwise) + [0]


def test_log_probabilities_stand_at_the_sampled_tokens(tokenizer):
    first, second = SampledReply([5, 6, 2], [-0.5, -0.25, -1.0]), SampledReply([7, 2], [-2.0, None])
    encoded = chat_encoding.encode_chat(tokenizer, TALK, [first, second])
    inserted = len(encoded.completion) - 5
    assert encoded.log_probabilities == [-0.5, -0.25, -1.0, *[0.0] * inserted, -2.0, None]
    assert encoded.own_mask == [1, 1, 1, *[0] * inserted, 1, 1]
    for replies in ([first], [SampledReply([5, 2]), second]):
        assert chat_encoding.encode_chat(tokenizer, TALK, replies).log_probabilities is None
    assert first.truncate(2) == SampledReply([5, 6], [-0.5, -0.25])
    assert SampledReply([5, 6]).truncate(1) == SampledReply([5])


FORGETS_THOUGHTS = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{{ m['content'].split('</think>')[-1] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_sampled_thought_stays_though_the_template_drops_it(tokenizer):
    thought = "<think>Where?</think>I look."
    talk = (*TALK[:2], Message("assistant", thought), *TALK[3:])
    reply = SampledReply([*tokenize_text(tokenizer, thought), tokenizer.eos_token_id])
    template = tokenizer.chat_template
    tokenizer.chat_template = FORGETS_THOUGHTS
    try:
        encoded = chat_encoding.encode_chat(tokenizer, talk[:4], [reply])
        with pytest.raises(chat_encoding.BadChatTemplate):
            chat_encoding.encode_chat(tokenizer, talk[:4])
    finally:
        tokenizer.chat_template = template
    text = tokenizer.decode(encoded.prompt + encoded.completion)
    assert text == (
        "<|im_start|>system\nMend.<|im_end|>\n<|im_start|>user\nIt is off.<|im_end|>\n"
        f"<|im_start|>assistant\n{thought}<|im_end|>\n"
        "<|im_start|>user\nHere it is.<|im_end|>\n<|im_start|>assistant\n"
    )


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
