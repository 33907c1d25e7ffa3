"""A model family that the bot has never heard of: a byte-level tokenizer with markers of its own, and a tiny model."""

from pathlib import Path

MARKERS = ("<zz_role>", "<⟪sys⟫>", "[ZZ:END]", "<zz▁call>", "zzstop")
"""Tokens that act on the model. The first is special by its flag, the last by its role, the others by their form."""
ORDINARY = ("\n\n", "        ", "\t\t", "é", "{", "<table>", "return", "None", "->")
"""Added tokens that code is full of."""
_TEMPLATE = (
    "{% for message in messages %}<zz_role>{{ message['role'] }}\n{{ message['content'] }}[ZZ:END]{% endfor %}"
    "{% if add_generation_prompt %}<zz_role>assistant\n{% endif %}"
)


def build_tokenizer():
    """Build the tokenizer. It replaces compatibility characters before it looks for the tokens that are not special."""
    from tokenizers import (  # noqa: PLC0415
        AddedToken,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
    )
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    built = Tokenizer(models.BPE(vocab={sign: at for at, sign in enumerate(alphabet)}, merges=[]))
    built.normalizer = normalizers.NFKC()
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    built.add_special_tokens([MARKERS[0]])
    built.add_tokens([AddedToken(token, normalized=True) for token in (*MARKERS[1:-1], *ORDINARY)])
    fast = PreTrainedTokenizerFast(tokenizer_object=built, eos_token=MARKERS[-1])
    fast.chat_template = _TEMPLATE
    return fast


def write_model(directory: Path) -> Path:
    """Write the tokenizer and a random model of one layer."""
    import torch  # noqa: PLC0415
    from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: PLC0415

    tokenizer = build_tokenizer()
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=128,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=32_768,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    Qwen2ForCausalLM(config).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
