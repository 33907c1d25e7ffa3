"""Packages whose setup code attacks the machine, and folders of environments that somebody damaged."""

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from model.environments.environment_cache import EnvironmentCache
from model.environments.uv_process import BuildLimits
from model.errors import NoEnvironment
from tests.model.environments.conftest import PYTHON, write_source
from tests.model.environments.test_build import ask

LOOK_AROUND = """
def try_all(paths):
    for path in paths:
        try:
            yield path, open(path).read()[:20]
        except OSError:
            try:
                open(path, "w").write("was here")
                yield path, "written"
            except OSError:
                pass
SEEN = dict(try_all({paths!r})), os.getuid(), sorted(os.environ), glob.glob("{cache}/*/*")
"""
KILLED = """
import os, signal
from pathlib import Path
from model.environments.build import build_environment
from model.environments.recipe import EnvironmentRecipe
from model.environments.uv_process import PackageSources

def kill(step):
    if step == "compiling modules":
        os.kill(os.getpid(), signal.SIGKILL)

build_environment(
    EnvironmentRecipe("{python}", ("alpha<2",)),
    Path("{cache}"),
    sources=PackageSources(folders=(Path("{packages}"),), is_offline=True),
    on_step=kill,
)
"""


@pytest.fixture
def attack(build, packages):
    """`attack(code, **options)`: build a package from source whose setup code is `code`."""

    def call(code, **options):
        write_source(packages, "evil", code)
        return build("evil", sources=("evil",), allow_source_builds=True, **options)

    return call


def test_setup_code_sees_no_file_of_the_host_and_writes_none(attack, tmp_path, cache):
    (tmp_path / "id_ed25519").write_text("secret")
    # An ordinary user's code writes beside its cache too, into memory that ends with the build.
    hidden = (tmp_path / "id_ed25519", tmp_path / "new")
    outside = (str(Path.home() / "new"), "/etc/new", "/usr/new")
    paths = [
        *map(str, hidden),
        *outside,
        "/etc/shadow",
        "/etc/passwd",
        "/root/.ssh/id_rsa",
        "/proc/1/environ",
    ]
    environment = attack(LOOK_AROUND.format(paths=paths, cache=cache))
    contents, user, variables, environments = eval(
        ask(environment, "import evil; print(evil.VALUE)")
    )
    assert not set(contents) & set(outside)
    assert not set(contents) & {"/etc/shadow", "/etc/passwd", "/root/.ssh/id_rsa"}
    assert "secret" not in str(contents)
    assert user != 0
    assert not [name for name in variables if "TOKEN" in name or "KEY" in name or "R4P" in name]
    assert all(".json" not in path for path in environments)
    assert (tmp_path / "id_ed25519").read_text() == "secret"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("part", "target"),
    [("bin/python", "/usr/bin/env"), ("lib64", "/usr/lib"), ("pyvenv.cfg", "/etc/hostname")],
)
def test_a_part_of_the_environment_that_leads_out_of_it_is_refused(attack, cache, part, target):
    code = f"""
for folder in glob.glob("{cache}/environments/*/bin"):
    path = os.path.join(os.path.dirname(folder), "{part}")
    os.remove(path)
    os.symlink("{target}", path)
"""
    with pytest.raises(NoEnvironment):
        attack(code)
    assert not [path for path in (cache / "environments").iterdir() if path.is_dir()]


def test_setup_code_that_writes_without_end_is_ended(attack):
    code = """
with open(os.path.join(os.environ["UV_CACHE_DIR"], "large"), "wb") as file:
    while file.tell() < 2_000_000_000:
        file.write(bytes(1_000_000))
time.sleep(60)
"""
    with pytest.raises(NoEnvironment, match="need over 20,000,000 bytes on the disk"):
        attack(code, limits=BuildLimits(disk_bytes=20_000_000))


def test_setup_code_that_never_ends_is_killed_with_its_children(attack):
    mark = f"r4p-sleep-{os.getpid()}-{time.monotonic_ns()}"
    code = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", "{mark}"], start_new_session=True)
time.sleep(300)
"""
    with pytest.raises(NoEnvironment, match="uv was ended after 4 s"):
        attack(code, limits=BuildLimits(seconds=4))
    time.sleep(0.2)
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(path.read_bytes())
        except OSError:
            continue
    assert not [command for command in commands if mark.encode() in command]


def test_setup_code_that_leaves_strange_modes_and_files_is_harmless(attack, cache):
    code = f"""
for folder in glob.glob("{cache}/environments/*/lib/python*/site-packages"):
    if not os.path.lexists(os.path.join(folder, "link")):
        os.symlink("/etc", os.path.join(folder, "link"))
        os.mkfifo(os.path.join(folder, "pipe"))
    with open(os.path.join(folder, "program"), "w") as file:
        file.write("x")
    os.chmod(os.path.join(folder, "program"), 0o6777)
"""
    folder = attack(code).folder
    (program,) = folder.rglob("program")
    assert program.stat().st_mode & 0o7777 == 0o755
    assert program.stat().st_uid == os.geteuid()
    EnvironmentCache(cache).remove_unnamed()
    assert not folder.exists()
    assert Path("/etc/hosts").exists()


def test_a_link_in_the_place_of_an_environment_is_not_followed(build, cache, tmp_path):
    environment = build("alpha")
    store = EnvironmentCache(cache)
    store.assign("mine", environment)
    shutil.copytree(environment.folder, tmp_path / "elsewhere", symlinks=True)
    shutil.rmtree(environment.folder)
    environment.folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NoEnvironment, match="mine is not whole"):
        store.open("mine")
    again = build("alpha")
    assert not again.folder.is_symlink()
    assert (tmp_path / "elsewhere" / "pyvenv.cfg").exists()


def test_a_link_in_the_place_of_a_record_is_no_record(build, cache, tmp_path):
    store = EnvironmentCache(cache)
    store.assign("mine", build("alpha"))
    record = cache / "names" / "mine.json"
    record.rename(tmp_path / "record")
    record.symlink_to(tmp_path / "record")
    with pytest.raises(NoEnvironment, match="no test environment is called 'mine'"):
        store.open("mine")


def test_a_build_that_was_killed_leaves_nothing_that_is_used(build, cache, packages):
    code = KILLED.format(python=PYTHON, cache=cache, packages=packages)
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    (partial,) = (cache / "environments").glob("*.partial")
    assert not partial.with_suffix("").exists()
    environment = build("alpha<2")
    assert ask(environment, "import alpha") == ""
    assert not partial.exists()


def test_two_builds_at_once_install_once(build):
    steps = []
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(build, "alpha", on_step=steps.append) for _ in range(2)]
        first, second = (future.result() for future in waiting)
    assert first == second
    assert steps.count("installing packages") == 1
