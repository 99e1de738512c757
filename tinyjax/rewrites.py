"""Python's control flow, written with functions of arrays: what messages propose.

Each function takes the user's own source as trees and gives a new tree, which `show` prints; or
None where the code is too long for one line. What it gives can be run.
"""

import ast
import copy
import functools

from tinyjax.user_code import show

ROOM = 90  # columns that a proposal may take
PYTHONS = {"max", "min", "any", "all", "sorted", "bool", "int", "float", "abs", "range", "len"}


class Unsure(Exception):
    """Nobody knows code that certainly does the same: words are to be said instead."""


def name(dotted):
    """'jnp.where' as a tree."""
    return ast.parse(dotted, mode="eval").body


def call(function, *args, **keywords):
    """function(*args, **keywords) as a tree."""
    pairs = [ast.keyword(k, v) for k, v in keywords.items()]
    return ast.Call(name(function), list(args), pairs)


def or_none(rewrite):
    """Decorator: None where the rewriting is not certain."""

    @functools.wraps(rewrite)
    def maybe(*args):
        try:
            return rewrite(*args)
        except Unsure:
            return None

    return maybe


def fits(node):
    """The text of a proposal, or None if it is too long for a message."""
    text = show(node) if node is not None else ""
    return text if text and len(text) <= ROOM and "\n" not in text else None


# ---- logic ---------------------------------------------------------------------------------------


class Logic(ast.NodeTransformer):
    """`and`, `or`, `not`, chains such as 0 < x < 1, `in` and choices, for arrays. What cannot be
    rewritten for certain raises Unsure.

    boolean: whether operands are known to be booleans, so that & | ~ will do.
    scope: the names that have a value before a statement, if that is known.
    """

    def __init__(self, jnp, lax, boolean=True, scope=None):
        self.jnp, self.lax, self.boolean, self.scope = jnp, lax, boolean, scope
        self.testing = False  # whether only the truth of the expression counts, as after `if`

    def is_boolean(self, node):
        """Whether an expression gives booleans."""
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.BoolOp):
            return all(map(self.is_boolean, node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
            return True
        if isinstance(node, ast.Constant):
            return isinstance(node.value, bool)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("any", "all", "bool"):
            return True
        if isinstance(node, ast.Name) and node.id in (self.scope or ()):
            value = self.scope[node.id]
            return isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool"
        return self.boolean

    def truth(self, node, testing=True):
        """An expression of which only the truth counts; testing=False: its value does."""
        before, self.testing = self.testing, testing
        try:
            return self.visit(copied(node))
        finally:
            self.testing = before

    def visit_BoolOp(self, node):
        """a and b: an operator for booleans; for numbers, Python gives one of them."""
        if any(isinstance(v, ast.Constant) and not is_number(v.value) for v in node.values):
            raise Unsure
        both = isinstance(node.op, ast.And)
        parts = [self.truth(v, self.testing) for v in node.values]
        if all(map(self.is_boolean, node.values)):
            operator = ast.BitAnd() if both else ast.BitOr()
            return functools.reduce(lambda a, b: ast.BinOp(a, operator, b), parts)
        if self.testing:
            logical = f"{self.jnp}.logical_{'and' if both else 'or'}"
            return functools.reduce(lambda a, b: call(logical, a, b), parts)
        out = parts[-1]
        for old, part in zip(node.values[-2::-1], parts[-2::-1]):
            zero = ast.Compare(part, [ast.NotEq()], [ast.Constant(0)])
            test = part if self.is_boolean(old) else zero
            out = call(f"{self.jnp}.where", test, *((out, part) if both else (part, out)))
        return out

    def visit_UnaryOp(self, node):
        """not a"""
        if not isinstance(node.op, ast.Not):
            return self.generic_visit(node)
        operand = self.truth(node.operand)
        if self.is_boolean(node.operand):
            return ast.UnaryOp(ast.Invert(), operand)
        return call(f"{self.jnp}.logical_not", operand)

    def visit_Compare(self, node):
        """a < b < c, a in b"""
        sides = [node.left, *node.comparators]
        if len(node.ops) > 1:
            pairs = zip(sides, node.ops, sides[1:])
            parts = [ast.Compare(a, [op], [b]) for a, op, b in pairs]
            return self.visit_BoolOp(ast.BoolOp(ast.And(), parts))
        left, right = [self.truth(side, False) for side in sides]
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            if isinstance(right, (ast.List, ast.Tuple, ast.Set)):
                values = call(f"{self.jnp}.array", ast.List(right.elts, ast.Load()))
                found = call(f"{self.jnp}.isin", left, values)
            else:
                found = call(f"{self.jnp}.any", ast.Compare(right, [ast.Eq()], [left]))
            return ast.UnaryOp(ast.Invert(), found) if isinstance(node.ops[0], ast.NotIn) else found
        return ast.Compare(left, node.ops, [right])

    def visit_IfExp(self, node):
        """a if c else b"""
        return choose(self, node.test, self.visit(node.body), self.visit(node.orelse))

    def visit_Call(self, node):
        """max(a, b), any(x)"""
        word = node.func.id if isinstance(node.func, ast.Name) else ""
        if word in self.own():
            word = ""
        if word in ("any", "all") and hasattr((node.args or [None])[0], "elts"):
            operator = ast.Or() if word == "any" else ast.And()
            return self.truth(ast.BoolOp(operator, node.args[0].elts))
        before, self.testing = self.testing, False
        self.generic_visit(node)
        self.testing = before
        if word not in PYTHONS:
            return node
        if not node.args or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise Unsure
        if word in ("max", "min") and len(node.args) >= 2:
            out = node.args[0]
            for arg in node.args[1:]:
                out = call(f"{self.jnp}.{word}imum", out, arg)
            return out
        array = not isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp, ast.List, ast.Tuple))
        if word in ("max", "min", "any", "all") and array:
            return call(f"{self.jnp}.{word}", *node.args)
        if word == "sorted" and array:
            return call(f"{self.jnp}.sort", *node.args)
        if word == "bool":
            return ast.Compare(node.args[0], [ast.NotEq()], [ast.Constant(0)])
        if word in ("abs", "range", "len"):
            return node
        raise Unsure

    def own(self):
        """The names that the user has given a meaning of his own."""
        return self.scope or ()


