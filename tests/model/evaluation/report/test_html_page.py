"""The page: whole HTML, nothing of a stranger's in its markup, nothing from elsewhere."""

import hashlib
import re
from base64 import b64decode, b64encode
from html.parser import HTMLParser

from matplotlib.figure import Figure as Canvas

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import Figure, Gap, Report, Section, Table
from model.evaluation.report.html_page import render_page
from model.evaluation.report.input_folder import ReportInput
from model.evaluation.report.outline import build_report
from tests.model.evaluation.report.builders import build_run

VOID = {"meta", "img", "source", "br", "link", "input", "hr"}
HOSTILE = "<script>alert(1)</script>&\"'</style><img src=x onerror=alert(1)>{{ 7*7 }}"


class Markup(HTMLParser):
    """Holds that every tag is closed where it should be, and keeps what matters."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.links, self.images = [], [], [], [], []
        self.referred, self.text = [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        assert len(given) == len(attributes), f"an attribute of {tag} twice"
        assert not any(name.startswith("on") or name == "style" for name in given)
        self.tags.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.images += [given] if tag == "img" else []
        self.referred += [given["aria-labelledby"]] if "aria-labelledby" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse_page(html):
    markup = Markup()
    markup.feed(html)
    markup.close()
    assert markup.open == []
    assert len(set(markup.ids)) == len(markup.ids)
    assert set(markup.referred) <= set(markup.ids)
    assert {link.removeprefix("#") for link in markup.links} <= set(markup.ids)
    return markup


def render_run(*runs, name="s", notes=()):
    """The page about one set, with a picture that is none."""
    report = build_report(ReportInput(((f"{name}.r4p.jsonl", runs[0]),), (), (), notes))
    names = [figure.name for section in report.sections for figure in section.figures]
    return render_page(report, dict.fromkeys(names, (b"light", b"dark")))


def test_page_is_valid_and_every_figure_has_a_text():
    markup = parse_page(render_run(build_run(votes=3)))
    assert [tag for tag, _ in markup.tags][:2] == ["html", "head"]
    assert len(markup.images) == 12
    assert all(image["alt"] for image in markup.images)
    dark = [given for tag, given in markup.tags if tag == "source"]
    assert len(dark) == 12
    assert {given["media"] for given in dark} == {"(prefers-color-scheme: dark)"}


def test_page_loads_nothing_from_outside():
    html = render_run(build_run(votes=3))
    markup = parse_page(html)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.replace("&#39;", "'") == (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"
    )
    assert not {"script", "link", "iframe", "object", "form"} & {tag for tag, _ in markup.tags}
    assert all(link.startswith("#") for link in markup.links)
    for image in markup.images:
        kind, _, content = image["src"].partition(",")
        assert (kind, b64decode(content)) == ("data:image/png;base64", b"light")
    assert "://" not in re.sub(r"data:[^\"]*", "", html)


def test_untrusted_text_is_escaped():
    html = render_run(build_run(HOSTILE, votes=3, repo=HOSTILE), name=HOSTILE, notes=(HOSTILE,))
    markup = parse_page(html)
    assert "<script" not in html
    assert "onerror" not in {name for _, given in markup.tags for name in given}
    text = "".join(markup.text)
    assert text.count("<script>alert(1)</script>") > 20
    assert "{{ 7*7 }}" in text


def test_table_has_words_and_numbers_in_their_cells():
    table = Table("T", ("who", "what", "n"), [("a", "b", Estimate(1.0, 0.5, 2.0))], words=2)
    figure = Figure("f", "F", "caption", "alt", Canvas)
    report = Report("R", (), (), [Section("k", "K", ("t", figure, table, Gap("no.")))])
    html = render_page(report, {"f": (b"l", b"d")})
    parse_page(html)
    assert (
        '<th scope="row">a</th><td class="words">b</td><td>1.000</td><td>0.500 … 2.000</td>' in html
    )
    assert '<th scope="col" colspan="2">n</th>' in html
    assert '<p class="missing">no.</p>' in html
