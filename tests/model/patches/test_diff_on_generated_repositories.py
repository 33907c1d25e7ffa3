"""Diffs of generated trees are parsed like `git apply` reads them, or refused with a reason."""

import subprocess

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from model.domain import Patch, PatchId
from model.errors import BadDiff
from model.patches import diff
from model.verifiers.admission import AdmittedPatch, RefusedPatch, admit

LINES = st.sampled_from(
    [
        b"plain",
        b"    indented",
        b"",
        b"-- looks like a header",
        b"++ looks like one, too",
        b"@@ -1 +1 @@ a hunk's start",
        b"diff --git a/x b/x",
        b"\\ No newline at end of file",
        b"\xff\xfe no UTF-8 \x80",
        "ünïcödé \u2028 \u0085 \x0b \x0c".encode(),
        b"bare \r return",
        b"ends in one\r",
        b"\x1b[31m",
    ]
)
NAMES = st.sampled_from(
    [
        "a.py", "b/deep er/c.js", "Main.java", "no_extension", "b b/x y.ts", "naïve.rs",
        'qu"ote\\.go', "tab\there.c", "a -> b.rb",
    ]
)  # fmt: skip


@st.composite
def draw_content(draw):
    """The bytes of a file: text of either line end, with or without a last one, or binary."""
    ending = draw(st.sampled_from([b"\n", b"\r\n"]))
    text = ending.join(draw(st.lists(LINES, max_size=12)))
    return text + draw(st.sampled_from([b"", ending, b"\0\1binary"]))


TREES = st.dictionaries(NAMES, st.tuples(draw_content(), st.booleans()), max_size=5)
"""Name to bytes, and whether it may be executed."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    path = tmp_path_factory.mktemp("generated")
    run_git(path, "init", "-q")
    return path


def run_git(tree, *arguments, given=None):
    options = ["-c", "core.autocrlf=false", "-c", "core.safecrlf=false"]
    return subprocess.run(
        ["git", *options, *arguments], cwd=tree, check=True, capture_output=True, input=given
    ).stdout


def write_tree(repository, files):
    """The tree's id, made by one import, without a working tree."""
    listing = b""
    for name, (content, executable) in sorted(files.items()):
        blob = run_git(repository, "hash-object", "-w", "--stdin", given=content).strip()
        mode = b"100755" if executable else b"100644"
        listing += mode + b" " + blob + b"\t" + name.encode() + b"\0"
    run_git(repository, "read-tree", "--empty")
    run_git(repository, "update-index", "-z", "--index-info", given=listing)
    return run_git(repository, "write-tree").decode().strip()


def write_commit(repository, tree, *parents):
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    named = [word for parent in parents for word in ("-p", parent)]
    return run_git(repository, *author, "commit-tree", tree, *named, "-m", "x").decode().strip()


def read_numstat(repository, text):
    """By file as git's own reader counts: (added, removed), None for binary ones."""
    fields = run_git(repository, "apply", "--numstat", "-z", "-", given=text).split(b"\0")[:-1]
    counts = {}
    for field in fields:
        added, removed, path = field.split(b"\t", 2)
        counts[path.decode()] = None if added == b"-" else (int(added), int(removed))
    return counts


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=TREES, after=TREES, renamed=st.booleans())
def test_counts_and_paths_equal_git_apply(repository, before, after, renamed):
    if renamed and before:
        moved = next(iter(before))
        after = {**after, f"moved/{moved}": before[moved]}
        after.pop(moved, None)
    trees = write_tree(repository, before), write_tree(repository, after)
    raw = run_git(repository, "diff", "--binary", "-M", *trees)

    # as `r4p verify` reads a file, and as the worker keeps a diff
    for text in (raw.decode(errors="surrogateescape"), raw.decode(errors="replace")):
        files = diff.parse(text)
        parsed = {f.path: None if f.is_binary else (f.added, f.removed) for f in files}
        assert parsed == (read_numstat(repository, raw) if raw else {})
        assert {f.path for f in files if f.is_new} <= set(after) - set(before)
        assert {f.path for f in files if f.is_deleted} <= set(before) - set(after)
        assert len(diff.fingerprint(text)) == 64
        assert diff.parse(diff.extract_bare_diff(text).text) == files
        (case,) = admit([Patch(PatchId("a"), text)], 10**6, len)
        if any(counts and any(counts) for counts in parsed.values()):
            assert isinstance(case, AdmittedPatch)
        else:
            assert isinstance(case, RefusedPatch)
            assert case.reason.startswith("Not judged: the patch ")


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=TREES, after=TREES)
@example(before={"a": (b"one\ntwo\n", False)}, after={"b b/x y.ts": (b"one\ntwo\n3\n", False)})
def test_mailed_patch_is_reduced_to_its_diff(repository, before, after):
    first, second = write_tree(repository, before), write_tree(repository, after)
    alone = run_git(repository, "diff", "--binary", "-M", first, second).decode(errors="replace")
    root = write_commit(repository, first)
    mail = run_git(
        repository, "format-patch", "-1", "--stdout", "-M", write_commit(repository, second, root)
    )
    shown = diff.extract_bare_diff(mail.decode(errors="replace"))
    assert shown.text == diff.extract_bare_diff(alone).text
    assert shown.left_out > 5 or first == second


def test_twenty_thousand_lines_are_parsed(repository):
    before = {"big.py": (b"".join(b"line %d\n" % n for n in range(20_000)), False)}
    after = {"big.py": (b"".join(b"line %d!\n" % n for n in range(0, 20_000, 2)), False)}
    raw = run_git(repository, "diff", write_tree(repository, before), write_tree(repository, after))
    (file,) = diff.parse(raw.decode())
    assert (file.added, file.removed) == read_numstat(repository, raw)["big.py"] == (10_000, 20_000)


def test_combined_diff_of_git_is_refused(repository):
    base, first, second, merged = (
        write_tree(repository, {"a.py": (text, False)})
        for text in (b"a\nb\nc\n", b"1\nb\nc\n", b"a\nb\n3\n", b"one\nb\nthree\n")
    )
    root = write_commit(repository, base)
    merge = write_commit(
        repository,
        merged,
        write_commit(repository, first, root),
        write_commit(repository, second, root),
    )
    text = run_git(repository, "diff-tree", "-p", "--cc", merge).decode()
    with pytest.raises(BadDiff, match="belongs to a combined diff of a merge"):
        diff.parse(text.partition("\n")[2])
