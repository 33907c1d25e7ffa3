"""A quantised GGUF file turned, once, into a bf16 copy that loads in seconds.

Imports torch and transformers; `model.catalog` loads it when it is asked for.
"""

import tempfile
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import torch
import transformers

from model.engines.weights import ModelFile, locked


def copy_of(model: ModelFile, cache: Path) -> Path:
    """Where the copy is, or will be; its name carries the hash of the file it is made from."""
    return cache / f"{model.name}-{model.sha256[:12]}-bf16"


def prepare(model: ModelFile, gguf: Path, cache: Path) -> Path:
    """The directory with the bf16 copy and its tokenizer, made in about half a minute where it is missing.

    It appears whole or not at all.
    """
    target = copy_of(model, cache)
    with locked(cache):
        if target.is_dir():
            return target
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
            copy = Path(scratch) / "copy"
            tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
            # the bar of a library that can't be told not to draw one
            with redirect_stderr(StringIO()):
                weights = transformers.AutoModelForCausalLM.from_pretrained(
                    gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16
                )
            _forget_quantisation(weights)
            weights.save_pretrained(copy)
            tokenizer.save_pretrained(copy)
            return copy.rename(target)


def _forget_quantisation(weights: transformers.PreTrainedModel) -> None:
    """The tensors are plain bf16 by now; marks of a quantiser would make `save_pretrained` refuse."""
    for mark in ("hf_quantizer", "is_quantized", "quantization_method"):
        vars(weights).pop(mark, None)
    vars(weights.config).pop("quantization_config", None)
