"""Draws the verdict with tests of `make demo DEMO="--json FILE"` as GitHub would show it: `python -m tests.picture FILE docs/verdict.png`.

Needs Chromium. Not a test; the picture in the README is made with it.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cmarkgfm import github_flavored_markdown_to_html
from cmarkgfm.cmark import Options

STYLE = """
body { font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; color: #1f2328;
  margin: 0; padding: 16px; width: 860px; background: #fff }
.box { border: 1px solid #d1d9e0; border-radius: 6px; margin-bottom: 14px }
.head { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e;
  border-radius: 6px 6px 0 0 }
.head b { color: #1f2328 } .body { padding: 4px 16px }
table { border-collapse: collapse } th, td { border: 1px solid #d1d9e0; padding: 5px 12px } th { background: #f6f8fa }
code { background: #818b981f; padding: 2px 5px; border-radius: 5px; font-size: 12px } h3 { font-size: 17px }
blockquote { border-left: 4px solid #d1d9e0; margin: 0 0 10px; padding: 0 14px; color: #59636e }
.alert { border-left: 4px solid #9a6700; padding: 4px 14px; margin-bottom: 12px } .alert b { color: #9a6700 }
.alert p { margin: 4px 0 }
.check { display: flex; gap: 10px; padding: 7px 16px; border-top: 1px solid #d1d9e0 }
.head + .check { border-top: 0 } .check > :first-child { width: 14px; text-align: center }
.success { color: #1a7f37 } .neutral, .skipped { color: #59636e } .failure { color: #d1242f }
"""
HEIGHT = "<script>document.title = document.body.offsetHeight</script>"
SIGNS = {"success": "✔", "failure": "✘", "neutral": "■", "skipped": "⊘"}


def page(result: dict) -> str:
    """The comment and the check runs as one HTML page."""
    body = github_flavored_markdown_to_html(
        result["issue_comment"], Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    )
    body = re.sub(
        r"<blockquote>\s*<p>\[!WARNING\]\s*(.*?)</p>\s*</blockquote>",
        r'<div class="alert"><p><b>⚠ Warning</b><br>\1</p></div>',
        body,
        flags=re.DOTALL,
    )
    checks = "".join(
        f'<div class="check"><span class="{run["conclusion"]}">{SIGNS[run["conclusion"]]}</span>'
        f"<span><b>{run['name']}</b> on #{number} — {run['title']}</span></div>"
        for number, run in sorted(result["check_runs"].items())
    )
    return (
        f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>"
        f"<div class=box><div class=head><b>r4p-bot</b> <code>bot</code> commented</div>"
        f"<div class=body>{body}</div></div>"
        f"<div class=box><div class=head><b>Checks</b>, one on each pull request</div>{checks}</div>{HEIGHT}"
    )


def main(source: Path, target: Path) -> int:
    """Write the picture; 2 when there is no Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.stderr.write("no chromium on PATH: install it, for example from Debian's packages\n")
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        html = Path(scratch) / "page.html"
        html.write_text(page(json.loads(source.read_text())["with_tests"]))
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        flags += [f"--user-data-dir={scratch}/profile", "--hide-scrollbars"]
        dump = [chromium, *flags, "--window-size=900,900", "--dump-dom", html.as_uri()]
        shown = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
        flags += [f"--window-size=900,{re.search(r'<title>(.+?)</title>', shown)[1]}"]
        draw = [chromium, *flags, f"--screenshot={target.resolve()}", html.as_uri()]
        subprocess.run(draw, check=True, capture_output=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