def choose(logic, test, a, b):
    """jnp.where(test, a, b); lax.cond for several results."""
    if any(isinstance(v, ast.Constant) and not is_number(v.value) for v in (a, b)):
        raise Unsure
    test = logic.truth(test)
    if any(isinstance(v, (ast.Tuple, ast.List, ast.Dict)) for v in (a, b)):
        none = ast.arguments([], [], None, [], [], None, [])
        return call(f"{logic.lax}.cond", test, ast.Lambda(none, a), ast.Lambda(none, b))
    return call(f"{logic.jnp}.where", test, a, b)


def is_number(value):
    """Whether a constant can be an element of an array."""
    return isinstance(value, (bool, int, float, complex))


@or_none
def test_of(logic, node):
    """A condition for arrays, or None."""
    return logic.truth(node)


@or_none
def value_of(logic, node):
    """An expression for arrays, or None."""
    return logic.truth(node, False)


# ---- if ------------------------------------------------------------------------------------------


def result(logic, body, rest):
    """What a branch does, as (target, value); target is "return" for a return."""
    statements = body or rest[:1]
    if len(statements) != 1:
        return None
    statement = statements[0]
    if isinstance(statement, ast.Return) and statement.value is not None:
        return "return", logic.visit(statement.value)
    if not body:
        return None
    if isinstance(statement, ast.If):
        return branches(logic, statement, rest)
    return assigned(logic, statement)


