"""The pages whose code blocks the tests run, and the blocks."""

import re
import subprocess
import textwrap

from deploy.build_site import ROOT

README = "README.md"
TUTORIAL = "docs/tutorial.md"


def list_blocks(page):
    """Language and text of each code block, without the indentation of the list that it stands in."""
    fence = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
    found = fence.findall((ROOT / page).read_text())
    return [(language, textwrap.dedent(text)) for _, language, text in found]


def build_clone(folder):
    """Make `folder` look like the root of a clone: the environment, and the tutorial's issue and patches."""
    (folder / ".venv").symlink_to(ROOT / ".venv")
    for language, text in list_blocks(TUTORIAL):
        if language == "console" and "cat > issue.md" in text:
            subprocess.run(["bash", "-ec", text], cwd=folder, check=True)
    return folder
