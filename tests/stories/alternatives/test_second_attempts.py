"""A refused alternative gets one second attempt with a hint that the judge never sees."""

import pytest
from sqlalchemy import func, select

from app.db.tables.schema import attempts
from tests.stories.verdicts import ADVISORY

pytestmark = [pytest.mark.services, pytest.mark.usefixtures("bubblewrap")]

ONE = ADVISORY + "alternatives: 1\n"
FALLS_SHORT = {"shapes.py": 'def area(shape):\n    return "falls short"\n'}
DONE = ["eyes", "+1"]


def list_hints(story):
    """Return the hints of second attempts, each with the number of its alternative."""
    first = attempts.alias()
    query = (
        select(first.c.number, attempts.c.number, attempts.c.guidance)
        .join(first, first.c.id == attempts.c.guided_by)
        .where(attempts.c.repository_id == story.repo.id)
        .order_by(attempts.c.id)
    )
    with story.stage.database.connect() as connection:
        return [tuple(row) for row in connection.execute(query)]


def count_attempts(story):
    """Count the attempts of agents."""
    query = select(func.count()).where(attempts.c.repository_id == story.repo.id)
    with story.stage.database.connect() as connection:
        return connection.scalar(query)


def test_what_our_verdict_calls_incorrect_is_tried_once_more(tell):
    story = tell(ONE, FALLS_SHORT)
    issue = story.issue()
    only = story.rival(issue, "w - h + 1")
    story.settle()
    verdict = story.verdict(issue)
    assert (verdict.rows, verdict.alternatives) == (
        {only: "Incorrect"},
        {"A1": "Incorrect", "A2": "Correct"},
    )
    assert "after A1 with feedback" in verdict.body
    assert count_attempts(story) == 2
    ((about, number, hint),) = list_hints(story)
    assert (about, number, hint["source"]) == (1, 2, "verdict")
    assert hint["feedback"].startswith("0 of 2 valid votes hold it correct")


def test_a_maintainers_words_lead_to_one_second_attempt(tell):
    story = tell(ADVISORY, FALLS_SHORT)
    issue = story.issue()
    only = story.rival(issue, "w - h + 1")
    story.settle()
    asked = story.command(issue, "/r4p propose")
    assert "will write an alternative" in story.answer(issue, asked)
    assert story.verdict(issue).alternatives == {"A1": "Incorrect"}
    command = story.command(issue, "/r4p disagree A1 multiply the sides")
    assert "An agent will try A1 again" in story.answer(issue, command)
    assert story.reactions(issue, command) == DONE
    verdict = story.verdict(issue)
    assert (verdict.rows, verdict.alternatives) == (
        {only: "Incorrect"},
        {"A1": "Incorrect", "A2": "Correct"},
    )
    assert "multiply the sides" not in verdict.body
    unknown = story.command(issue, "/r4p disagree A9 it is not there")
    assert "A9 is not among the patches compared here" in story.answer(issue, unknown)
    again = story.command(issue, "/r4p disagree A1 multiply the sides, I said")
    assert (story.answer(issue, again), story.reactions(issue, again)) == ("", DONE)
    assert count_attempts(story) == 2
    ((about, number, hint),) = list_hints(story)
    assert (about, number, hint["source"], hint["said_by"]) == (1, 2, "maintainer", "maintainer")
    assert hint["feedback"] == "multiply the sides"


@pytest.mark.parametrize(
    ("author", "alternatives"), [("maintainer", {"A2": "Correct"}), ("reader", {})]
)
def test_a_maintainers_review_of_a_copy_leads_to_one_too(tell, author, alternatives):
    story = tell(ADVISORY, FALLS_SHORT)
    issue = story.issue()
    asked = story.command(issue, "/r4p propose")
    assert "will write an alternative" in story.answer(issue, asked)
    assert story.verdict(issue).alternatives == {"A1": "Incorrect"}
    copy, rival = story.rival(issue, "w - h"), story.rival(issue, "w / h")
    story.settle()
    assert story.verdict(issue).alternatives == {}
    notes = [("shapes.py", 2, "Rather multiply the sides.")]
    story.repo.review(copy, "CHANGES_REQUESTED", author, comments=notes)
    story.settle()
    verdict = story.verdict(issue)
    assert (verdict.rows, verdict.alternatives) == (
        {copy: "Incorrect", rival: "Incorrect"},
        alternatives,
    )


def test_a_promised_second_attempt_is_made_where_the_code_has_moved_on(tell):
    story = tell(ADVISORY, FALLS_SHORT)
    issue = story.issue()
    asked = story.command(issue, "/r4p propose")
    assert "will write an alternative" in story.answer(issue, asked)
    assert story.verdict(issue).alternatives == {"A1": "Incorrect"}
    story.repo.commit({"README.md": "# Moved on\n"})
    story.settle()
    command = story.command(issue, "/r4p disagree A1 multiply the sides")
    assert "An agent will try A1 again" in story.answer(issue, command)
    assert story.verdict(issue).alternatives == {"A2": "Correct"}
    ((about, number, hint),) = list_hints(story)
    assert (about, number, hint["feedback"]) == (1, 2, "multiply the sides")
