"""Convert a quantised GGUF file once into a bf16 copy that loads in seconds.

Imports torch and transformers, so `model.catalog` imports this module on demand.
"""

import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import torch
import transformers

from model.engines import weights
from model.engines.weights import ModelFile, lock_directory
from model.errors import EngineDown


def fetch_copy(
    name: str, cache: Path, *, local: Path | None, on_step: Callable[[str, int, int], None]
) -> Path:
    """Return the directory of the bf16 copy of the catalogue's model `name`; fetch and convert the model if needed.

    `local` is a directory that may already hold the model's file. `on_step` reports progress as a step, the amount done
    and the total. Raises EngineDown for an unknown name, and WeightsUnavailable when no source has the file.
    """
    file = weights.CATALOGUE.get(name)
    if file is None:
        raise EngineDown(
            f"unknown embedded model {name!r}; choose {', '.join(weights.CATALOGUE)}, "
            "or give the URL of an engine with another model"
        )
    copy = locate_copy(file, cache)
    if copy.is_dir():
        return copy
    gguf = weights.fetch(file, cache, local=local, on_progress=on_step)
    on_step("unpacking the model, once", 0, 0)
    return prepare(file, gguf, cache)


def locate_copy(model: ModelFile, cache: Path) -> Path:
    """Return the directory in `cache` for a model's bf16 copy. The directory may not exist yet.

    Its name contains the beginning of the source file's hash.
    """
    return cache / f"{model.name}-{model.sha256[:12]}-bf16"


def prepare(model: ModelFile, gguf: Path, cache: Path) -> Path:
    """Return the directory of a model's bf16 copy with its tokenizer, and create it in `cache` if it is missing.

    The copy is made from the file `gguf` in about half a minute. The directory appears complete or not at all.
    """
    target = locate_copy(model, cache)
    with lock_directory(cache):
        if target.is_dir():
            return target
        # The scratch directory lies in the cache, because a rename is atomic on one file system only.
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
            copy = Path(scratch) / "copy"
            tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
            # hides a progress bar that has no option to turn it off
            with redirect_stderr(StringIO()):
                model_weights = transformers.AutoModelForCausalLM.from_pretrained(
                    gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16
                )
            # Loading already unpacked every tensor to bf16. Only the marks of the GGUF file are left.
            _forget_quantisation(model_weights)
            model_weights.save_pretrained(copy)
            tokenizer.save_pretrained(copy)
            return copy.rename(target)


def _forget_quantisation(model: transformers.PreTrainedModel) -> None:
    """Remove the quantiser's marks: the tensors are plain bf16, and `save_pretrained` refuses marked models."""
    for mark in ("hf_quantizer", "is_quantized", "quantization_method"):
        vars(model).pop(mark, None)
    vars(model.config).pop("quantization_config", None)
