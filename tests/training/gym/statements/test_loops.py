"""A loop around the failure is told as a whole: an earlier round runs the steps after the failing one, too."""

import pytest

from tests.training.gym.statements.samples import print_failure, write


def tell(source, line, error=("assert 404 == 200",), name="test_it"):
    """What a statement says of a test that fails at a line, from its steps on."""
    text = write(source, {name: print_failure(source, line, list(error))})
    return text.partition("What I run:\n\n")[2]


def list_run(body, failing, error=("assert 404 == 200",), start="def test_it():"):
    """The lines of the steps of a test that fails at the line with a text."""
    lines = [start, *(f"    {line}" for line in body.splitlines())]
    number = next(number for number, line in enumerate(lines, 1) if failing in line)
    return tell("\n".join(lines), number, error).partition("\n\n")[0].splitlines()


INDEX = """
from boltons.setutils import IndexedSet


def test_iset_index_method():
    original_list = list(range(8, 20)) + list(range(8))
    indexed_list = IndexedSet()

    for i in original_list:
        indexed_list.add(i)

    for i in original_list:
        index = indexed_list.index(i)
        # if we are removing them in order, the index should always be 0
        assert index == 0
        indexed_list.pop(index)

    indexed_list = IndexedSet(range(10))
    assert indexed_list
"""


def test_the_steps_after_a_failed_check_are_told_within_the_loop():
    assert (
        tell(INDEX, 15, ["assert 1 == 0"], "test_iset_index_method")
        == """\
1. Import `IndexedSet` from `boltons.setutils`.
2. Set `original_list` to `list(range(8, 20)) + list(range(8))`.
3. Set `indexed_list` to `IndexedSet()`.
4. For each `i` of `original_list`, call `indexed_list.add(i)`.
5. For each `i` of `original_list`:
    - Set `index` to `indexed_list.index(i)`.
    - Check that `index` is `0`; this goes wrong in one of the rounds.
    - Call `indexed_list.pop` with `index`.

What happens in that round: `index` is `1`.

I expect `0`.

After that, this should work:

- Set `indexed_list` to `IndexedSet(range(10))`.
- `indexed_list` is true.
"""
    )


NETSTRING = """
def test_socketutils_netstring(client):
    for i in range(1000):
        client.write_ns(b'ping')
        assert client.read_ns() == b'pong'

    client.write_ns(b'shutdown')
"""


def test_an_error_in_a_loop_is_one_of_a_round():
    text = tell(NETSTRING, 5, ["TypeError: no"], "test_socketutils_netstring")
    assert (
        text
        == """\
1. For each `i` of `range(1000)`:
    - Call `client.write_ns` with `b'ping'`.
    - Check that `client.read_ns()` is `b'pong'`; this goes wrong in one of the rounds.

What happens in that round:

    TypeError: no

I expect no error: `client.read_ns()` should be `b'pong'`.

After that, this should work:

- Call `client.write_ns` with `b'shutdown'`.
"""
    )


MARK = "; this goes wrong in one of the rounds."
SLICES = """\
for pops in ([], [2]):
    iset = IndexedSet(range(10))
    for p in pops:
        iset.discard(p)
    for start in bounds:
        for step in steps:
            s = slice(start, None, step)
            assert list(iset[s]) == 1
            if step is None:
                assert iset[s]
    iset.clear()
done()
"""
CLOSED = """\
for with_delim in (True, False):
    if with_delim:
        delim = b'a'
        assert read(delim) == b'b'
        close()
    else:
        delim = b''
    reopen()
"""
SHORT = """\
for size in (2, 4):
    try:
        peer = open_peer(size)
        assert peer.read(1) == b'1'
    except ConnectionClosed:
        ...
    finally:
        peer.close()
"""


