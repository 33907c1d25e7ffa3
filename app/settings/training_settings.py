"""Settings of trainings: when, where, and what happens to the trained model."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, model_validator
from pydantic_settings import NoDecode

from app.learning.gate_rules import Rules
from app.learning.training_plan import LauncherKind
from app.settings.loader import Settings

_PLAIN = Rules()


def _parse_json_list(value: object) -> object:
    """Parse a JSON list of texts. Other values stay."""
    if not isinstance(value, str):
        return value
    try:
        return TypeAdapter(tuple[str, ...]).validate_json(value)
    except ValidationError:
        raise ValueError(f"can't be {value!r}: give a JSON list of texts") from None


class RunSettings(Settings):
    """How `r4p train run` starts several processes."""

    train_with: str = ""
    """Command that starts the processes of a training, such as `accelerate launch --config_file FILE`. Empty: one
    process."""


class GateSettings(Settings):
    """Conditions that a model must meet before a promotion."""

    gate_margin: float = Field(_PLAIN.margin, ge=0, le=1)
    """Share, 0 to 1, by which a model may be worse than the champion and still counts as no worse."""
    gate_least_issues: int = Field(_PLAIN.least_issues, ge=2)
    """Fewest issues of a test set with which the gate decides anything."""

    @property
    def rules(self) -> Rules:
        """Conditions that a trained model must meet before its promotion: the defaults, changed by these settings."""
        return Rules(margin=self.gate_margin, least_issues=self.gate_least_issues)


class TrainSettings(GateSettings):
    """Settings of the automatic training. They hold no secret."""

    train_plan: Annotated[str | None, BeforeValidator(lambda value: value or None)] = None
    """Name or path of a training plan; None: the bot trains nothing."""
    train_dir: Path = Path.home() / ".cache" / "r4p" / "trainings"
    """Holds one folder for each training. The trainer and the model servers must see it under the same path."""
    train_new_issues: int = Field(50, ge=0)
    """Fewest issues with labels, new since the last training, that start a training."""
    train_test_issues: int = Field(30, ge=0)
    """Fewest test issues that one source must have labelled before a training starts. The gate needs them."""
    train_every_seconds: float = Field(86_400.0, gt=0)
    """Interval between two checks for enough new issues."""
    train_dataset_args: str = ""
    """Further arguments of `r4p train dataset build`, as in a shell, such as `--groups FILE`."""
    train_measured_on: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_parse_json_list)] = ()
    """JSON list of group files that must stay out of the training: `r4p train dataset build --measured-on`."""
    train_run_args: str = ""
    """Further arguments of `r4p train run`, such as `--base DIR --tensorboard`."""
    train_evaluate_args: str = ""
    """Further arguments of `r4p train evaluate`, such as `--votes 8 --api-key-file FILE`."""
    promote: Literal["off", "shadow", "canary", "champion"] = "off"
    """Automatic promotion of a model that passed the gate; off: it stays a candidate for `r4p models promote`."""
    train_launcher: LauncherKind = LauncherKind.SUBPROCESS
    """What starts the steps of a training."""
    train_gpus: int = Field(1, ge=0)
    """GPUs of one node, for SLURM, Kubernetes or Ray."""
    train_shared_seconds: float = Field(60.0, ge=0)
    """Delay until this machine sees files of other machines in R4P_TRAIN_DIR. NFS keeps names for up to 60 s."""
    train_options: str = ""
    """Further arguments of sbatch or `ray job submit`, as in a shell."""
    train_image: str | None = None
    """Kubernetes: image that runs `r4p train`."""
    train_claim: str | None = None
    """Kubernetes: volume claim that is mounted at R4P_TRAIN_DIR."""
    train_namespace: str = "default"
    """Kubernetes: namespace."""
    train_address: str = "auto"
    """Ray: address, such as `http://head:8265`."""

    @model_validator(mode="after")
    def _check_kubernetes(self) -> "TrainSettings":
        if self.train_launcher is LauncherKind.KUBERNETES and not (
            self.train_image and self.train_claim
        ):
            raise ValueError(
                "R4P_TRAIN_LAUNCHER=kubernetes needs R4P_TRAIN_IMAGE and R4P_TRAIN_CLAIM"
            )
        return self
