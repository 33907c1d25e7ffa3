"""Markdown that a stranger wrote to be slow: the door never parses it, the worker in bounded time."""

import itertools
import time
import tracemalloc

import pytest
from markdown_it import MarkdownIt

from app.outcomes import observe
from app.policy.commands import can_hold_command, parse
from app.policy.delivery_decision import build_decide
from app.policy.rival_links import find_closing_numbers
from app.settings import IdentitySettings
from app.values.identifiers import DeliveryGuid
from app.values.markdown_prose import strip_quotes_and_code
from tests.app.policy.test_event_policy import NOON, comment
from tests.builders.github import webhook_payloads

LIMIT = 65_536  # characters that GitHub allows in a comment
READ = 4_096  # characters of a comment that are read for commands
INPUTS = 300
DOOR_SECONDS = 0.05
DOOR_BYTES = 20 * 2**20
COMMENT_SECONDS = 0.5
TEXT_SECONDS = 1.0
ORDINARY = "Some *words*, `code` and [a link](https://example.org).\n\n- one\n- two\n\n" * 250
KNOWN_WORK_SECONDS = 0.03

ATOMS = (
    *("[", "![", "![[](", "[](", "[a](b", "[a]: b\n", "[a]:\n", "[[]", "](", "![a]("),
    *("`", "` ", "``a`", "*", "_*", "**a ", "*a*b", "*a_", "~~a ", "***"),
    *("<", "<a ", '<a b="', "<!--", "<?", "<![CDATA[", "</a\n", "<div>\n", "<a@b", "<http://a"),
    *(
        "> ",
        "> a\n",
        "> #\na\n",
        "> ===\na\n",
        "- ",
        "- a\n",
        "- > ",
        "1. a\n",
        "-\ta\n",
        "+ a\n\n",
    ),
    *("|", "|-|\n", "a|b\n-|-\n", "| a |\n", "---\n", "===\n", "#\n", "```\n", "    a\n", "\t"),
    *("\n", "\r", "\r\n", "\0", "\\", "&", "&#35;", "é", "\U0001f9ea", "\u2028"),
    *("x", " ", "Fixes #3 ", "/r4p\n", "@r4p-bot ", "\u00a0", "a  \n", "(", "'", '"'),
    *("$", "^", "{", "=", "+ ", "https://a.b ", "@a", "<details>\n"),
)
PREFIXES = ("", "a ", "a `", "> " * 30 + "a\n", "- " * 20)


