"""The launcher that the settings name."""

from app.settings import TrainSettings
from app.training import Launcher as Name
from worker.launchers.kubernetes import Kubernetes
from worker.launchers.local import Local
from worker.launchers.ray import Ray
from worker.launchers.slurm import Slurm
from worker.launchers.task import Launcher


def of(settings: TrainSettings) -> Launcher:
    """Made from what the settings say of it."""
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
