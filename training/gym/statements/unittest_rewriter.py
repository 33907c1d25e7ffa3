"""Write the methods of unittest as functions of pytest: without `self`, and with `assert` (pure)."""

import ast
from collections.abc import Set as AbstractSet
from typing import Final

_COMPARISONS: Final[dict[str, type[ast.cmpop]]] = {
    "assertEqual": ast.Eq,
    "assertEquals": ast.Eq,
    "assertListEqual": ast.Eq,
    "assertTupleEqual": ast.Eq,
    "assertSetEqual": ast.Eq,
    "assertDictEqual": ast.Eq,
    "assertMultiLineEqual": ast.Eq,
    "assertNotEqual": ast.NotEq,
    "assertIs": ast.Is,
    "assertIsNot": ast.IsNot,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
}
"""Methods of unittest that compare two values."""


class UnittestRewriter(ast.NodeTransformer):
    """Writes the assertions of unittest as `assert`, and `self.name` as `name` if no variable has that name."""

    def __init__(self, variables: AbstractSet[str]) -> None:
        self._variables = variables
        self.attributes: set[str] = set()
        """Names of the attributes that lost their `self` so far."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        """Return a class as it is: its `self` is another one."""
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Return the name of an attribute of `self`."""
        self.generic_visit(node)
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        if is_own and node.attr not in self._variables:
            self.attributes.add(node.attr)
            return ast.copy_location(ast.Name(node.attr, node.ctx), node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """Return the `assert` for a method of unittest."""
        self.generic_visit(node)
        test = _read_assertion(node.value)
        return ast.copy_location(ast.Assert(test), node) if test else node


def _read_assertion(node: ast.expr) -> ast.expr | None:
    if not (isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Name)):
        return None
    name, (first, *others) = node.func.id, node.args
    if name in _COMPARISONS and others:
        return ast.Compare(first, [_COMPARISONS[name]()], [others[0]])
    if name == "assertIsInstance" and others:
        return ast.Call(ast.Name("isinstance", ast.Load()), [first, others[0]], [])
    return {
        "assertTrue": first,
        "assertFalse": ast.UnaryOp(ast.Not(), first),
        "assertIsNone": ast.Compare(first, [ast.Is()], [ast.Constant(None)]),
        "assertIsNotNone": ast.Compare(first, [ast.IsNot()], [ast.Constant(None)]),
    }.get(name)
