"""The HTML report, read by the standard library's parser: nothing of the outside becomes markup, nothing is lost."""

import base64
import hashlib
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.facts import Host, host
from compat.findings import Ask, Evidence, Finding, Fix, Place, Report, Unchecked
from compat.render import report

MACHINE = host(os_name="Ubuntu 22.04", driver="470.82.01", python="3.11", gpus=[{"name": "RTX 5090"}])
LEADING = ["body", "head", "html", "li", "main", "meta", "ol", "section"]
VOID = {"meta"}


class Page(HTMLParser):
    """Elements with their attributes and text, and the tags that were not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.faults = [], [], []
        self.feed(text)
        self.close()
        self.faults += self.open

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop()["tag"] != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, **wanted):
        return [one for one in self.elements if one["tag"] == tag and wanted.items() <= one.items()]


def finding(text, severity="error", fact="driver"):
    return Finding(
        code="driver-too-old-for-runtime",
        severity=severity,
        title=text,
        detail=text,
        evidence=(Evidence(fact, text, text),),
        fix=Fix(text, (text, "second"), unchecked=text),
        sources=(text,),
        consequences=(Finding(code="b", severity="info", title=text, detail=""),),
        place=Place(text, 3),
    )


def whole(text):
    return Report(
        (finding(text),), (text,), (Unchecked(text, "why"),), questions=(Ask(text, "which driver is loaded"),)
    )


def shape(page):
    return [(one["tag"], *sorted(key for key in one if key not in ("tag", "text"))) for one in page.elements]


@given(st.text(alphabet=st.sampled_from("<>&\"'/= \tabonerrorscript{}%#`;\\-!]"), min_size=1))
def test_no_text_becomes_markup(text):
    plain, hostile = Page(report(whole("x"), MACHINE, "html")), Page(report(whole(text), MACHINE, "html"))
    assert shape(hostile) == shape(plain)
    assert not hostile.faults


@pytest.mark.parametrize("text", ["</title><script>alert(1)</script>", "{{ 7*7 }}", "{% raw %}"])
def test_hostile_text_is_told_as_it_is(text):
    page = Page(report(whole(text), MACHINE, "html"))
    assert {one["text"] for one in page.all("pre")} == {f"{text}\nsecond"}


def test_no_control_character_and_no_turn_of_the_reading_direction_reaches_the_page():
    assert not {"\u202e", "\x1b", "\r"} & set(report(whole("a\u202eb\x1b[31m\rc"), MACHINE, "html"))


def test_the_policy_allows_the_page_its_own_style_and_script_and_nothing_else():
    page = Page(report(whole("x"), MACHINE, "html"))
    (policy,) = [one["content"] for one in page.all("meta") if "http-equiv" in one]
    for tag in ("style", "script"):
        (element,) = page.all(tag)
        digest = base64.b64encode(hashlib.sha256(element["text"].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert not [one for one in page.elements if {"src", "href", "srcset"} & set(one)]


def test_the_layer_that_an_error_speaks_of_is_marked_and_no_other():
    page = Page(
        report(Report((finding("Driver too old"), finding("Old Python", "warning", "python"))), MACHINE, "html")
    )
    broken = page.all("li", **{"class": "broken"})
    assert [one["text"].split() for one in broken] == [
        ["driver", "NVIDIA", "470.82.01", "Error:", "Driver", "too", "old"]
    ]


def test_a_fact_of_one_entry_marks_its_layer():
    page = Page(report(Report((finding("Clash", fact="packages.torch"),)), MACHINE, "html"))
    assert [one["text"].split()[0] for one in page.all("li", **{"class": "broken"})] == ["Python"]


@pytest.mark.parametrize(
    ("found", "heading"),
    [
        (Report(), "Nothing could be checked: too little is known."),
        (Report(fine=("driver",)), "Nothing found that does not fit."),
        (Report((finding("a"), finding("b", "warning"), finding("c", "warning"))), "1 error, 2 warnings"),
    ],
)
def test_the_verdict_stands_first(found, heading):
    page = Page(report(found, Host(), "html"))
    assert [one["text"] for one in page.all("h1")] == [heading]
    assert [one["text"] for one in page.all("title")] == [f"envcheck: {heading}"]
    assert not page.all("ol"), "no stack where no machine is known"


def test_severity_is_a_word_and_commands_stay_lines_to_copy():
    found = Report(tuple(finding(word, word) for word in ("error", "warning", "info")))
    page = Page(report(found, MACHINE, "html"))
    assert [one["text"] for one in page.all("span", **{"class": "mark"})] == ["Error:", "Warning:", "Note:"]
    assert {one["text"] for one in page.all("pre")} == {"error\nsecond", "warning\nsecond", "info\nsecond"}
    assert len(page.all("button")) == 3


def test_nothing_of_the_report_is_left_out():
    texts = Page(report(whole("wanted"), MACHINE, "html")).all("main")[0]["text"]
    for part in (
        "wanted:3",
        "Not checked: wanted.",
        "which driver is loaded",
        "wanted: why",
        "wanted (b)",
        "Fix. wanted",
    ):
        assert part in " ".join(texts.split())
    assert "method" not in texts  # no value of our own shows as Python's
