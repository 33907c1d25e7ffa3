"""A language model that trains in seconds on one core: a random Qwen2 and a tokenizer that knows our prompts.

`groups` follow a rule that can be learnt: a patch is correct where it guards the value. `base` is a model that answers
such groups in boxes that can be read and knows a little of the rule: what is left to learn is to trust it. vLLM serves it (its heads have the
64 dimensions that vLLM's attention on a CPU asks for).
"""

import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from model.prompts import prompt_template
from training.datasets import verifier_prompts
from training.datasets.groups import TrainingGroup

CONTEXT = 4096
NAMES = ("limit", "count", "width", "depth")
ANSWERS = ("\\boxed{}", "\\boxed{1, 2, 3, 4}", "\\boxed{1}", "\\boxed{2}", "\\boxed{3, 4}")
_KNOWN = 0.4
"""Share of the warm-up's answers that follow the rule; the others are drawn from ANSWERS."""
_WARM_UP_STEPS = 150
_WARM_UP_ROWS = 12
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build_groups(count: int, seed: int = 0) -> list[TrainingGroup]:
    """Groups of four patches, each group all guarded (correct) or all not; each about an issue of its own."""
    draw = random.Random(seed)
    return [_group(number, draw.random() < 0.5, draw) for number in range(count)]


def build_diff(name: str, value: int, *, guarded: bool) -> str:
    """One small patch, correct by the rule or not."""
    after = f"guard({value})" if guarded else f"{value} or None"
    return f"{_head(name)}{value}\n+{name} = {after}\n"


def _group(number: int, guarded: bool, draw: random.Random) -> TrainingGroup:
    name = draw.choice(NAMES)
    return TrainingGroup(
        key=f"toy-{number}",
        issue=f"octo/toy#{number}",
        repo="octo/toy",
        problem_statement=f"The {name} is not checked\n\nA bad {name} is taken as it is.",
        patches=tuple(build_diff(name, draw.randrange(100), guarded=guarded) for _ in range(4)),
        targets=(float(guarded),) * 4,
    )


def render_messages(group: TrainingGroup) -> list[dict[str, str]]:
    """The group as the verifier's prompt has it."""
    shown = verifier_prompts.render_group(prompt_template.load("r4p_group"), group)
    return [{"role": one.role, "content": one.content} for one in shown]


def write_random_model(directory: Path, *, seed: int = 0) -> Path:
    """A model that knows nothing, and its tokenizer; 2 MB, made in a second or two."""
    import torch  # noqa: PLC0415
    from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: PLC0415

    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.08,
    )
    Qwen2ForCausalLM(config).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def write_base(
    directory: Path,
    *,
    seed: int = 0,
    shown: Sequence[TrainingGroup] = (),
    settled: bool = False,
) -> Path:
    """A model that answers such groups in boxes, more often right than not.

    `shown`: what it sees of them before. `settled`: its rate falls to nothing, which longer prompts ask for.
    """
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    write_random_model(directory, seed=seed)
    tokenizer = AutoTokenizer.from_pretrained(directory)
    model = AutoModelForCausalLM.from_pretrained(directory)
    draw = random.Random(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    before = shown or build_groups(128, seed=seed + 1000)
    asked = [(tokenize_prompt(tokenizer, one), one) for one in before]
    for step in range(_WARM_UP_STEPS):
        if settled:
            optimiser.param_groups[0]["lr"] = 3e-3 * (1 - step / _WARM_UP_STEPS)
        rows = [
            (ids, tokenizer(_warm_up_answer(group, draw) + "<|im_end|>")["input_ids"])
            for ids, group in draw.sample(asked, _WARM_UP_ROWS)
        ]
        inputs, labels = _pad_rows(rows, tokenizer.pad_token_id)
        loss = model(
            input_ids=inputs, attention_mask=inputs != tokenizer.pad_token_id, labels=labels
        ).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
    model.save_pretrained(directory)
    return directory


def _warm_up_answer(group: TrainingGroup, draw: random.Random) -> str:
    return ANSWERS[group.positives == 4] if draw.random() < _KNOWN else draw.choice(ANSWERS)


def tokenize_prompt(tokenizer, group: TrainingGroup) -> list[int]:
    """What the model reads before it answers about a group."""
    return tokenizer.apply_chat_template(
        render_messages(group), add_generation_prompt=True, return_dict=False
    )


def _pad_rows(rows: Sequence[tuple[list[int], list[int]]], pad: int):
    import torch  # noqa: PLC0415

    longest = max(len(prompt) + len(reply) for prompt, reply in rows)
    gaps = [longest - len(prompt) - len(reply) for prompt, reply in rows]
    inputs = [prompt + reply + [pad] * gap for (prompt, reply), gap in zip(rows, gaps, strict=True)]
    labels = [
        [-100] * len(prompt) + reply + [-100] * gap
        for (prompt, reply), gap in zip(rows, gaps, strict=True)
    ]
    return torch.tensor(inputs), torch.tensor(labels)


def _tokenizer():
    """Byte-level BPE, trained on what it will read, with ChatML's marks."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [one["content"] for group in build_groups(32) for one in render_messages(group)]
    made.train_from_iterator([*texts, *ANSWERS], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    # what every prompt says becomes a few tokens instead of hundreds
    fast.add_tokens(_list_fixed_texts())
    fast.chat_template = _TEMPLATE
    return fast


def _list_fixed_texts() -> list[str]:
    shown = prompt_template.load("r4p_group").render(issue="", patches=())
    paragraphs = [line for one in shown for line in one.content.splitlines() if len(line) > 100]
    tags = [f"{end}patch-{seat}>" for seat in range(1, 5) for end in ("<", "</")]
    return [*paragraphs, *tags, *map(_head, NAMES), "guard", "None"]


def _head(name: str) -> str:
    return f"--- a/{name}.py\n+++ b/{name}.py\n@@ -1 +1 @@\n-{name} = "


_KEPT: list[Path] = []


def get_base() -> Path:
    """`base`, made once in a process, read by whoever asks: copy it before you change it."""
    if not _KEPT:
        _KEPT.append(write_base(Path(tempfile.mkdtemp(prefix="r4p-tiny-"))))
        import atexit  # noqa: PLC0415

        atexit.register(shutil.rmtree, _KEPT[0], ignore_errors=True)
    return _KEPT[0]