@pytest.mark.parametrize(
    ("body", "failing", "lines"),
    [
        (SLICES, "== 1", [
            "1. For each `pops` of `([], [2])`:",
            "    - Set `iset` to `IndexedSet(range(10))`.",
            "    - For each `p` of `pops`, call `iset.discard(p)`.",
            "    - For each `start` of `bounds`:",
            "        - For each `step` of `steps`:",
            "            - Set `s` to `slice(start, None, step)`.",
            f"            - Check that `list(iset[s])` is `1`{MARK}",
            "            - If `step` is `None`, check that `iset[s]` is true.",
            "    - Call `iset.clear()`.",
        ]),
        (CLOSED, "== b'b'", [
            "1. For each `with_delim` of `(True, False)`:",
            "    - If `with_delim` is true:",
            "        - Set `delim` to `b'a'`.",
            f"        - Check that `read(delim)` is `b'b'`{MARK}",
            "        - Call `close()`.",
            "    - Otherwise:",
            "        - Set `delim` to `b''`.",
            "    - Call `reopen()`.",
        ]),
        (SHORT, "== b'1'", [
            "1. For each `size` of `(2, 4)`:",
            "    - Try this:",
            "        - Set `peer` to `open_peer(size)`.",
            f"        - Check that `peer.read(1)` is `b'1'`{MARK}",
            "    - If it raises `ConnectionClosed`:",
            "        - Do nothing.",
            "    - In the end:",
            "        - Call `peer.close()`.",
        ]),
        ("while len(thou) > 600:\n    thou.pop(0)\n    assert thou.size == 1\n    thou.compact()", "== 1", [
            "1. As long as `len(thou)` is more than `600`:",
            "    - Call `thou.pop(0)`.",
            f"    - Check that `thou.size` is `1`{MARK}",
            "    - Call `thou.compact()`.",
        ]),
        ("while True:\n    thou.pop(0)\n    if not thou:\n        break\nelse:\n    thou.close()", "thou.pop", [
            "1. Again and again:",
            f"    - Call `thou.pop(0)`{MARK}",
            "    - If `thou` is false, end the loop.",
        ]),
        ("for i in f():\n    for j in i:\n        g(j)\n        h(j)\n    else:\n        k(i)", "g(j)", [
            "1. For each `i` of `f()`:",
            "    - For each `j` of `i`:",
            f"        - Call `g(j)`{MARK}",
            "        - Call `h(j)`.",
            "    - If no step ends the loop:",
            "        - Call `k(i)`.",
        ]),
        ("for path in paths:\n    with open(path) as file:\n        read(file)\n        done()\n    close()", "read(file)", [
            "1. For each `path` of `paths`:",
            "    - Enter the context `open(path)` as `file`:",
            f"        - Call `read(file)`{MARK}",
            "        - Call `done()`.",
            "    - Call `close()`.",
        ]),
        ("with open(path) as file:\n    for line in file:\n        parse(line)\n        assert line == 1\n        skip()\n    done()", "== 1", [
            "1. Enter the context `open(path)` as `file`.",
            "2. For each `line` of `file`:",
            "    - Call `parse(line)`.",
            f"    - Check that `line` is `1`{MARK}",
            "    - Call `skip()`.",
        ]),
        ("with open(path) as file:\n    read(file)\n    assert file.size == 1\n    done()", "== 1", [
            "1. Enter the context `open(path)` as `file`.",
            "2. Call `read(file)`.",
        ]),
        ("for i in many:\n    add(i)\nelse:\n    assert many.size == 1\n    done()", "== 1", [
            "1. For each `i` of `many`, call `add(i)`.",
        ]),
        ("assert all(x for x in f()) == 1", "== 1", []),
    ],
)  # fmt: skip
def test_the_blocks_around_a_failure_in_a_loop_are_told(body, failing, lines):
    assert list_run(body, failing) == lines


NAVIGATE = """\
import pytest
from boltons.urlutils import URL


def test_invalid_ipv6():
    for ip in ['1', '2']:
        with pytest.raises(ValueError):
            prepare(ip)
            URL('http://[' + ip + ']')
        done(ip)
"""


def test_a_missing_error_in_a_loop_has_the_steps_of_its_round():
    text = tell(NAVIGATE, 7, ["Failed: DID NOT RAISE ValueError"], "test_invalid_ipv6")
    assert text.partition("1. Import")[2].partition("\n")[2] == (
        "2. For each `ip` of `['1', '2']`:\n"
        f"    - Expect `ValueError` from this{MARK[:-1]}:\n"
        "        - Call `prepare(ip)`.\n"
        "        - Call `URL` with `'http://[' + ip + ']'`.\n"
        "    - Call `done(ip)`.\n\n"
        "What happens in that round: no error is raised.\n\n"
        "I expect `ValueError`.\n"
    )


def test_another_error_under_a_check_in_a_loop_stands_in_its_block():
    text = tell(NAVIGATE, 9, ["TypeError: no"], "test_invalid_ipv6")
    assert (
        "    - Expect `ValueError` from this:\n"
        "        - Call `prepare(ip)`.\n"
        f"        - Call `URL` with `'http://[' + ip + ']'`{MARK}\n"
    ) in text
    assert text.endswith("I expect `ValueError`.\n")


def test_a_step_that_only_later_rounds_need_is_told():
    body = (
        "last = None\nother = 2\nfor x in f():\n    a = g(last)\n    last = h(x)\n    assert a == 1"
    )
    assert list_run(body, "== 1") == [
        "1. Set `last` to `None`.",
        "2. For each `x` of `f()`:",
        "    - Set `a` to `g(last)`.",
        "    - Set `last` to `h(x)`.",
        f"    - Check that `a` is `1`{MARK}",
    ]


def test_a_value_that_each_round_sets_anew_needs_no_step_before_the_loop():
    body = "url = read(1)\nfor x in f():\n    url = read(x)\n    assert url.size == 1"
    assert list_run(body, "== 1") == [
        "1. For each `x` of `f()`:",
        "    - Set `url` to `read(x)`.",
        f"    - Check that `url.size` is `1`{MARK}",
    ]


def test_a_name_that_a_round_sets_is_not_read_before_the_loop():
    source = (
        "def test_it():\n    n = 7\n    for x in f():\n        assert g(x) == n\n        n = h(x)\n"
    )
    text = tell(source, 4, ["assert 3 == 8"])
    assert "I expect `8`." in text
    assert "is `7`" not in text


def test_a_long_round_keeps_the_steps_around_the_failure():
    steps = "".join(f"    s.append({number})\n" for number in range(20))
    lines = list_run(f"for s in f():\n{steps}    assert s == 1\n{steps}", "== 1")
    assert len(lines) == 28
    assert lines[7] == "    - More steps of this kind follow; 8 are left out here."
    assert lines[14] == f"    - Check that `s` is `1`{MARK}"
