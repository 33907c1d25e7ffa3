"""When a model is trained, where, and what becomes of it."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_settings import NoDecode

from app.settings.reading import Settings
from app.training import Launcher


class TrainSettings(Settings):
    """The periodic training. No secret is in it."""

    train_plan: Annotated[str | None, BeforeValidator(lambda given: given or None)] = None
    """A plan's name or path; None: nothing is trained."""
    train_base: str | None = None
    """A directory or name of the model to adapt, in place of the plan's."""
    train_dir: Path = Path.home() / ".cache" / "r4p" / "trainings"
    """One folder for each training. Who trains, and the servers that are given adapters, see it under the same path."""
    train_new_issues: int = Field(50, ge=0)
    """Train when so many issues with labels are new since the last training."""
    train_every_seconds: float = Field(86_400.0, gt=0)
    """How often it is asked whether there is enough that is new."""
    train_groups: Annotated[tuple[Path, ...], NoDecode] = ()
    """Labelled groups to learn from beside outcomes; paths separated by commas."""
    promote: Literal["off", "shadow", "canary", "champion"] = "off"
    """What a model that passed the gate becomes by itself; off: a candidate, for `r4p models promote`."""
    train_launcher: Launcher = Launcher.SUBPROCESS
    train_gpus: int = Field(1, ge=0)
    """Of one node, asked of SLURM, Kubernetes or Ray."""
    train_options: str = ""
    """Further arguments to sbatch or `ray job submit`, as in a shell."""
    train_image: str | None = None
    """Kubernetes: the image that runs `r4p train`."""
    train_claim: str | None = None
    """Kubernetes: the volume claim that is mounted at R4P_TRAIN_DIR."""
    train_namespace: str = "default"
    """Kubernetes."""
    train_address: str = "auto"
    """Ray: `http://head:8265`."""

    @field_validator("train_groups", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @model_validator(mode="after")
    def _complete(self) -> "TrainSettings":
        if self.train_launcher is Launcher.KUBERNETES and not (
            self.train_image and self.train_claim
        ):
            raise ValueError(
                "R4P_TRAIN_LAUNCHER=kubernetes needs R4P_TRAIN_IMAGE and R4P_TRAIN_CLAIM"
            )
        return self
