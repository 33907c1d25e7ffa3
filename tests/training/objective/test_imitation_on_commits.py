"""The imitation reward equals a second implementation of SWE-RL's equation 1. Needs the large data: R4P_DATA."""

import re
import subprocess
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from training.objective.rewards import reward_imitation

PROJECTS = ("boltons", "click", "sqlparse", "tinydb")
PER_PROJECT = 125
LONGEST = 40
"""Lines from the first change of a file to the last."""
TAGS = ("<think>", "</think>", "<solution>", "</solution>")
UNFIT = re.compile(r"</?(?:think|solution)>|^(?:<{7} SEARCH|={7}|>{7} REPLACE)$|⟦U\+", re.MULTILINE)
"""What a reply could only write escaped."""


@dataclass(frozen=True)
class Fix:
    """The files that a commit changes, before and after it."""

    before: dict[str, str]
    merged: dict[str, str]


def run_git(*arguments, **options):
    return subprocess.run(["git", *arguments], capture_output=True, check=True, **options).stdout


def list_changes(folder):
    """Pairs of blobs by path, for each commit that modifies one to three Python files."""
    shown = run_git(
        "log", "--all", "--no-merges", "--diff-filter=M", "--raw", "--no-abbrev", "--format=%x00",
        "--", "*.py", cwd=folder,
    ).decode()  # fmt: skip
    for commit in shown.split("\0"):
        rows = re.findall(r"^:\d+ \d+ (\w{40}) (\w{40}) M\t(.+)$", commit, re.MULTILINE)
        if 0 < len(rows) <= 3:
            yield {path: (old, new) for old, new, path in rows}


def read_blobs(folder, names):
    raw = run_git("cat-file", "--batch", cwd=folder, input="\n".join(names).encode())
    blobs, at = {}, 0
    while at < len(raw):
        end = raw.index(b"\n", at)
        name, _, size = raw[at:end].decode().split()
        blobs[name] = raw[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)
    return blobs


