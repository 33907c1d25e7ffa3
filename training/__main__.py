"""`r4p train`: thin, and each sub-command loads its module only when it is called."""

from training.commands.cli import main

main(prog_name="r4p train")
