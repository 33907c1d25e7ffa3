import json

import pytest

from model.adapters import adapter_files


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"target_modules": ["q_proj", "v_proj"]}, {"target_modules": ["v_proj", "q_proj"]}),
        (
            {"target_modules": "all-linear", "modules_to_save": None},
            {"modules_to_save": None, "target_modules": "all-linear"},
        ),
    ],
)
def test_sorted_configs_have_equal_bytes(tmp_path, first, second):
    found = set()
    for name, config in ("first", first), ("second", second):
        directory = tmp_path / name
        directory.mkdir()
        (directory / adapter_files.CONFIG).write_text(json.dumps(config))
        (directory / adapter_files.WEIGHTS).write_bytes(b"weights")
        adapter_files.sort_config(directory)
        assert json.loads((directory / adapter_files.CONFIG).read_text()) == first
        found.add(adapter_files.hash_adapter(directory))
    assert len(found) == 1
