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
def registry(connection):
    for name in (FIRST, SECOND, THIRD):
        new = NewModel(
            adapter(name), Path("/runs") / name, ModelState.CANDIDATE, "passed", {"n": 1}
        )
        assert models.register(connection, new) == name
    return connection


def measure_again(connection, name, state=ModelState.CANDIDATE):
    """Registered once more, with another gate."""
    new = NewModel(adapter(name), Path("/runs") / name, state, "anew", {"n": 2}, {"n": 3})
    models.register(connection, new)
    return models.find_by_name(connection, name)


def states(connection):
    return {one.adapter.name: one.state.value for one in models.list_models(connection)}


def test_a_name_is_kept_once_and_for_ever(registry):
    other = replace(adapter(FIRST), sha256="1" * 64)
    models.register(registry, NewModel(other, Path("/elsewhere"), ModelState.REJECTED, "other", {}))
    kept = models.find_by_name(registry, FIRST)
    assert (kept.adapter, kept.state, kept.gate) == (adapter(FIRST), ModelState.CANDIDATE, {"n": 1})
    assert [one.adapter.name for one in models.list_models(registry)] == [THIRD, SECOND, FIRST]


def test_the_same_bytes_are_one_model_whatever_the_day(registry):
    models.promote(registry, FIRST, Alias.CHAMPION, "better")
    models.withdraw(registry, Alias.CHAMPION, "worse")
    copied = replace(adapter(FIRST), name="r4p-20261125-00000000", directory=Path("/copy"))
    new = NewModel(copied, Path("/copy"), ModelState.CANDIDATE, "passed", {})
    assert models.register(registry, new) == FIRST
    assert states(registry) == {FIRST: "rejected", SECOND: "candidate", THIRD: "candidate"}
    elsewhere = replace(copied, base="another")
    assert models.register(registry, replace(new, adapter=elsewhere)) == copied.name


def test_an_unknown_name_is_answered_with_those_that_there_are(registry):
    with pytest.raises(UnknownModel, match=f"'r4p-0'; the names are {THIRD}, {SECOND}, {FIRST}$"):
        models.promote(registry, "r4p-0", Alias.CHAMPION, "why")


def test_without_any_model_that_is_said(connection):
    assert models.load_line_up(connection) == LineUp()
    with pytest.raises(UnknownModel, match="there is none yet"):
        models.find_by_name(connection, FIRST)


def test_a_model_goes_from_shadow_to_canary_to_champion(registry):
    models.promote(registry, FIRST, Alias.SHADOW, "to be seen")
    assert models.load_line_up(registry) == LineUp(shadow=adapter(FIRST))
    models.promote(registry, FIRST, Alias.CANARY, "was right", 0.1)
    assert models.load_line_up(registry) == LineUp(canary=adapter(FIRST), share=0.1)
    models.promote(registry, FIRST, Alias.CHAMPION, "still right")
    assert models.load_line_up(registry) == LineUp(adapter(FIRST))
    assert models.find_by_name(registry, FIRST).share is None
    assert [(one.alias.value, one.model) for one in models.list_moves(registry)] == [
        ("champion", FIRST),
        ("canary", None),
        ("canary", FIRST),
        ("shadow", None),
        ("shadow", FIRST),
    ]


def test_a_replaced_model_retires_or_becomes_a_candidate(registry):
    models.promote(registry, FIRST, Alias.CHAMPION, "first")
    models.promote(registry, SECOND, Alias.CHAMPION, "better")
    assert states(registry) == {FIRST: "retired", SECOND: "champion", THIRD: "candidate"}
    models.promote(registry, FIRST, Alias.CANARY, "once more", 0.1)
    models.promote(registry, THIRD, Alias.CANARY, "newer", 0.1)
    assert states(registry) == {FIRST: "candidate", SECOND: "champion", THIRD: "canary"}


def test_a_rollback_goes_to_the_last_champion_that_was_not_rejected(registry):
    for name in (FIRST, SECOND, THIRD):
        models.promote(registry, name, Alias.CHAMPION, "better")
    models.reject(registry, SECOND, "found out later")
    back = models.withdraw(registry, Alias.CHAMPION, "worse")
    assert back.adapter.name == FIRST
    assert states(registry) == {FIRST: "champion", SECOND: "rejected", THIRD: "rejected"}
    assert models.find_by_name(registry, THIRD).why == "worse"


def test_behind_the_first_champion_stands_the_model_of_the_settings(registry):
    models.promote(registry, FIRST, Alias.CHAMPION, "better")
    assert models.withdraw(registry, Alias.CHAMPION, "worse") is None
    assert models.load_line_up(registry) == LineUp()
    assert models.withdraw(registry, Alias.CHAMPION, "again") is None


