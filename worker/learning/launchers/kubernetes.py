"""Run tasks as Kubernetes Jobs with kubectl.

A volume holds the folder under the same path in the Job and here.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from worker.learning.launchers.scheduler_call import (
    build_launch_error,
    run_command,
    run_command_or_raise,
)
from worker.learning.launchers.task import LaunchTask, Phase, TaskState


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """Runs each task as a Kubernetes Job of one pod with GPUs; the pod gets no service account and no secret."""

    image: str
    claim: str
    mount: Path
    """Mount path of the claim's volume, in the pod and on this machine."""
    namespace: str
    gpus: int
    outlives_worker: ClassVar[bool] = True

    def start(self, task: LaunchTask) -> None:
        """Create the task's Job in Kubernetes, unless a Job of that name exists. Raises LaunchFailed."""
        given = json.dumps(self.manifest(task))
        answer = run_command(
            "kubectl", "create", *self._list_options(), "--filename=-", given=given
        )
        if answer.code and "AlreadyExists" not in answer.complaint:
            raise build_launch_error("kubectl create", answer)

    def look(self, task: LaunchTask) -> TaskState:
        """Return the task's state from the status of its Job; unknown if there is no such Job.

        Raises LaunchFailed if kubectl fails.
        """
        asked = run_command(
            "kubectl", "get", "job", task.name, *self._list_options(), "--output=json"
        )
        if asked.code and "NotFound" in asked.complaint:
            return TaskState(Phase.UNKNOWN)
        if asked.code:
            raise build_launch_error("kubectl get job", asked)
        return read_state(json.loads(asked.out).get("status") or {})

    def stop(self, task: LaunchTask) -> None:
        """Delete the task's Job and its pod, if they exist. Raises LaunchFailed."""
        run_command_or_raise(
            "kubectl",
            "delete",
            "job",
            task.name,
            *self._list_options(),
            "--ignore-not-found",
            "--cascade=foreground",
        )

    def manifest(self, task: LaunchTask) -> dict[str, Any]:
        """Build the manifest of the Job that runs the task, as JSON values; send nothing.

        Kubernetes runs the Job once: the worker decides whether to resume, by the files in the task's folder.
        """
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": task.name, "labels": {"app.kubernetes.io/part-of": "r4p"}},
            "spec": {
                "backoffLimit": 0,
                "ttlSecondsAfterFinished": 7 * 86_400,
                "template": {"spec": self._build_pod(task)},
            },
        }

    def _build_pod(self, task: LaunchTask) -> dict[str, Any]:
        settings = [
            {"name": name, "value": value} for name, value in sorted(task.environment.items())
        ]
        gpus = {"resources": {"limits": {"nvidia.com/gpu": self.gpus}}} if self.gpus else {}
        container = {
            "name": "train",
            "image": self.image,
            # A shell writes the log into the task's folder, where it outlives the pod.
            "command": [
                "/bin/sh",
                "-c",
                task.script(),
                "sh",
                "r4p",
                *task.arguments,
            ],
            "env": settings,
            "volumeMounts": [{"name": "trainings", "mountPath": str(self.mount)}],
            **gpus,
        }
        return {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "containers": [container],
            "volumes": [{"name": "trainings", "persistentVolumeClaim": {"claimName": self.claim}}],
        }

    def _list_options(self) -> tuple[str]:
        return (f"--namespace={self.namespace}",)


def read_state(status: dict[str, Any]) -> TaskState:
    """Convert `status`, the field of that name in a Kubernetes Job, to the task's phase and failure."""
    for condition in status.get("conditions") or []:
        if condition.get("status") != "True":
            continue
        if condition["type"] == "Complete":
            return TaskState(Phase.ENDED)
        if condition["type"] == "Failed":
            reason = f"{condition.get('reason', '')} {condition.get('message', '')}".strip()
            return TaskState(Phase.ENDED, f"Kubernetes says {reason or 'Failed'}")
    return TaskState(
        Phase.RUNNING if status.get("active") and status.get("ready", 1) else Phase.WAITING
    )
