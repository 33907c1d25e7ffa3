"""When a model is trained, where, and what becomes of it."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, model_validator
from pydantic_settings import NoDecode

from app.learning.gate_rules import Rules
from app.learning.training_plan import Launcher
from app.settings.loader import Settings

_PLAIN = Rules()


def _json_list(given: object) -> object:
    """What a JSON list of texts holds; anything but a text as it is."""
    if not isinstance(given, str):
        return given
    try:
        return TypeAdapter(tuple[str, ...]).validate_json(given)
    except ValidationError:
        raise ValueError(f"can't be {given!r}: give a JSON list of texts") from None


class RunSettings(Settings):
    """How `r4p train run` becomes several processes."""

    train_with: str = ""
    """What starts them, as in a shell: `accelerate launch --config_file FILE`. Empty: one process."""


class GateSettings(Settings):
    """What a model has to show at least before it comes into use."""

    gate_margin: float = Field(_PLAIN.margin, ge=0, le=1)
    """By how much it may be worse than the champion and still count as no worse."""
    gate_least_issues: int = Field(_PLAIN.least_issues, ge=2)
    """Of a set, for it to decide anything."""

    @property
    def rules(self) -> Rules:
        """Those in force."""
        return Rules(margin=self.gate_margin, least_issues=self.gate_least_issues)


class TrainSettings(GateSettings):
    """The periodic training. No secret is in it."""

    train_plan: Annotated[str | None, BeforeValidator(lambda given: given or None)] = None
    """A plan's name or path; None: nothing is trained."""
    train_dir: Path = Path.home() / ".cache" / "r4p" / "trainings"
    """One folder for each training. Who trains, and the servers that are given adapters, see it under the same path."""
    train_new_issues: int = Field(50, ge=0)
    """Train when so many issues with labels are new since the last training."""
    train_test_issues: int = Field(30, ge=0)
    """And when one source labelled so many issues to measure on: the gate decides by no fewer."""
    train_every_seconds: float = Field(86_400.0, gt=0)
    """How often it is asked whether there is enough that is new."""
    train_dataset_args: str = ""
    """Further arguments to `r4p train dataset build`, as in a shell, such as `--groups FILE`."""
    train_measured_on: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_json_list)] = ()
    """Files of groups of which nothing may be learnt, a JSON list: `r4p train dataset build --measured-on`."""
    train_run_args: str = ""
    """To `r4p train run`, such as `--base DIR --tensorboard`."""
    train_evaluate_args: str = ""
    """To `r4p train evaluate`, such as `--votes 8 --api-key-file FILE`."""
    promote: Literal["off", "shadow", "canary", "champion"] = "off"
    """What a model that passed the gate becomes by itself; off: a candidate, for `r4p models promote`."""
    train_launcher: Launcher = Launcher.SUBPROCESS
    train_gpus: int = Field(1, ge=0)
    """Of one node, asked of SLURM, Kubernetes or Ray."""
    train_shared_seconds: float = Field(60.0, ge=0)
    """How much later this machine may see what another one wrote into R4P_TRAIN_DIR: NFS keeps names for up to 60 s."""
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

    @model_validator(mode="after")
    def _complete(self) -> "TrainSettings":
        if self.train_launcher is Launcher.KUBERNETES and not (
            self.train_image and self.train_claim
        ):
            raise ValueError(
                "R4P_TRAIN_LAUNCHER=kubernetes needs R4P_TRAIN_IMAGE and R4P_TRAIN_CLAIM"
            )
        return self
