"""Small mistakes that a program could hold: every place of a module where one of them fits."""

from __future__ import annotations

import ast
from collections import Counter
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
_PAIRS = (("min", "max"), ("ceil", "floor"), ("any", "all"), ("minimum", "maximum"), ("upper", "lower"))
_NAMES = {pair[side]: pair[1 - side] for pair in _PAIRS for side in (0, 1)}
# Lengths that are the same anyway may be compared or not, and a warning may name another line.
_UNSEEN = ("strict", "stacklevel")
# Larger numbers are sizes, precisions and tolerances, where a little more or less is as good.
_SMALL = 16


@dataclass(frozen=True)
class Mutation:
    """One change of a module: what stood where, what stands there now, and the lines of the statement."""

    kind: str
    place: ast.expr | ast.stmt
    after: str
    lines: tuple[int, int]

    @property
    def line(self) -> int:
        return self.place.lineno

    @property
    def words(self) -> str:
        return f"{self.kind}: {' '.join(ast.unparse(self.place).split())[:100]} → {self.after[:100]}"

    def applied(self, text: str) -> str:
        """Return the changed module; every other line stays where it was."""
        place, lines = self.place, text.encode().split(b"\n")
        first, last = place.lineno - 1, (place.end_lineno or place.lineno) - 1
        before, behind = lines[first][: place.col_offset], lines[last][place.end_col_offset :]
        gap = b"\n" * (last - first)
        new = self.after.encode()
        new = new + gap if isinstance(place, ast.stmt) else b"(" + new + gap + b")"
        return b"\n".join([*lines[:first], before + new + behind, *lines[last + 1 :]]).decode()


def mutations(text: str) -> Iterator[Mutation]:
    """Yield every mutation of a module.

    >>> [each.words for each in mutations("def f(x):\\n    return x < max(x, 2)")][:2]
    ['comparison: x < max(x, 2) → x <= max(x, 2)', 'comparison: x < max(x, 2) → x >= max(x, 2)']
    """
    for node, lines in _places(ast.parse(text), (1, 1)):
        for kind, changed in _changes(node):
            yield Mutation(kind, node, ast.unparse(changed), lines)


def named_mutations(file: str, text: str) -> Iterator[tuple[str, Mutation]]:
    """Yield the mutations of a file, each with a name that holds until its own line changes."""
    lines, seen = text.splitlines(), Counter[str]()
    for made in mutations(text):
        name = named(file, lines[made.line - 1].strip(), made.words)
        seen[name] += 1
        yield f"{name} #{seen[name]}", made


def named(file: str, line: str, words: str) -> str:
    return f"{file}: {line} | {words}"


def _places(node: ast.AST, lines: tuple[int, int]) -> Iterator[tuple[ast.stmt | ast.expr, tuple[int, int]]]:
    """Yield every statement and expression that a mistake could be in: no annotation, no message."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "bases"):
            continue
        if name in ("defaults", "kw_defaults"):  # they are computed at import, which no mutant changes
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or getattr(child, "arg", None) in _UNSEEN:
                continue
            within = _header(child) if isinstance(child, ast.stmt) else lines
            if isinstance(child, (ast.stmt, ast.expr)) and not _is_text(child):
                yield child, within
            # What an error says is not looked at, only whether it is raised.
            if not isinstance(child, (ast.Raise, ast.Assert, ast.JoinedStr)) and not _is_for_readers(child):
                pad = _is_pad(child)
                yield from (each for each in _places(child, within) if not (pad and _is_number(each[0])))


def _is_pad(node: ast.AST) -> bool:
    """Tell whether a product is room for rounding errors, of which a little more or less is as good.

    >>> [_is_pad(ast.parse(each, mode="eval").body) for each in ("(x + 8) * ROUNDING", "(x + 8) * 4 / 3")]
    [True, False]
    """
    if isinstance(node, ast.Name):
        return node.id in ("ROUNDING", "UNIT_ROUNDOFF", "BLUR")
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        return _is_pad(node.left) or _is_pad(node.right)
    return False


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def _header(statement: ast.stmt) -> tuple[int, int]:
    """Return the lines of a statement without those of its body."""
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if isinstance(body, list) else statement.end_lineno or statement.lineno
    return statement.lineno, max(last, statement.lineno)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_for_readers(node: ast.AST) -> bool:
    """Tell whether something only serves readers: types, lists of names, what is logged or said."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.AnnAssign):
        return "TypeAlias" in ast.unparse(node.annotation)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        names = ("cast", "TypeVar", "NewType", "getattr", "isinstance")
        return node.func.id in names or node.func.id.startswith("Invalid")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("info", "warn")
    return isinstance(node, ast.Assign) and "__all__" in ast.unparse(node.targets[0])


def _changes(node: ast.stmt | ast.expr) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(left=left, ops=[first, *rest], comparators=right):
            for other in _COMPARISONS[type(first)]:
                yield "comparison", ast.Compare(left, [other(), *rest], right)
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
            yield "swapped function", ast.Call(ast.Name(_NAMES[name]), args, named)
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=args, keywords=named) if name in _NAMES:
            yield "swapped function", ast.Call(ast.Attribute(of, _NAMES[name]), args, named)
        case ast.Expr(value=ast.Call() as call) if _is_for_readers(call):
            return
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
            yield "dropped statement", ast.Pass()
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "swapped branches", ast.IfExp(test, orelse, body)
