"""The examples of docs/library.md run unchanged and pass the type checker."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import model
from tests.model.chat_server import MODELS, build_completion, serve_chat

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/library.md").read_text(), re.DOTALL)
DIFF = """--- a/mean.py
+++ b/mean.py
@@ -1,2 +1,2 @@
 def mean(values):
-    return sum(values) / len(values)
+    return {}
"""
FIXES = {
    "a": "sum(values) / len(values) if values else 0.0",
    "b": "sum(values) / max(len(values), 1)",
    "c": "0.0",
}


@pytest.fixture
def run(tmp_path):
    """Runs code beside three patches of one issue; what it printed."""
    (tmp_path / "issue.md").write_text("ZeroDivisionError")
    for name, fix in FIXES.items():
        (tmp_path / f"{name}.diff").write_text(DIFF.format(fix))

    def output(code):
        command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.splitlines()

    return output


def test_example_judges_a_group_with_a_server(run):
    replies = [build_completion(r"They differ. \boxed{1,2}")]
    with serve_chat(models=[MODELS], chat=replies) as server:
        code = BLOCKS[0].replace("http://localhost:8000/v1", server.url)
        assert server.url in code
        lines = run(code)
    assert [line.split()[0] for line in lines] == ["a", "b", "c"]
    counts = [int(n) for n in re.findall(r"VoteCount\(correct=(\d)", "\n".join(lines))]
    assert sum(counts) == 4 * 2  # four votes, each for two seats


def test_example_without_a_model_scores_every_patch(run):
    lines = [line.split() for line in run(BLOCKS[1])]
    assert [(name, verdict) for name, verdict, _ in lines] == [(n, "unsure") for n in "abc"]
    assert all(0 < float(score) < 1 for _, _, score in lines)


def test_first_example_has_at_most_ten_lines():
    assert len([line for line in BLOCKS[0].splitlines() if line]) <= 10


def test_exports_every_public_name_and_no_other():
    assert all(getattr(model, name) for name in model.__all__)
    with pytest.raises(AttributeError, match="no attribute 'oracle'"):
        _ = model.oracle
