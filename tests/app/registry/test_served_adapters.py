"""Adapters as PEFT saves them, put into a real vLLM, and asked whether they are what was trained."""

import json
from contextlib import closing
from dataclasses import replace

import pytest
from safetensors.torch import load_file, save_file

from model.adapters import adapter_files, adapter_probe, adapter_server
from model.adapters.adapter_files import CONFIG, WEIGHTS
from model.adapters.adapter_probe import Probe
from model.adapters.adapter_server import Replica
from model.engines.openai_compatible import connect
from model.errors import BadAdapter, EngineDown, EngineError
from tests.builders.models import tiny_adapters

pytestmark = [
    pytest.mark.model,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore"),  # torch's and PEFT's own
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    tiny_adapters.write_trained_run(folder)
    return folder


@pytest.fixture
def probe(run):
    return adapter_files.read_probe(run / adapter_probe.FILE)


@pytest.fixture
def replicas(vllm):
    """One server by two addresses."""
    return Replica(vllm.url), Replica(vllm.url.replace("127.0.0.1", "localhost"))


def list_served(vllm):
    return set(adapter_server._fetch_models(Replica(vllm.url)))


def test_trained_adapter_is_served(vllm, replicas, run, probe):
    adapter = tiny_adapters.name_adapter(run)
    for _ in range(2):
        for reading in adapter_server.load_adapter(replicas, adapter, probe):
            assert reading.tokens == 32
            assert reading.effect == pytest.approx(1, abs=0.05)
            assert reading.mean_distance < 0.02
            assert reading.max_change > 100 * reading.max_noise
    with closing(connect(vllm.url, adapter.name)) as engine:
        assert engine.context_tokens == 4096
    adapter_server.unload_adapter(replicas[0], adapter.name)
    assert list_served(vllm) == {tiny_adapters.BASE}


def test_server_that_is_down_leaves_the_others_unchanged(vllm, replicas, dead, run, probe):
    with pytest.raises(EngineDown, match=f"no engine answers at {dead.url}"):
        adapter_server.load_adapter([replicas[0], dead], tiny_adapters.name_adapter(run), probe)
    assert list_served(vllm) == {tiny_adapters.BASE}


def test_adapter_of_other_weights_is_detected(vllm, replicas, run, probe, tmp_path):
    tiny_adapters.write_trained_run(tmp_path, seed=1)
    changed_adapter = tiny_adapters.name_adapter(tmp_path)
    swapped = replace(probe, adapter=changed_adapter.sha256)
    with pytest.raises(EngineError, match="of its effect arrives") as refused:
        adapter_server.load_adapter(replicas[:1], changed_adapter, swapped)
    assert changed_adapter.name in str(refused.value)
    assert list_served(vllm) == {tiny_adapters.BASE}


def test_adapter_of_unknown_layers_is_never_served(vllm, replicas, run, probe, tmp_path):
    """Whether vLLM refuses it or serves the base in its name."""
    weights = load_file(run / "adapter" / WEIGHTS)
    renamed = {
        name.replace("self_attn", "attention").replace("mlp", "feed"): one
        for name, one in weights.items()
    }
    directory = tmp_path / "adapter"
    directory.mkdir()
    save_file(renamed, directory / WEIGHTS)
    (directory / CONFIG).write_bytes((run / "adapter" / CONFIG).read_bytes())
    changed_adapter = tiny_adapters.name_adapter(tmp_path)
    with pytest.raises(EngineError):
        adapter_server.load_adapter(
            replicas[:1], changed_adapter, replace(probe, adapter=changed_adapter.sha256)
        )
    assert list_served(vllm) == {tiny_adapters.BASE}


def test_refusal_of_vllm_is_reported(vllm, replicas, tmp_path):
    probe = tiny_adapters.write_trained_run(tmp_path)
    directory = tmp_path / "adapter"
    config = json.loads((directory / CONFIG).read_text())
    (directory / CONFIG).write_text(json.dumps(config | {"r": 64}))
    adapter = tiny_adapters.name_adapter(tmp_path)
    with pytest.raises(EngineError, match=r"load_lora_adapter at .*rank 64 is greater than"):
        adapter_server.load_adapter(replicas[:1], adapter, replace(probe, adapter=adapter.sha256))
    assert list_served(vllm) == {tiny_adapters.BASE}


def test_adapter_without_effect_is_unloaded(vllm, replicas, tmp_path):
    probe = tiny_adapters.write_trained_run(tmp_path, scale=0.0)
    with pytest.raises(EngineError, match="the trainer saw no effect either"):
        adapter_server.load_adapter(replicas[:1], tiny_adapters.name_adapter(tmp_path), probe)
    assert list_served(vllm) == {tiny_adapters.BASE}


def test_adapter_name_is_never_reused(replicas, run, probe, tmp_path):
    adapter = tiny_adapters.name_adapter(run)
    adapter_server.load_adapter(replicas[:1], adapter, probe)
    tiny_adapters.write_trained_run(tmp_path, seed=2)
    changed_adapter = replace(tiny_adapters.name_adapter(tmp_path), name=adapter.name)
    with pytest.raises(EngineError, match="names are never used again"):
        adapter_server.load_on_replica(replicas[0], changed_adapter)
    adapter_server.unload_adapter(replicas[0], adapter.name)


def test_changed_files_are_refused_before_any_request(run, probe, dead):
    adapter = tiny_adapters.name_adapter(run)
    with pytest.raises(BadAdapter, match="and 000000000000 was registered; train it again"):
        adapter_server.load_adapter([dead], replace(adapter, sha256="0" * 64), probe)
    with pytest.raises(BadAdapter, match="was measured"):
        adapter_server.load_adapter([dead], adapter, Probe("1" * 64, probe.passages))
    with pytest.raises(BadAdapter, match="has no passage"):
        adapter_server.load_adapter([dead], adapter, Probe(adapter.sha256, ()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"peft_type": "IA3"}, "peft_type is 'IA3'"),
        ({"bias": "all"}, "bias is 'all'"),
        ({"use_dora": True}, "use_dora is set"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save is set"),
        ({"target_modules": ["q_proj", "lm_head"]}, "it adapts lm_head"),
        ({"target_modules": ".*embed_tokens"}, "it adapts .*embed_tokens"),
        ({"r": 1024}, "its rank is 1024"),
    ],
)
def test_unsupported_adapter_config_is_refused(run, tmp_path, changes, message):
    (tmp_path / WEIGHTS).write_bytes((run / "adapter" / WEIGHTS).read_bytes())
    config = json.loads((run / "adapter" / CONFIG).read_text())
    assert adapter_files.find_objections(run / "adapter") == ()
    (tmp_path / CONFIG).write_text(json.dumps(config | changes))
    (objection,) = adapter_files.find_objections(tmp_path)
    assert message in objection