def assigned(logic, statement):
    """(name, value) of `name = value` and `name += value`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    elif isinstance(statement, ast.AugAssign):
        target = statement.target
        value = ast.BinOp(name(show(target)), statement.op, statement.value)
    else:
        return None
    return (target.id, logic.visit(value)) if isinstance(target, ast.Name) else None


def branches(logic, node, rest):
    """(target, value) of a whole `if` statement; rest: the statements after it."""
    yes = result(logic, node.body, [])
    returns = yes is not None and yes[0] == "return"
    no = result(logic, node.orelse, rest if returns else [])
    if yes and not no and not node.orelse and not returns and yes[0] in (logic.scope or ()):
        no = yes[0], name(yes[0])  # without else the name keeps its value
    if not yes or not no or yes[0] != no[0]:
        return None
    value = choose(logic, node.test, yes[1], no[1])
    return yes[0], value


def following(node, parents):
    """The statements after a statement in its block."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parents[0], field, []) if parents else []
        if isinstance(block, list) and node in block:
            return block[block.index(node) + 1 :]
    return []


@or_none
def if_statement(logic, node, parents):
    """The one statement that does what an `if` does, or None."""
    found = branches(logic, node, following(node, parents))
    if not found:
        return None
    target, value = found
    if target == "return":
        return ast.Return(value)
    return ast.Assign([ast.Name(target, ast.Store())], value)


# ---- loops ---------------------------------------------------------------------------------------


class Replace(ast.NodeTransformer):
    """Names become expressions."""

    def __init__(self, values):
        self.values = values

    def visit_Name(self, node):
        """A name"""
        return self.values.get(node.id, node)


def step(logic, body):
    """The new values of the names that a loop's body assigns, in terms of the old; or None."""
    values = {}
    for statement in body:
        pair = assigned(logic, statement)
        if pair is None and isinstance(statement, ast.If):
            pair = branches(logic, statement, [])
        if pair is None:
            return None
        values[pair[0]] = Replace(values).visit(copied(pair[1]))
    if logic.scope:  # what only lives inside of the body is no state
        values = {k: v for k, v in values.items() if k in logic.scope}
    return values or None


def loop_state(values):
    """-> how a loop's function names its state, what each name is there, and the state."""
    names = list(values)
    if len(names) == 1:
        return names[0], {}, ast.Name(names[0], ast.Load())
    parts = {n: name(f"s[{i}]") for i, n in enumerate(names)}
    return "s", parts, ast.Tuple([ast.Name(n, ast.Load()) for n in names], ast.Load())


def function(names, body):
    """lambda names: body"""
    args = [ast.arg(n) for n in names]
    return ast.Lambda(ast.arguments([], args, None, [], [], None, []), body)


def copied(node):
    """A tree of its own: transformers, and printing, write into the one they get."""
    return copy.deepcopy(node)


def new_values(values, parts):
    """The body of a loop's function."""
    news = [Replace(parts).visit(copied(v)) for v in values.values()]
    return news[0] if len(news) == 1 else ast.Tuple(news, ast.Load())


@or_none
def while_statement(logic, node):
    """A `while` as one lax.while_loop, or None."""
    values = None if node.orelse else step(logic, node.body)
    if not values:
        return None
    label, parts, state = loop_state(values)
    test = Replace(parts).visit(logic.truth(node.test))
    body = new_values(values, parts)
    loop = call(f"{logic.lax}.while_loop", function([label], test), function([label], body), state)
    return ast.Assign([copied(state)], loop)


@or_none
def for_statement(logic, node):
    """`for i in range(n)` as one lax.fori_loop, or None."""
    counter, bounds = node.target, node.iter.args  # with a step fori_loop cannot count
    values = None if node.orelse else step(logic, node.body)
    if not values or not isinstance(counter, ast.Name) or len(bounds) > 2:
        return None
    low, high = bounds if len(bounds) == 2 else (ast.Constant(0), bounds[0])
    label, parts, state = loop_state(values)
    body = function([counter.id, label], new_values(values, parts))
    return ast.Assign([copied(state)], call(f"{logic.lax}.fori_loop", low, high, body, state))