def test_a_champion_comes_back_out_of_the_canary(registry):
    models.promote(registry, FIRST, Alias.CHAMPION, "first")
    models.promote(registry, SECOND, Alias.CHAMPION, "better")
    models.promote(registry, FIRST, Alias.CANARY, "once more", 0.2)
    models.withdraw(registry, Alias.CHAMPION, "worse")
    assert models.load_line_up(registry) == LineUp(adapter(FIRST))


def test_a_canary_is_withdrawn_and_the_champion_stays(registry):
    models.promote(registry, FIRST, Alias.CHAMPION, "first")
    models.promote(registry, SECOND, Alias.CANARY, "new", 0.5)
    assert models.withdraw(registry, Alias.CANARY, "unreadable votes") is None
    assert models.load_line_up(registry) == LineUp(adapter(FIRST))
    assert states(registry)[SECOND] == "rejected"


def test_a_shadow_verdict_is_stored_beside_the_verdict(registry, group):
    evaluation = registry.scalar(select(evaluations.c.id).limit(1))
    for verdict in ({"n": 1}, {"n": 2}):
        models.save_shadow(registry, evaluation, FIRST, verdict)
    assert registry.scalars(select(shadow_verdicts.c.verdict)).all() == [{"n": 2}]


def test_a_candidate_keeps_its_newest_measurement(registry):
    kept = measure_again(registry, FIRST)
    assert (kept.state, kept.why) == (ModelState.CANDIDATE, "anew")
    assert (kept.gate, kept.evaluation) == ({"n": 2}, {"n": 3})
    assert kept.adapter == adapter(FIRST)
    assert measure_again(registry, FIRST, ModelState.REJECTED).state is ModelState.REJECTED
    assert measure_again(registry, FIRST).state is ModelState.REJECTED, "for good"


@pytest.mark.parametrize("alias", [Alias.SHADOW, Alias.CANARY])
def test_a_model_that_fails_the_gate_later_loses_its_alias(registry, alias):
    models.promote(registry, FIRST, alias, "to be seen", 0.1)
    kept = measure_again(registry, FIRST)
    assert (kept.state.value, kept.why, kept.gate) == (alias.value, "to be seen", {"n": 2})
    measure_again(registry, FIRST, ModelState.REJECTED)
    assert models.find_alias_holder(registry, alias) is None
    assert states(registry)[FIRST] == "rejected"


def test_a_champion_keeps_its_state_whatever_is_measured_now(registry):
    for name in (FIRST, SECOND):
        models.promote(registry, name, Alias.CHAMPION, "better")
        measure_again(registry, name, ModelState.REJECTED)
    measure_again(registry, FIRST, ModelState.REJECTED)
    assert states(registry) == {FIRST: "retired", SECOND: "champion", THIRD: "candidate"}
    assert [models.find_by_name(registry, one).gate for one in (FIRST, SECOND)] == [
        {"n": 2},
        {"n": 1},
    ]


@pytest.mark.parametrize("alias", Alias)
def test_a_rejected_model_holds_no_alias(registry, alias):
    models.promote(registry, FIRST, Alias.CHAMPION, "first")
    models.promote(registry, SECOND, alias, "new", 0.5)
    models.reject(registry, SECOND, "its files changed")
    assert models.load_line_up(registry) == LineUp(adapter(FIRST))
    assert states(registry) == {FIRST: "champion", SECOND: "rejected", THIRD: "candidate"}


@pytest.mark.parametrize("alias", Alias)
def test_a_rejected_model_judges_nothing_though_an_alias_names_it(registry, alias):
    models.promote(registry, FIRST, alias, "new", 0.5)
    registry.execute(update(models_table).values(state="rejected"))
    assert models.load_line_up(registry).select_verifier("r4p") in (LineUp(), LineUp(share=0.5))
    assert choose_judge("octo/cat#1", models.load_line_up(registry)) is None


def test_a_canary_gets_another_share_and_what_it_did_still_counts(registry):
    models.promote(registry, FIRST, Alias.CANARY, "new", 0.1)
    began = models.find_by_name(registry, FIRST).changed_at
    models.set_share(registry, FIRST, 0.4, "40%")
    assert models.load_line_up(registry) == LineUp(canary=adapter(FIRST), share=0.4)
    kept = models.find_by_name(registry, FIRST)
    assert (kept.state, kept.changed_at) == (ModelState.CANARY, began)
    assert [one.why for one in models.list_moves(registry)] == ["40%", "new"]
