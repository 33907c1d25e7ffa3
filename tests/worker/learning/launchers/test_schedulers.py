"""What each scheduler is asked for and told, and how its words are understood; they are stand-ins on PATH."""

import shlex
from dataclasses import replace

import pytest
from pydantic import ValidationError

from app.learning.training_plan import LauncherKind as Name
from app.settings import TrainSettings
from tests.services import wait_for
from tests.worker.learning.launchers import cluster
from tests.worker.learning.launchers.launchers import (
    SCHEDULERS,
    build_launcher,
    executable,
    wait_for_end,
)
from tests.worker.learning.trainings import PROGRAM
from worker import wiring
from worker.learning.launchers import kubernetes, ray, scheduler_call, slurm
from worker.learning.launchers.kubernetes import Kubernetes
from worker.learning.launchers.local import Local
from worker.learning.launchers.ray import Ray
from worker.learning.launchers.slurm import Slurm
from worker.learning.launchers.task import (
    LaunchFailed,
    LaunchRefused,
    Phase,
    TaskState,
    apply_exit_code,
)


def test_a_task_is_handed_over_once_and_can_be_stopped(launcher, task, state):
    assert launcher.look(task).phase is Phase.UNKNOWN
    launcher.start(task)
    launcher.start(task)
    assert launcher.look(task).phase is Phase.RUNNING
    assert len(cluster.jobs(state)) == 1
    wait_for(lambda: list(state.glob("*.pid")))
    launcher.stop(task)
    assert wait_for_end(launcher, task).why


def test_a_cluster_that_refuses_is_told_with_its_words(launcher, task, state):
    (state / "down").write_text("the cluster is closed for repairs")
    with pytest.raises(LaunchFailed, match="the cluster is closed for repairs"):
        launcher.start(task)


@pytest.mark.parametrize(
    ("stderr", "never"),
    [
        ("sbatch: unrecognized option '--partion=gpu'", True),
        ("Batch job submission failed: Invalid account or partition combination specified", True),
        ("error: unknown flag: --namspace", True),
        ('Error from server (NotFound): namespaces "learn" not found', True),
        ("Error: No such option: --entrypoint-gpus", True),
        ("Batch job submission failed: Invalid authentication credential", False),
        ("Unable to contact slurm controller (connect failure)", False),
        ('jobs.batch "r4p" is forbidden: exceeded quota: gpus', False),
    ],
)
def test_whether_a_cluster_may_take_it_later_is_read_from_its_words(stderr, never):
    error = scheduler_call.build_launch_error(
        "submit", scheduler_call.SchedulerResponse(1, "", stderr)
    )
    assert isinstance(error, LaunchRefused) is never
    assert str(error) == f"`submit` ended with 1: {stderr}"


@pytest.mark.parametrize("name", SCHEDULERS)
def test_neither_a_scheduler_nor_its_task_is_told_a_secret(
    name, task, state, tmp_path, monkeypatch
):
    monkeypatch.setenv("R4P_DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("R4P_ENGINE_API_KEY", "secret")
    spying = ("/bin/sh", "-c", f"env >{tmp_path}/told.new; mv {tmp_path}/told.new {tmp_path}/told")
    executable(tmp_path / "bin" / "r4p", shlex.join(spying))
    launcher = build_launcher(name, tmp_path)
    launcher = replace(launcher, program=spying) if name == "slurm" else launcher
    launcher.start(task)
    wait_for_end(launcher, task)
    told = {line.partition("=")[0] for line in (tmp_path / "told").read_text().splitlines()}
    assert {one for one in told if one.startswith("R4P_")} == {"R4P_MODEL_DIR"}
    assert "R4P_" not in (state / "known").read_text()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (None, TaskState(Phase.ENDED, "SLURM says FAILED")),
        (0, TaskState(Phase.ENDED)),
        (2, TaskState(Phase.ENDED, "exit code 2")),
        (137, TaskState(Phase.ENDED, "killed by SIGKILL (out of memory?)")),
    ],
)
def test_an_exit_code_says_more_than_a_scheduler(code, expected):
    assert apply_exit_code(TaskState(Phase.ENDED, "SLURM says FAILED"), code) == expected
    running = TaskState(Phase.RUNNING)
    assert apply_exit_code(running, code) == running


def test_slurm_remembers_by_its_accounting_what_its_controller_forgot(task, state, tmp_path):
    launcher = build_launcher("slurm", tmp_path)
    (tmp_path / "trainings" / "faults.json").write_text('{"exit": 4}')
    launcher.start(task)
    assert wait_for_end(launcher, task) == TaskState(Phase.ENDED, "SLURM says FAILED")
    (state / "forgets").touch()
    assert launcher.look(task) == TaskState(Phase.ENDED, "SLURM says FAILED")
    assert "the plan cpu-smoke is not there" in task.read_log_tail()


