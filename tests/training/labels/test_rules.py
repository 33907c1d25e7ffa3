"""What the documentation tells of labels is what the code does."""

from pathlib import Path

from training.labels import audit, labels, rules
from training.labels.label_rule import LabelGrade
from training.labels.rules import RULES
from training.labels.weight_caps import SHARED_CAPS

PAGE = (Path(__file__).parents[3] / "docs/labels.md").read_text()
TEXT = " ".join(PAGE.split())


def format_row(rule):
    probability = "" if rule.probability is None else f"{rule.probability:.2f}"
    cells = (
        f"`{rule.name}`",
        rule.grade.value.replace("_", " "),
        probability,
        rule.condition,
        rule.source,
    )
    return f"| {' | '.join(cells)} |"


def test_page_lists_every_rule():
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert rows == [format_row(rule) for rule in RULES.values()]


def test_page_has_the_numbers_of_the_code():
    assert rules.estimate_from_survival(0.0) == 0.6
    assert (
        f"0.60 + {rules.estimate_from_survival(1.0) - rules.estimate_from_survival(0.0):.2f} × the share"
        in TEXT
    )
    assert f"has to hold for {rules.HOLD_PERIOD.days} days" in TEXT
    assert labels.ECHO_WEIGHT == 0.5
    assert "the label counts half" in TEXT
    caps = SHARED_CAPS
    assert caps.repository == caps.owner
    assert f"at most {caps.person:.0%}".replace("%", " %") in TEXT
    assert f"one owner at most {caps.owner:.0%}".replace("%", " %") in TEXT
    assert audit.PRIOR_WEIGHT == 10
    assert "as much as ten checked labels" in TEXT
    assert f"from {audit.MIN_CHECKED} checked patches of each truth on" in TEXT


def test_rule_probability_fits_its_grade():
    for rule in RULES.values():
        assert (rule.probability is None) is (rule.grade is LabelGrade.UNKNOWN)
        if rule.probability is not None:
            assert (rule.probability > 0.5) is rule.grade.is_positive
    assert rules.estimate_from_survival(rules.LINES_GONE_SHARE) > 0.5
