"""Who is not promoted, why, and that nothing has changed then."""

import json
from dataclasses import asdict, replace

import pytest

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import UnknownModel
from app.learning.gate_rules import Rules
from app.learning.model_serving import Alias, LineUp, ModelState
from app.registry import promotion, registration
from app.registry.promotion import NotPromoted, PromotionRules
from model.adapters import adapter_server
from model.adapters.adapter_files import CONFIG, WEIGHTS
from model.errors import BadAdapter
from tests.app.registry.measured_runs import (
    MARKS,
    find_champion,
    find_state,
    write_finished_run,
    write_measurement,
    write_result,
)
from tests.builders.models import tiny_adapters
from training.gate.gate_decision import GateOutcome

pytestmark = MARKS


def test_promotion_changes_nothing_when_a_server_is_down(database, servers, names, dead):
    first, second = names
    promotion.promote(database, servers, first, Alias.CHAMPION)
    with pytest.raises(NotPromoted, match=f"nothing has changed: no engine answers at {dead.url}"):
        promotion.promote(database, [servers[0], dead], second, Alias.CHAMPION)
    assert find_champion(database) == first
    assert find_state(database, second) is ModelState.CANDIDATE
    assert set(adapter_server._fetch_models(servers[0])) == {tiny_adapters.BASE, first}


def test_adapter_changed_on_disk_is_rejected_for_good(database, servers, names, tmp_path, caplog):
    run = write_finished_run(tmp_path, seed=3)
    with transaction(database) as connection:
        name = registration.register_run(connection, run, tiny_adapters.BASE)
    path = run / "adapter" / WEIGHTS
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(NotPromoted, match=f"{name} is rejected: the adapter in .* train it again"):
        promotion.promote(database, servers, name, Alias.CHAMPION)
    assert find_state(database, name) is ModelState.REJECTED
    with transaction(database) as connection, pytest.raises(BadAdapter, match="is not what"):
        registration.register_run(connection, run, tiny_adapters.BASE)
    with transaction(database) as connection:
        adapter = models.find_by_name(connection, name).adapter
    assert promotion.reload_adapter(servers, adapter) == 0
    assert "restore the files, or roll back" in caplog.text


def test_model_not_compared_with_the_champion_is_refused(database, names, runs, dead):
    first, second = names
    for alias in (Alias.CANARY, Alias.CHAMPION):
        message = f"{second} was compared with {first}, and {tiny_adapters.BASE} judges now"
        with pytest.raises(NotPromoted, match=message):
            promotion.promote(database, [dead], second, alias)
    with pytest.raises(NotPromoted, match="no engine answers"):
        promotion.promote(database, [dead], second, Alias.SHADOW)
    with transaction(database) as connection:
        registration.register_run(
            connection, write_measurement(runs[1], tiny_adapters.BASE), tiny_adapters.BASE
        )
    with pytest.raises(NotPromoted, match="no engine answers"):
        promotion.promote(database, [dead], second, Alias.CHAMPION)


def test_model_compared_with_a_replaced_champion_is_refused(database, servers, names, runs):
    first, second = names

    class Meanwhile(tuple):
        """Servers that somebody else promotes a model on while this one is loaded."""

        __slots__ = ()

        def __iter__(self):
            with transaction(database) as connection:
                models.promote(connection, first, Alias.CHAMPION, "somebody was faster")
            return super().__iter__()

    with transaction(database) as connection:
        registration.register_run(
            connection, write_measurement(runs[1], tiny_adapters.BASE), tiny_adapters.BASE
        )
    with pytest.raises(NotPromoted, match=f"{first} judges now"):
        promotion.promote(database, Meanwhile(servers), second, Alias.CHAMPION)
    assert find_champion(database) == first
    assert find_state(database, second) is ModelState.CANDIDATE


