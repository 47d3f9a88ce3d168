"""Small mistakes that a program could hold: every place of a module where one of them fits."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_NAMES = {
    pair[side]: pair[1 - side]
    for pair in (("min", "max"), ("ceil", "floor"), ("any", "all"), ("minimum", "maximum"), ("upper", "lower"))
    for side in (0, 1)
}
# Larger numbers are sizes, precisions and tolerances, where a little more or less is as good.
_SMALL = 16


@dataclass(frozen=True)
class Mutation:
    """One change of a module: the line, what stood there, and what stands there now."""

    line: int
    kind: str
    before: str
    after: str
    place: int
    changed: ast.AST

    @property
    def words(self) -> str:
        return f"{self.kind}: {self.before} → {self.after}"

    def applied(self, text: str) -> str:
        """Return the changed module."""
        tree = ast.parse(text)
        old = list(_places(tree))[self.place]
        return ast.unparse(ast.fix_missing_locations(_Swap(old, self.changed).visit(tree)))


def mutations(text: str) -> Iterator[Mutation]:
    """Yield every mutation of a module.

    >>> [each.words for each in mutations("def f(x):\\n    return x < max(x, 2)")][:2]
    ['comparison: x < max(x, 2) → x <= max(x, 2)', 'comparison: x < max(x, 2) → x >= max(x, 2)']
    """
    for place, node in enumerate(_places(ast.parse(text))):
        for kind, changed in _changes(node):
            yield Mutation(node.lineno, kind, _short(node), _short(changed), place, changed)


def _short(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:100]


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._old:
            return ast.copy_location(copy.deepcopy(self._new), node)
        self.generic_visit(node)
        return node


def _places(node: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    """Yield every statement and expression that a mistake could be in: no annotation, message or docstring."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, (ast.stmt, ast.expr)) and not _is_text(child):
                yield child
            # What an error says is not looked at, only whether it is raised.
            if not isinstance(child, (ast.Raise, ast.Assert, ast.JoinedStr)) and not _is_type(child):
                yield from _places(child)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_type(node: ast.AST) -> bool:
    """Tell whether a statement only serves readers: aliases of types, imports for them, lists of names."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.AnnAssign):
        return "TypeAlias" in ast.unparse(node.annotation)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("cast", "TypeVar", "NewType", "getattr", "isinstance")
    return isinstance(node, ast.Assign) and "__all__" in ast.unparse(node.targets[0])


def _changes(node: ast.stmt | ast.expr) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            for other in _COMPARISONS[type(op)]:
                yield "comparison", ast.Compare(left, [other()], [right])
        case ast.Compare(left=left, ops=[first, *rest], comparators=both):
            for other in _COMPARISONS[type(first)]:
                yield "comparison", ast.Compare(left, [other(), *rest], both)
        case ast.BoolOp(op=op, values=values):
            yield "and, or", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "dropped sign or not", operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            yield "arithmetic", ast.BinOp(left, _ARITHMETIC[type(op)](), right)
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() as value) if abs(value) <= _SMALL:
            yield "constant", ast.Constant(value + 1)
            if value > 0:
                yield "constant", ast.Constant(value - 1)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=named) if name in _NAMES:
            yield "swapped function", ast.Call(ast.Name(_NAMES[name], ast.Load()), args, named)
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=args, keywords=named) if name in _NAMES:
            yield "swapped function", ast.Call(ast.Attribute(of, _NAMES[name], ast.Load()), args, named)
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
            yield "dropped statement", ast.Pass()
        case ast.If(test=ast.Name() | ast.Call() | ast.Attribute(), body=body, orelse=orelse):
            yield "turned condition", ast.If(ast.UnaryOp(ast.Not(), node.test), body, orelse)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "swapped branches", ast.IfExp(test, orelse, body)