@pytest.mark.parametrize("down", ["down", "squeue.down"])
def test_a_job_is_not_gone_because_slurms_controller_is(task, state, tmp_path, down):
    (state / down).write_text("Unable to contact slurm controller")
    with pytest.raises(LaunchFailed, match="Unable to contact slurm controller"):
        build_launcher("slurm", tmp_path).look(task)


def test_slurm_without_accounting_knows_its_jobs_by_the_controller_alone(task, state, tmp_path):
    (state / "sacct.down").write_text("Slurm accounting storage is disabled")
    assert build_launcher("slurm", tmp_path).look(task).phase is Phase.UNKNOWN


def test_slurms_accounting_answers_for_a_controller_that_does_not(task, state, tmp_path):
    launcher = build_launcher("slurm", tmp_path)
    launcher.start(task)
    (state / "squeue.down").write_text("Unable to contact slurm controller")
    assert launcher.look(task).phase is Phase.RUNNING


def test_slurm_is_asked_for_gpus_with_the_operators_options(task):
    command = Slurm(8, "--partition=gpu --comment='all night'").command(task)
    assert {"--gres=gpu:8", "--partition=gpu", "--comment=all night", "--no-requeue"} < {*command}
    assert not [one for one in Slurm(0).command(task) if "gres" in one]
    script = Slurm(8, program=("r4p",)).script(task)
    assert """export R4P_MODEL_DIR='/a model'"'"'s folder'""" in script
    assert "set -- r4p train run cpu-smoke" in script


def test_slurms_options_are_refused_by_slurm(task, state):
    with pytest.raises(LaunchFailed, match="invalid partition specified: nowhere"):
        Slurm(1, "--partition=nowhere", PROGRAM).start(task)


def test_a_kubernetes_job_has_gpus_a_volume_and_no_rights(task, tmp_path):
    spec = build_launcher("kubernetes", tmp_path).manifest(task)["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert spec["backoffLimit"] == 0
    assert pod["automountServiceAccountToken"] is False
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 8}}
    assert container["volumeMounts"][0]["mountPath"] == str(tmp_path / "trainings")
    assert container["env"] == [{"name": "R4P_MODEL_DIR", "value": "/a model's folder"}]
    plain = replace(build_launcher("kubernetes", tmp_path), gpus=0).manifest(task)
    assert "resources" not in plain["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("seen", "phase", "why"),
    [
        (slurm.read_state("PENDING"), Phase.WAITING, ""),
        (slurm.read_state("COMPLETING"), Phase.RUNNING, ""),
        (slurm.read_state("STOPPED"), Phase.RUNNING, ""),
        (slurm.read_state("COMPLETED"), Phase.ENDED, ""),
        (slurm.read_state("TIMEOUT"), Phase.ENDED, "SLURM says TIMEOUT"),
        (slurm.read_state("CANCELLED by 1000"), Phase.ENDED, "SLURM says CANCELLED"),
        (kubernetes.read_state({}), Phase.WAITING, ""),
        (kubernetes.read_state({"active": 1, "ready": 0}), Phase.WAITING, ""),
        (kubernetes.read_state({"active": 1}), Phase.RUNNING, ""),
        (
            kubernetes.read_state(
                {
                    "conditions": [
                        {"type": "Suspended", "status": "False"},
                        {
                            "type": "Failed",
                            "status": "True",
                            "reason": "DeadlineExceeded",
                            "message": "too long",
                        },
                    ]
                }
            ),
            Phase.ENDED,
            "Kubernetes says DeadlineExceeded too long",
        ),
        (ray.read_state("Status for job 'x': JobStatus.PENDING"), Phase.WAITING, ""),
        (ray.read_state("Job 'x' was stopped"), Phase.ENDED, "Ray says that it was stopped"),
        (ray.read_state("nothing that we know"), Phase.UNKNOWN, ""),
    ],
)
def test_the_state_of_a_task_is_read_from_the_schedulers_words(seen, phase, why):
    assert seen == TaskState(phase, why)


def test_a_job_is_not_gone_because_ray_says_something_new(task, tmp_path, state):
    executable(tmp_path / "bin" / "ray", "echo it is well #")
    with pytest.raises(LaunchFailed, match=r"unexpected output of .*: it is well"):
        build_launcher("ray", tmp_path).look(task)


def test_the_settings_name_the_launcher(tmp_path):
    def create_launcher(name, **more):
        return wiring.create_launcher(
            TrainSettings(train_launcher=name, train_dir=tmp_path, **more)
        )

    assert create_launcher(Name.SUBPROCESS) == Local()
    assert create_launcher(Name.SLURM, train_gpus=4, train_options="-p x") == Slurm(4, "-p x")
    assert create_launcher(Name.RAY, train_address="http://head:8265") == Ray("http://head:8265", 1)
    kube = create_launcher(Name.KUBERNETES, train_image="r4p:1", train_claim="trainings")
    assert kube == Kubernetes("r4p:1", "trainings", tmp_path, "default", 1)
    with pytest.raises(ValidationError, match="needs R4P_TRAIN_IMAGE and R4P_TRAIN_CLAIM"):
        create_launcher(Name.KUBERNETES)
