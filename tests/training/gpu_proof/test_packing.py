"""What is packed: source that is the same each time, pinned wheels, and no more than the slices import."""

import hashlib
import zipfile

from training.gpu_proof import packing


def test_the_source_is_the_same_each_time_and_holds_the_packages(tmp_path):
    for name in ("a.zip", "b.zip"):
        packing.write_source(tmp_path / name)
    first, second = (
        hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("a.zip", "b.zip")
    )
    assert first == second
    names = zipfile.ZipFile(tmp_path / "a.zip").namelist()
    assert {"model/domain.py", "training/trl/train.py", "training/plans/boxed-sft.toml"} <= {*names}
    assert not [name for name in names if "__pycache__" in name]


def test_every_carried_wheel_has_a_pinned_version():
    pinned = {
        line.split("==")[0] for line in (packing.ROOT / "constraints.txt").read_text().split()
    }
    assert {*packing.CARRIED} <= pinned