def test_changed_shadow_loses_its_alias(database, tmp_path, dead):
    run = write_finished_run(tmp_path, seed=3)
    with transaction(database) as connection:
        name = registration.register_run(connection, run, tiny_adapters.BASE)
        models.promote(connection, name, Alias.SHADOW, "to be seen")
    (run / "adapter" / CONFIG).write_text("{}")
    with pytest.raises(NotPromoted, match="is rejected"):
        promotion.promote(database, [dead], name, Alias.CHAMPION)
    with transaction(database) as connection:
        assert models.find_alias_holder(connection, Alias.SHADOW) is None


def test_adapter_that_vllm_refuses_stays_a_candidate(database, servers, tmp_path):
    run = tmp_path
    write_finished_run(run, seed=4)
    config = run / "adapter" / CONFIG
    config.write_text(json.dumps(json.loads(config.read_text()) | {"r": 64}))
    sha256 = tiny_adapters.name_adapter(run).sha256
    probe = promotion.adapter_files.read_probe(run / "probe.json")
    (run / "probe.json").write_text(json.dumps(asdict(replace(probe, adapter=sha256))))
    write_result(run, sha256)
    write_measurement(run, tiny_adapters.BASE)
    with transaction(database) as connection:
        name = registration.register_run(connection, run, tiny_adapters.BASE)
    with pytest.raises(NotPromoted, match=r"nothing has changed: .*greater than max_lora_rank"):
        promotion.promote(database, servers, name, Alias.CHAMPION)
    assert (find_champion(database), find_state(database, name)) == (None, ModelState.CANDIDATE)


@pytest.mark.parametrize(
    ("outcome", "kept_reason"),
    [(GateOutcome.FAILED, ModelState.REJECTED), (GateOutcome.TOO_FEW, ModelState.CANDIDATE)],
)
def test_model_that_failed_its_gate_is_refused(database, tmp_path, dead, outcome, kept_reason):
    run = write_finished_run(tmp_path, outcome=outcome)
    with transaction(database) as connection:
        name = registration.register_run(connection, run, tiny_adapters.BASE)
    assert find_state(database, name) is kept_reason
    with pytest.raises(NotPromoted, match=r"rejected|did not pass the gate"):
        promotion.promote(database, [dead], name, Alias.CHAMPION)


def test_adapter_of_another_verifier_is_refused(database, names, dead):
    with pytest.raises(NotPromoted, match="trained to answer as r4p, and R4P_VERIFIER is yes-no"):
        promotion.promote(
            database, [dead], names[0], Alias.CHAMPION, terms=PromotionRules("yes-no")
        )


def test_model_of_a_laxer_gate_is_refused(database, servers, names, run):
    write_measurement(run, tiny_adapters.BASE, rules=Rules(margin=1.0, least_issues=2))
    with transaction(database) as connection:
        registration.register_run(connection, run, tiny_adapters.BASE)
    message = r"with weaker rules than the present ones \(margin 1.0 instead of 0.02, least_issues 2 instead"
    for alias in Alias:
        with pytest.raises(NotPromoted, match=message) as refused:
            promotion.promote(database, servers, names[0], alias)
    assert "r4p train evaluate --margin 0.02 --least-issues 30, then" in str(refused.value)
    assert str(refused.value).endswith(f"r4p models promote {names[0]} --by-laxer-rules")
    terms = PromotionRules(rules=Rules(margin=0.5, least_issues=2))
    with pytest.raises(NotPromoted, match=r"margin 1\.0 instead of 0\.5"):
        promotion.promote(database, servers, names[0], Alias.CHAMPION, terms=terms)
    assert find_state(database, names[0]) is ModelState.CANDIDATE

    terms = PromotionRules(by_laxer_rules=True)
    kept_reason = promotion.promote(database, servers, names[0], Alias.CHAMPION, terms=terms).report
    assert kept_reason.endswith("its gate used weaker rules than the present ones: margin 1.0 instead of 0.02, "
                         "least_issues 2 instead of 30")  # fmt: skip
    with transaction(database) as connection:
        assert models.find_by_name(connection, names[0]).why == kept_reason


def test_unknown_name_is_refused(database):
    with pytest.raises(UnknownModel, match="none yet"):
        promotion.promote(database, [], "r4p-0", Alias.CHAMPION)
    with transaction(database) as connection:
        assert models.load_line_up(connection) == LineUp()