def is_plain(raw):
    """Whether a file holds UTF-8 with Unix line ends that a reply can quote without escapes."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return False
    return (
        bool(text)
        and not UNFIT.search(text)
        and "".join(f"{line}\n" for line in text.splitlines()) == text
    )


def list_fixes(folder):
    """Commits whose change of each file is short enough for one edit."""
    changes = list(list_changes(folder))
    names = {name for change in changes for pair in change.values() for name in pair}
    blobs = read_blobs(folder, names)
    for change in changes:
        if all(is_plain(blobs[name]) for pair in change.values() for name in pair):
            before = {path: blobs[old].decode() for path, (old, _) in change.items()}
            merged = {path: blobs[new].decode() for path, (_, new) in change.items()}
            regions = [find_region(before[path], merged[path]) for path in change]
            if all(max(stop - start, len(new)) <= LONGEST for start, stop, new in regions):
                yield Fix(before, merged)


# The second implementation: a patch is its hunks, a likeness is that of Ratcliff and Obershelp, a reward is a mean.


def write_diff(old, new):
    """A unified diff with three lines of context, without the two lines that name the files."""
    a, b = old.splitlines(), new.splitlines()
    out = []
    for hunk in SequenceMatcher(None, a, b).get_grouped_opcodes(3):
        (_, top_a, _, top_b, _), (_, _, end_a, _, end_b) = hunk[0], hunk[-1]
        out.append(f"@@ -{write_range(top_a, end_a)} +{write_range(top_b, end_b)} @@")
        for kind, i, j, k, m in hunk:
            if kind == "equal":
                out += [f" {line}" for line in a[i:j]]
            else:
                out += [f"-{line}" for line in a[i:j]] + [f"+{line}" for line in b[k:m]]
    return "\n".join(out)


def write_range(top, end):
    if end == top:
        return f"{top},0"
    return f"{top + 1}" if end == top + 1 else f"{top + 1},{end - top}"


def count_matches(a, b):
    """Characters in common: the longest common run, the first of equal ones, and so on to its left and right."""
    best, at_a, at_b = 0, 0, 0
    runs = np.zeros(len(b) + 1, dtype=np.int64)
    for i, sign in enumerate(a):
        runs[1:] = np.where(b == sign, runs[:-1] + 1, 0)
        if (longest := int(runs.max())) > best:
            best, at_a, at_b = longest, i + 1 - longest, int(runs.argmax()) - longest
    if not best:
        return 0
    right = count_matches(a[at_a + best :], b[at_b + best :])
    return count_matches(a[:at_a], b[:at_b]) + best + right


def compare_patches(own, merged):
    a, b = (np.array([ord(sign) for sign in text], dtype=np.int64) for text in (own, merged))
    return 2 * count_matches(a, b) / (len(a) + len(b)) if len(a) and len(b) else 0.0


def read_solution(reply):
    """The edits of a reply by path, as (search, replace); None in a wrong form."""
    if any(reply.count(tag) != 1 for tag in TAGS) or not re.search(r"<think>\s*[^<\s]", reply):
        return None
    solution = reply.split("<solution>")[1].split("</solution>")[0]
    blocks = solution.split("<<<<<<< SEARCH\n")
    edits = []
    for ahead, block in pairwise(blocks):
        path = ahead.rsplit("### ", 1)[1].strip()
        search, rest = block.split("\n=======\n")
        edits.append((path, search + "\n", rest.split(">>>>>>> REPLACE")[0]))
    return edits


def count_places(search, text):
    """How often whole lines stand in a text; places may overlap."""
    return len(re.findall(rf"^(?={re.escape(search)})", text, re.MULTILINE))


def compute_equation_1(reply, before, merged):
    edits = read_solution(reply)
    if not edits:
        return -1.0
    after = dict(before)
    for path, search, replace in edits:
        if count_places(search, after[path]) != 1:
            return -1.0
        after[path] = f"\n{after[path]}".replace(f"\n{search}", f"\n{replace}")[1:]
    patches = {
        path: (write_diff(before[path], after[path]), write_diff(before[path], merged[path]))
        for path in before
    }
    scores = [compare_patches(*pair) for pair in patches.values() if any(pair)]
    return sum(scores) / len(scores)


# Predictions: real edits, changed a little, or those of another commit.


def find_region(old, new):
    """The lines of a file from its first to its last change: (start, stop, lines after the change)."""
    a, b = old.splitlines(), new.splitlines()
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    end = 0
    while end < min(len(a), len(b)) - same and a[-1 - end] == b[-1 - end]:
        end += 1
    return same, len(a) - end, b[same : len(b) - end]


def perturb(lines, foreign_lines, random):
    """Lines of a fix as a model might write them."""
    way = random.randrange(5)
    at = random.randrange(len(lines)) if lines else 0
    if way == 0 or not lines:
        return [*lines[:at], f"    # {random.random()}", *lines[at:]]
    if way == 1:
        return lines[:at] + lines[at + 1 :]
    if way == 2:
        return [*lines[:at], re.sub(r"\w+", "value", lines[at], count=2), *lines[at + 1 :]]
    return foreign_lines if way == 3 else lines


def write_edit(path, old, start, stop, new):
    """A SEARCH/REPLACE edit whose lines stand in one place of the file."""
    lines, around = old.splitlines(), 0
    while True:
        top, end = max(0, start - around), min(len(lines), stop + around)
        search = "".join(f"{line}\n" for line in lines[top:end])
        if end > top and count_places(search, old) == 1:
            break
        around += 1
    inner = [*lines[top:start], *new, *lines[stop:end]]
    replace = "".join(f"{line}\n" for line in inner)
    return (
        f"```python\n### {path}\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n```\n"
    )


def write_reply(fix, stranger, random):
    path = next(iter(stranger.before))
    foreign_lines = find_region(stranger.before[path], stranger.merged[path])[2]
    edits = []
    for path, old in fix.before.items():
        start, stop, new = find_region(old, fix.merged[path])
        own = perturb(new, foreign_lines, random)
        if own != old.splitlines()[start:stop] and (not edits or random.random() < 0.8):
            edits.append(write_edit(path, old, start, stop, own))
    thought = random.choice(["The cause is here."] * 12 + ["", "\n\n"])
    prose = random.choice(["", "", "Here it is.\n"])
    end = random.choice(["</solution>"] * 12 + ["", "</solution></solution>"])
    return f"{prose}<think>{thought}</think>\n<solution>\n{''.join(edits)}{end}\n{prose}"


@pytest.fixture(scope="module")
def cases(large_data, tmp_path_factory):
    """(reply, fix) for real commits of four projects."""
    random = Random(2502)
    replies = []
    for project in PROJECTS:
        folder = tmp_path_factory.mktemp(project)
        run_git("clone", "-q", "--bare", large_data / "histories" / f"{project}.bundle", folder)
        fixes = list(list_fixes(folder))
        chosen = random.sample(fixes, PER_PROJECT)
        replies += [(write_reply(fix, random.choice(fixes), random), fix) for fix in chosen]
    return replies


@pytest.mark.proof
def test_reward_equals_the_second_implementation_on_real_commits(cases):
    assert len(cases) == 500
    expected = [compute_equation_1(reply, fix.before, fix.merged) for reply, fix in cases]
    computed = [reward_imitation(reply, fix.before, fix.merged) for reply, fix in cases]
    assert computed == pytest.approx(expected, abs=1e-12)
    discrete = [reward_imitation(reply, fix.before, fix.merged, "discrete") for reply, fix in cases]
    assert discrete == [reward if reward == -1 else float(reward == 1) for reward in expected]
    assert 20 < sum(reward == -1 for reward in expected) < 200
    assert sum(0 < reward < 1 for reward in expected) > 150
