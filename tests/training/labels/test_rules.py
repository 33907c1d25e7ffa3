"""What the documentation tells of labels is what the code does."""

from pathlib import Path

from training.labels import audit, labels, rules, weight_caps
from training.labels.rules import RULES, Grade

PAGE = (Path(__file__).parents[3] / "docs/labels.md").read_text()
TEXT = " ".join(PAGE.split())


def row(rule):
    probability = "" if rule.probability is None else f"{rule.probability:.2f}"
    cells = (
        f"`{rule.name}`",
        rule.grade.value.replace("_", " "),
        probability,
        rule.says,
        rule.source,
    )
    return f"| {' | '.join(cells)} |"


def test_the_page_tells_every_rule_and_no_other():
    told = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert told == [row(rule) for rule in RULES.values()]


def test_the_page_tells_the_numbers():
    assert rules.graded(0.0) == 0.6
    assert f"0.60 + {rules.graded(1.0) - rules.graded(0.0):.2f} × the share" in TEXT
    assert f"has to hold for {rules.HELD_FOR.days} days" in TEXT
    assert labels.ECHO == 0.5
    assert "the label counts half" in TEXT
    weights = weight_caps.CAPS
    assert (
        f"weigh {weights.actor:g} together at most, those of a repository {weights.repository:g}"
        in TEXT
    )
    assert audit.PRIOR == 10
    assert "as much as ten checked labels" in TEXT
    assert f"from {audit.LEAST} checked patches of each truth on" in TEXT


def test_unknown_rules_believe_nothing_and_others_lean_to_their_side():
    for rule in RULES.values():
        assert (rule.probability is None) is (rule.grade is Grade.UNKNOWN)
        if rule.probability is not None:
            assert (rule.probability > 0.5) is rule.grade.is_positive
    assert rules.graded(rules.LINES_GONE) > 0.5
