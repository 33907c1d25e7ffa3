"""Tasks as Kubernetes Jobs, by kubectl. The folder is on a volume that the Job mounts under the same path."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from worker.learning.launchers.scheduler_call import ask, demand, failed
from worker.learning.launchers.task import Phase, Seen, Task


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """Asks for GPUs of one pod, which gets no service account and no secret."""

    image: str
    claim: str
    mount: Path
    """Where the claim's volume is, here and there."""
    namespace: str
    gpus: int
    outlives_us: ClassVar[bool] = True

    def start(self, task: Task) -> None:
        """Create the Job, unless there is one of that name. Raises LaunchFailed."""
        given = json.dumps(self.manifest(task))
        answer = ask("kubectl", "create", *self._where(), "--filename=-", given=given)
        if answer.code and "AlreadyExists" not in answer.complaint:
            raise failed("kubectl create", answer)

    def look(self, task: Task) -> Seen:
        """As the Job's status says. Raises LaunchFailed."""
        asked = ask("kubectl", "get", "job", task.name, *self._where(), "--output=json")
        if asked.code and "NotFound" in asked.complaint:
            return Seen(Phase.UNKNOWN)
        if asked.code:
            raise failed("kubectl get job", asked)
        return seen(json.loads(asked.out).get("status") or {})

    def stop(self, task: Task) -> None:
        """Delete the Job with its pod. Raises LaunchFailed."""
        demand(
            "kubectl",
            "delete",
            "job",
            task.name,
            *self._where(),
            "--ignore-not-found",
            "--cascade=foreground",
        )

    def manifest(self, task: Task) -> dict[str, Any]:
        """The Job. It is tried once: whether to resume is decided here, by what it left in its folder."""
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": task.name, "labels": {"app.kubernetes.io/part-of": "r4p"}},
            "spec": {
                "backoffLimit": 0,
                "ttlSecondsAfterFinished": 7 * 86_400,
                "template": {"spec": self._pod(task)},
            },
        }

    def _pod(self, task: Task) -> dict[str, Any]:
        settings = [
            {"name": name, "value": value} for name, value in sorted(task.environment.items())
        ]
        gpus = {"resources": {"limits": {"nvidia.com/gpu": self.gpus}}} if self.gpus else {}
        container = {
            "name": "train",
            "image": self.image,
            # A shell, so that the log lies beside what the task writes and outlives the pod.
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

    def _where(self) -> tuple[str]:
        return (f"--namespace={self.namespace}",)


def seen(status: dict[str, Any]) -> Seen:
    """What a Job's status means."""
    for condition in status.get("conditions") or []:
        if condition.get("status") != "True":
            continue
        if condition["type"] == "Complete":
            return Seen(Phase.ENDED)
        if condition["type"] == "Failed":
            said = f"{condition.get('reason', '')} {condition.get('message', '')}".strip()
            return Seen(Phase.ENDED, f"Kubernetes says {said or 'Failed'}")
    return Seen(Phase.RUNNING if status.get("active") and status.get("ready", 1) else Phase.WAITING)
