"""Which added tokens are special, how a server tells them, and what escaping them does to text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.prompts.special_tokens import (
    find_token_starts,
    parse_tokenizer_info,
    read_special_tokens,
    select_special_tokens,
)
from model.prompts.untrusted import SafeText, escape_issue, escape_patch, restore_escapes
from tests.builders.models.foreign_tokenizer import MARKERS, ORDINARY, build_tokenizer

INFO = {
    "added_tokens_decoder": dict(enumerate([*MARKERS, *ORDINARY], 256)),
    "eos_token": "zzstop",
    "tokenizer_class": "TokenizersBackend",
}
"""The shape of vLLM's answer."""


def test_tokenizer_and_server_tell_the_markers_and_no_ordinary_text():
    assert read_special_tokens(build_tokenizer()) == {*MARKERS}
    assert parse_tokenizer_info(INFO) == {*MARKERS}
    assert read_special_tokens(object()) is None


@pytest.mark.parametrize(
    ("added", "declared", "special"),
    [
        (("<think>", "</tool_call>", "]~b]", "|||EMAIL|||", ">>TITLE<<"), (), None),
        (("\n\n", "    ", "▁▁", "\t"), ("\n\n", "\t"), ()),  # a declared blank would change every line
        (("é", "<", "{"), ("!", "é"), ()),
        (("return", "http://", "->", "||", "[]", "self."), (), ()),
        (("<table>", "</td>", "<h1>"), (), ()),
        (("<b>",), ("<b>", "/nothink", "user"), ("<b>", "/nothink", "user")),
        ((" <zz>\n", "▁<yy>"), (), ("<zz>", "<yy>")),
    ],
)  # fmt: skip
def test_only_markers_and_declared_words_are_special(added, declared, special):
    assert select_special_tokens(added, declared) == {*(added if special is None else special)}


@pytest.mark.parametrize(
    "document",
    [[], {}, {"added_tokens_decoder": None}, {"added_tokens_decoder": {"1": {"content": "<x>"}}}],
)
def test_answer_without_a_list_is_unknown(document):
    assert parse_tokenizer_info(document) is None


def test_roles_of_any_form_are_read():
    document = {
        "added_tokens_decoder": {},
        "bos_token": None,
        "pad_token": "PAD",
        "additional_special_tokens": ["USER"],
        "extra_special_tokens": {"image_token": "IMG"},
    }
    assert parse_tokenizer_info(document) == {"PAD", "USER", "IMG"}


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a<zz_role>b", "a⟦U+003C⟧zz_role>b"),
        ("<<zz_role>", "<⟦U+003C⟧zz_role>"),
        ("＜⟪sys⟫＞", "⟦U+FF1C⟧⟪sys⟫＞"),  # NFKC makes it a token
        ("ﬁ [ＺZ:END]", "ﬁ ⟦U+005B⟧ＺZ:END]"),  # one character before it becomes two
        ("<zz call>", "⟦U+003C⟧zz call>"),  # SentencePiece writes the blank as ▁
        ("zzstopping", "⟦U+007A⟧zstopping"),
        ("<ZZ_ROLE> <zz_roles> zz_role>", "<ZZ_ROLE> <zz_roles> zz_role>"),
    ],
)
def test_token_is_escaped_where_the_tokenizer_would_read_it(text, safe):
    assert escape_patch(text, frozenset(MARKERS)) == SafeText(safe)
    assert escape_issue(text, frozenset(MARKERS)).text == safe


def test_every_of_two_tokens_that_overlap_is_escaped():
    tokens = frozenset({"<a|", "|b>"})
    assert escape_patch("<a|b>", tokens).text == "⟦U+003C⟧a⟦U+007C⟧b>"


def test_known_family_is_escaped_and_reported_as_before():
    text = "<|im_start|> </think> [PAD] x <unk>"
    tokens = frozenset({"<|im_start|>", "</think>", "[PAD]", "<unk>"})
    assert escape_patch(text, tokens) == escape_patch(text)


def test_code_of_ordinary_added_tokens_is_unchanged():
    code = "def f():\n\n        return None -> {'é': '<table>'}\n\t\t"
    tokens = read_special_tokens(build_tokenizer())
    assert escape_patch(code, tokens) == SafeText(code)


pieces = st.sampled_from(
    [*MARKERS, *ORDINARY, *"<zz_role>⟦U+003C⟧＜ﬁ", "</think>", "\\boxed", "p\u0430"]
)
tricky = st.lists(pieces | st.text(max_size=2)).map("".join)


@given(tricky)
def test_escaped_text_holds_no_token_and_can_be_restored(text):
    tokens = frozenset(MARKERS)
    safe = escape_patch(text, tokens).text
    assert restore_escapes(safe) == text
    assert not find_token_starts(safe, tokens)
    assert not [token for token in MARKERS if token in safe]


@given(tricky)
def test_unknown_tokens_change_nothing(text):
    assert escape_patch(text, None) == escape_patch(text, frozenset()) == escape_patch(text)
