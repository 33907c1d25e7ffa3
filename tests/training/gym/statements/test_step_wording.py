"""Single steps of a test have the right words."""

from tests.training.gym.statements.samples import list_steps


def list_steps_before(steps, head=""):
    """The steps of a test that runs them before its check."""
    body = "".join(f"    {line}\n" for line in steps.splitlines())
    return list_steps(f"{head}def test_it():\n{body}    assert box.status == 200\n")


def test_only_the_outer_brackets_of_a_pair_are_left_out():
    loop = "for i, (a, b) in enumerate(pairs):\n    box.add(i, a, b)"
    assert list_steps_before(loop) == [
        "For each `i, (a, b)` of `enumerate(pairs)`, call `box.add(i, a, b)`.",
    ]
    assert "Set `(a, b), c` to `box.read()`." in list_steps_before(
        "(a, b), c = box.read()\nbox.add(a)"
    )