def test_broken_weights_are_refused(run, tmp_path):
    import torch  # noqa: PLC0415

    (tmp_path / CONFIG).write_bytes((run / "adapter" / CONFIG).read_bytes())
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        fine = {"layer.lora_A.weight": torch.ones(2, dtype=dtype)}
        save_file(fine, tmp_path / WEIGHTS)
        assert adapter_files.find_objections(tmp_path) == ()
        save_file(
            {"layer.lora_B.weight": torch.tensor([1, torch.nan], dtype=dtype)}, tmp_path / WEIGHTS
        )
        assert "not finite" in adapter_files.find_objections(tmp_path)[0]
    save_file({"lm_head.weight": torch.ones(2)}, tmp_path / WEIGHTS)
    assert "no part of a plain LoRA" in adapter_files.find_objections(tmp_path)[0]
    save_file({}, tmp_path / WEIGHTS)
    assert adapter_files.find_objections(tmp_path) == ("it holds no weights",)
    (tmp_path / WEIGHTS).write_bytes(b"torn")
    with pytest.raises(BadAdapter, match="is no safetensors file"):
        adapter_files.find_objections(tmp_path)
    (tmp_path / adapter_probe.FILE).write_text("{}")
    with pytest.raises(BadAdapter, match="is no probe of an adapter"):
        adapter_files.read_probe(tmp_path / adapter_probe.FILE)
    (tmp_path / CONFIG).write_text("{")
    with pytest.raises(BadAdapter, match="is no JSON"):
        adapter_files.find_objections(tmp_path)
    with pytest.raises(BadAdapter, match=r"adapter_config.json can't be read \(No such file"):
        adapter_files.hash_adapter(tmp_path / "nowhere")
