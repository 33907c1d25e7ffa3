"""A whole proof on a CPU: toy issues with real repositories' names, a tiny model, and the commands as an operator types them."""

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

from tests.builders.models import tiny_model
from training.gpu_proof import bundle, data_selection, packing
from training.gpu_proof.settings import ProofSize

TINY = ProofSize(
    "tiny",
    "tiny",
    "weights/tiny",
    needs_gpu=False,
    is_float32=True,
    votes=2,
    learning_rate=1e-2,
    example_tokens=1024,
    batch=8,
    yes_no_steps=24,
    boxed_steps=4,
    rounds=2,
    prompts=4,
    replies=4,
    reply_tokens=16,
    policy_rate=1e-3,
    checkpoint_steps=4,
)
WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdfgklmnprst"]


def build_issue(repo: str, number: int, patches: int = 4) -> dict:
    """One labelled group: a patch is correct if it guards the value. No two issues share a text or an edit."""
    draw = random.Random(f"{repo} {number}")
    name = draw.choice(tiny_model.NAMES)
    labels = [True, False, *(draw.random() < 0.5 for _ in range(patches - 2))]
    draw.shuffle(labels)
    return {
        "instance_id": f"{repo.replace('/', '__')}-{number}",
        "repo": repo,
        "problem_statement": f"The {name} is not checked\n\n{' '.join(draw.choices(WORDS, k=30))}",
        "patches": [
            {
                "patch": tiny_model.build_diff(name, number * 10 + seat, guarded=label),
                "resolved": label,
                "source": f"system-{seat}/run",
            }
            for seat, label in enumerate(labels)
        ],
    }


def write_groups(path: Path, groups: list[dict]) -> None:
    """Write a file of labelled groups."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(one) + "\n" for one in groups).encode()))


def write_public_data(data: Path, issues: int = 32) -> Path:
    """Write the four public files: evaluated issues late in Django, others early in Django and elsewhere."""
    # Calibration needs 30 issues with 20 patches of each label, so two patches of an issue are enough.
    late = [build_issue("django/django", 16_000 + number, patches=2) for number in range(issues)]
    early = [build_issue("django/django", 10_000 + number) for number in range(24)]
    write_groups(data / "distinct_eval_groups.jsonl.gz", [*late, early[0]])
    write_groups(data / "r4p_style_eval_groups.jsonl.gz", late[:31])
    write_groups(data / "swebench_patches.jsonl.gz", [*late, *early])
    write_groups(
        data / "multilang_patches.jsonl.gz",
        [build_issue("octo/toy", number) for number in range(8)],
    )
    return data


def write_bundle(folder: Path, size: ProofSize = TINY, limit: int = 1_000_000) -> Path:
    """Pack the real source, the toy data and a tiny model, without wheels; return the folder of the parts."""
    content = folder / "content"
    content.mkdir(parents=True)
    packing.write_source(content / bundle.SOURCE)
    data_selection.write_data(write_public_data(folder / "public"), content)
    packing.write_sizes(content, [size])
    tiny_model.write_random_model(content / size.weights)
    files = {str(path.relative_to(content)): path for path in packing.list_files(content)}
    bundle.write_parts(files, folder / "parts", limit)
    return folder / "parts"


def run_command(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command as on a machine without this checkout."""
    return subprocess.run(
        list(map(str, words)),
        env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )


def receive(part: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Receive one part, as the operator does."""
    return run_command(sys.executable, part / bundle.RECEIVER, home)


def prove(home: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run the command that came with the bundle."""
    return run_command("sh", home / bundle.PROVE, *words, "--home", home)
