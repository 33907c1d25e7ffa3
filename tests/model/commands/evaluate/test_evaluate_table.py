"""`r4p evaluate` prints a table of metrics for people."""


def test_text_output_is_a_table_with_the_constants(run):
    result = run("--votes", "1")
    assert result.exit_code == 0, result.output
    (accuracy,) = [line for line in result.stdout.splitlines() if line.startswith(" accuracy")]
    assert accuracy.split() == ["accuracy", "1.000", "0.610", "…", "1.000", *["0.500"] * 3]
    (best,) = [line for line in result.stdout.splitlines() if line.startswith(" best of group")]
    assert best.split()[3:] == ["1.000", "0.610", "…", "1.000", "0.500"]  # every edit is another
    assert "r4p with script: 6 groups of 6 issues, 18 patches" in result.stdout


def test_text_output_lists_selective_precision_first(run):
    lines = run("--votes", "1").stdout.splitlines()
    names = ("coverage at 90", "auroc", "ece", "accuracy")
    first = next(at for at, line in enumerate(lines) if line.startswith(f" {names[0]}"))
    for line, name in zip(lines[first:], names, strict=False):
        assert line.startswith(f" {name} ")
    assert "metric" in lines[first - 2]
    # the coin is sure of nothing; a constant ranks nothing
    assert lines[first].split()[-3:] == ["0.000", "0.000", "0.000"]
    assert lines[first + 1].split()[-3:] == ["0.500", "0.500", "0.500"]
