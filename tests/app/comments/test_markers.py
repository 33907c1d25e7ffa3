"""The document hidden in the comment."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from app.comments import format_verdict_json
from tests.app.comments.views import render

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values | st.sampled_from(["-->", "--!>", "<!--", "@mona #3 https://x", "-", "---"]))
def test_the_hidden_document_can_be_read_back_and_nothing_in_it_shows(value):
    hidden = format_verdict_json({"reason": value})
    written = hidden.removeprefix("<!-- r4p.verdict/1 ").removesuffix(" -->")
    assert json.loads(written) == {"reason": value}
    assert not re.search(r"-->|--!>|[<>@#]|://", written)
    assert "<!--" not in written
    assert render(f"{hidden}\n\nnext").strip() == f"{hidden}\n<p>next</p>"
