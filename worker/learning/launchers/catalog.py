"""Choose the launcher that the settings name."""

from app.learning.training_plan import LauncherKind as Name
from app.settings import TrainSettings
from worker.learning.launchers.kubernetes import Kubernetes
from worker.learning.launchers.local import Local
from worker.learning.launchers.ray import Ray
from worker.learning.launchers.slurm import Slurm
from worker.learning.launchers.task import Launcher


def create_launcher(settings: TrainSettings) -> Launcher:
    """Create the launcher of the settings."""
    match settings.train_launcher:
        case Name.SLURM:
            return Slurm(settings.train_gpus, settings.train_options)
        case Name.RAY:
            return Ray(settings.train_address, settings.train_gpus, settings.train_options)
        case Name.KUBERNETES:
            return Kubernetes(
                image=settings.train_image or "",
                claim=settings.train_claim or "",
                mount=settings.train_dir.resolve(),
                namespace=settings.train_namespace,
                gpus=settings.train_gpus,
            )
    return Local()
