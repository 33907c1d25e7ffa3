"""Trained models and the moves of their aliases, on a real database."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select, update

from app.db.store.models import models
from app.db.store.models.models import NewModel, UnknownModel
from app.db.tables.schema import evaluations, shadow_verdicts
from app.db.tables.schema import models as models_table
from app.learning.model_serving import Adapter, Alias, LineUp, ModelState, choose_judge
from model.adapters import adapter_probe

pytestmark = pytest.mark.services
FIRST, SECOND, THIRD = (f"r4p-20261122-{number:08x}" for number in range(3))


def adapter(name):
    run = Path("/runs") / name
    return Adapter(name, "base", run / "adapter", name[-8:] * 8, "r4p", run / adapter_probe.FILE)


@pytest.fixture
def registered(connection):
    for name in (FIRST, SECOND, THIRD):
        new = NewModel(
            adapter(name), Path("/runs") / name, ModelState.CANDIDATE, "passed", {"n": 1}
        )
        assert models.register(connection, new) == name
    return connection


def measured_anew(connection, name, state=ModelState.CANDIDATE):
    """Registered once more, with another gate."""
    new = NewModel(adapter(name), Path("/runs") / name, state, "anew", {"n": 2}, {"n": 3})
    models.register(connection, new)
    return models.find_by_name(connection, name)


def states(connection):
    return {one.adapter.name: one.state.value for one in models.list_models(connection)}


def test_a_name_is_kept_once_and_for_ever(registered):
    other = replace(adapter(FIRST), sha256="1" * 64)
    models.register(
        registered, NewModel(other, Path("/elsewhere"), ModelState.REJECTED, "other", {})
    )
    kept = models.find_by_name(registered, FIRST)
    assert (kept.adapter, kept.state, kept.gate) == (adapter(FIRST), ModelState.CANDIDATE, {"n": 1})
    assert [one.adapter.name for one in models.list_models(registered)] == [THIRD, SECOND, FIRST]


def test_the_same_bytes_are_one_model_whatever_the_day(registered):
    models.promote(registered, FIRST, Alias.CHAMPION, "better")
    models.withdraw(registered, Alias.CHAMPION, "worse")
    copied = replace(adapter(FIRST), name="r4p-20261125-00000000", directory=Path("/copy"))
    new = NewModel(copied, Path("/copy"), ModelState.CANDIDATE, "passed", {})
    assert models.register(registered, new) == FIRST
    assert states(registered) == {FIRST: "rejected", SECOND: "candidate", THIRD: "candidate"}
    elsewhere = replace(copied, base="another")
    assert models.register(registered, replace(new, adapter=elsewhere)) == copied.name


def test_an_unknown_name_is_answered_with_those_that_there_are(registered):
    with pytest.raises(UnknownModel, match=f"'r4p-0'; the names are {THIRD}, {SECOND}, {FIRST}$"):
        models.promote(registered, "r4p-0", Alias.CHAMPION, "why")


def test_without_any_model_that_is_said(connection):
    assert models.load_line_up(connection) == LineUp()
    with pytest.raises(UnknownModel, match="there is none yet"):
        models.find_by_name(connection, FIRST)


def test_a_model_goes_from_shadow_to_canary_to_champion(registered):
    models.promote(registered, FIRST, Alias.SHADOW, "to be seen")
    assert models.load_line_up(registered) == LineUp(shadow=adapter(FIRST))
    models.promote(registered, FIRST, Alias.CANARY, "was right", 0.1)
    assert models.load_line_up(registered) == LineUp(canary=adapter(FIRST), share=0.1)
    models.promote(registered, FIRST, Alias.CHAMPION, "still right")
    assert models.load_line_up(registered) == LineUp(adapter(FIRST))
    assert models.find_by_name(registered, FIRST).share is None
    assert [(one.alias.value, one.model) for one in models.list_moves(registered)] == [
        ("champion", FIRST),
        ("canary", None),
        ("canary", FIRST),
        ("shadow", None),
        ("shadow", FIRST),
    ]


def test_who_is_replaced_retires_or_waits_again(registered):
    models.promote(registered, FIRST, Alias.CHAMPION, "first")
    models.promote(registered, SECOND, Alias.CHAMPION, "better")
    assert states(registered) == {FIRST: "retired", SECOND: "champion", THIRD: "candidate"}
    models.promote(registered, FIRST, Alias.CANARY, "once more", 0.1)
    models.promote(registered, THIRD, Alias.CANARY, "newer", 0.1)
    assert states(registered) == {FIRST: "candidate", SECOND: "champion", THIRD: "canary"}


def test_a_rollback_goes_to_the_last_champion_that_was_not_rejected(registered):
    for name in (FIRST, SECOND, THIRD):
        models.promote(registered, name, Alias.CHAMPION, "better")
    models.reject(registered, SECOND, "found out later")
    back = models.withdraw(registered, Alias.CHAMPION, "worse")
    assert back.adapter.name == FIRST
    assert states(registered) == {FIRST: "champion", SECOND: "rejected", THIRD: "rejected"}
    assert models.find_by_name(registered, THIRD).why == "worse"


def test_behind_the_first_champion_stands_the_model_of_the_settings(registered):
    models.promote(registered, FIRST, Alias.CHAMPION, "better")
    assert models.withdraw(registered, Alias.CHAMPION, "worse") is None
    assert models.load_line_up(registered) == LineUp()
    assert models.withdraw(registered, Alias.CHAMPION, "again") is None


def test_a_champion_comes_back_out_of_the_canary(registered):
    models.promote(registered, FIRST, Alias.CHAMPION, "first")
    models.promote(registered, SECOND, Alias.CHAMPION, "better")
    models.promote(registered, FIRST, Alias.CANARY, "once more", 0.2)
    models.withdraw(registered, Alias.CHAMPION, "worse")
    assert models.load_line_up(registered) == LineUp(adapter(FIRST))


def test_a_canary_is_withdrawn_and_the_champion_stays(registered):
    models.promote(registered, FIRST, Alias.CHAMPION, "first")
    models.promote(registered, SECOND, Alias.CANARY, "new", 0.5)
    assert models.withdraw(registered, Alias.CANARY, "unreadable votes") is None
    assert models.load_line_up(registered) == LineUp(adapter(FIRST))
    assert states(registered)[SECOND] == "rejected"


def test_what_a_shadow_says_is_kept_beside_the_verdict(registered, group):
    evaluation = registered.scalar(select(evaluations.c.id).limit(1))
    for verdict in ({"n": 1}, {"n": 2}):
        models.save_shadow(registered, evaluation, FIRST, verdict)
    assert registered.scalars(select(shadow_verdicts.c.verdict)).all() == [{"n": 2}]


def test_what_was_measured_since_is_kept_with_a_candidate(registered):
    kept = measured_anew(registered, FIRST)
    assert (kept.state, kept.why) == (ModelState.CANDIDATE, "anew")
    assert (kept.gate, kept.evaluation) == ({"n": 2}, {"n": 3})
    assert kept.adapter == adapter(FIRST)
    assert measured_anew(registered, FIRST, ModelState.REJECTED).state is ModelState.REJECTED
    assert measured_anew(registered, FIRST).state is ModelState.REJECTED, "for good"


@pytest.mark.parametrize("alias", [Alias.SHADOW, Alias.CANARY])
def test_who_fails_the_gate_later_leaves_the_line(registered, alias):
    models.promote(registered, FIRST, alias, "to be seen", 0.1)
    kept = measured_anew(registered, FIRST)
    assert (kept.state.value, kept.why, kept.gate) == (alias.value, "to be seen", {"n": 2})
    measured_anew(registered, FIRST, ModelState.REJECTED)
    assert models.find_alias_holder(registered, alias) is None
    assert states(registered)[FIRST] == "rejected"


def test_who_is_or_was_champion_stays_that_whatever_is_measured_now(registered):
    for name in (FIRST, SECOND):
        models.promote(registered, name, Alias.CHAMPION, "better")
        measured_anew(registered, name, ModelState.REJECTED)
    measured_anew(registered, FIRST, ModelState.REJECTED)
    assert states(registered) == {FIRST: "retired", SECOND: "champion", THIRD: "candidate"}
    assert [models.find_by_name(registered, one).gate for one in (FIRST, SECOND)] == [
        {"n": 2},
        {"n": 1},
    ]


@pytest.mark.parametrize("alias", Alias)
def test_who_is_rejected_holds_no_alias(registered, alias):
    models.promote(registered, FIRST, Alias.CHAMPION, "first")
    models.promote(registered, SECOND, alias, "new", 0.5)
    models.reject(registered, SECOND, "its files changed")
    assert models.load_line_up(registered) == LineUp(adapter(FIRST))
    assert states(registered) == {FIRST: "champion", SECOND: "rejected", THIRD: "candidate"}


@pytest.mark.parametrize("alias", Alias)
def test_a_rejected_model_judges_nothing_though_an_alias_names_it(registered, alias):
    models.promote(registered, FIRST, alias, "new", 0.5)
    registered.execute(update(models_table).values(state="rejected"))
    assert models.load_line_up(registered).select_verifier("r4p") in (LineUp(), LineUp(share=0.5))
    assert choose_judge("octo/cat#1", models.load_line_up(registered)) is None


def test_a_canary_gets_another_share_and_what_it_did_still_counts(registered):
    models.promote(registered, FIRST, Alias.CANARY, "new", 0.1)
    began = models.find_by_name(registered, FIRST).changed_at
    models.set_share(registered, FIRST, 0.4, "40%")
    assert models.load_line_up(registered) == LineUp(canary=adapter(FIRST), share=0.4)
    kept = models.find_by_name(registered, FIRST)
    assert (kept.state, kept.changed_at) == (ModelState.CANARY, began)
    assert [one.why for one in models.list_moves(registered)] == ["40%", "new"]