def table(columns, size):
    """A wide head above rows of no cell."""
    head = "|" + "a|" * columns + "\n|" + "-|" * columns + "\n"
    return head + "|\n" * ((size - len(head)) // 2)


def hostile(size):
    """Three hundred texts of one size: atoms alone, behind a prefix and in pairs, and wide tables."""
    tables = [table(columns, size) for columns in range(40, 400, 40)]
    several = ["\n".join(itertools.repeat(table(99, size // n), n)) for n in (3, 11)]
    alone = [(prefix + atom * size)[:size] for atom in ATOMS for prefix in PREFIXES[:3]]
    pairs = zip(ATOMS, ATOMS[7:] + ATOMS[:7], itertools.cycle(PREFIXES), strict=False)
    both = [(prefix + (a + b) * size)[:size] for a, b, prefix in pairs]
    return list(dict.fromkeys([*tables, *several, *both, *alone]))[:INPUTS]


def cpu_seconds(work, *arguments):
    """CPU seconds on an idle machine: the fastest of three runs, or the first that was fast.

    Processes that share a core or its cache make CPU time longer too, so known work beside each run tells by how much.
    """
    spent = []
    for _ in range(3):
        begun = time.process_time()
        work(*arguments)
        took = time.process_time() - begun
        if took < DOOR_SECONDS:
            return took
        spent.append(took / max(1.0, measure_known_work() / KNOWN_WORK_SECONDS))
    return min(spent)


def measure_known_work():
    """CPU seconds now to parse an ordinary text, which takes `KNOWN_WORK_SECONDS` on an idle machine."""
    begun = time.process_time()
    MarkdownIt("commonmark").parse(ORDINARY)
    return time.process_time() - begun


def peak_bytes(work, *arguments):
    tracemalloc.start()
    try:
        work(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def build_delivery(text):
    told = webhook_payloads.comment(body=f"/r4p help\n\n{text}"[:LIMIT])
    return webhook_payloads.encode(
        webhook_payloads.envelope(action="created", issue=webhook_payloads.issue(), comment=told)
    )


def test_the_door_decides_about_any_comment_at_once():
    decide = build_decide(IdentitySettings(app_id=99, bot_name="r4p-bot"))
    guid = DeliveryGuid("guid")
    for text in hostile(LIMIT):
        body = build_delivery(text)
        seconds = cpu_seconds(decide, "issue_comment", guid, body)
        assert seconds < DOOR_SECONDS, f"{seconds:.3f} s for {text[:40]!r}"
        peak = peak_bytes(decide, "issue_comment", guid, body)
        assert peak < DOOR_BYTES, f"{peak} bytes for {text[:40]!r}"


def test_there_are_three_hundred_different_inputs():
    assert len(set(hostile(LIMIT))) == len(set(hostile(READ))) == INPUTS


def test_the_worker_reads_any_comment_in_bounded_time():
    for text in hostile(READ):
        body = f"/r4p help\n\n{text}"
        seconds = cpu_seconds(parse, body, "r4p-bot")
        assert seconds < COMMENT_SECONDS, f"{seconds:.3f} s for {text[:40]!r}"
    for table_ in hostile(LIMIT)[:11]:
        seen = cpu_seconds(observe, comment(f"/r4p help\n\n{table_}"), NOON)
        assert seen < COMMENT_SECONDS


DESCRIPTIONS = {
    "table": table(200, LIMIT),
    "short quotes": "> ===\na\n",
    "quotes in a list": "- > #\n  a\n",
    "quotes and definitions": "[a]: b\n> ===\na\n",
    "lazy quote": "> " * 30 + "a\n" + "a\n" * LIMIT,
    "lazy list": "- " * 20 + "a\n" + "a\n" * LIMIT,
    "mixed nesting": "- > " * 9 + "a\n",
    "images": "![[](",
    "open links": "*[",
    "labels": "[" * (LIMIT // 2) + "](a)" * (LIMIT // 8),
    "emphasis": "*a*b",
    "runs": "_*",
    "definitions": "[a]: b\n'c\n",
    "comments": "a <!--",
    "sections": "a <![CDATA[",
    "empty lines": "\n",
    "items": "* a\n+ a\n",
    "nested list": "".join(" " * 2 * level + "- a\n" for level in range(30)),
}


@pytest.mark.parametrize("text", DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_the_worker_reads_any_description_in_bounded_time(text):
    body = ("Fixes #3\n\n" + text * (LIMIT // len(text) + 1))[:LIMIT]
    seconds = cpu_seconds(find_closing_numbers, body, "octo/cat")
    assert seconds < TEXT_SECONDS
    assert find_closing_numbers(body, "octo/cat") == (3,)


def test_a_description_without_a_promise_is_not_parsed():
    body = "Fix the table of #\n" + table(200, LIMIT)[: LIMIT - 20]
    assert cpu_seconds(find_closing_numbers, body, "octo/cat") < DOOR_SECONDS


def test_a_long_description_of_ordinary_structure_is_read_to_its_end():
    quote = "> - they said\n> more\nand more\n\n"
    item = "- [a change](https://example.org) of `code`\n"
    assert find_closing_numbers((quote + item * 4) * 200 + "\nFixes #3", "octo/cat") == (3,)
    assert strip_quotes_and_code(quote * 3 + "out") == "out"


def test_the_cheap_look_sees_every_line_start():
    for gap in ("\n", "\r", "\r\n", "\n\n   ", "\n\t", "\n" + " " * 40, "\n\u00a0"):
        assert can_hold_command(f"Hello.{gap}/R4P verify")
    assert not can_hold_command("Hello, /r4p verify")
    assert not can_hold_command("x" * READ + "\n/r4p verify")


def test_a_line_that_the_limit_cuts_is_no_command():
    body = "x" * (READ - 12) + "\n/r4p open A12"
    assert parse(body) == ()
