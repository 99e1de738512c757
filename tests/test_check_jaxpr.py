"""The type checker of jaxprs: it accepts what staging makes and says what is wrong elsewhere."""

import numpy as np
import pytest

from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.check_jaxpr import JaxprTypeError, check_jaxpr
from tinyjax.core import Jaxpr, JaxprEqn, Literal, Primitive, StageTrace, Var, active

F32 = ShapedArray((), np.dtype("float32"))


class Add(Primitive):
    """Same shapes, same dtypes; weak if both operands are."""

    def type(self, x, y):
        if not x.matches(y):
            raise TypeError(f"add got {x} and {y}")
        return ShapedArray(x.shape, x.dtype, x.weak_type and y.weak_type)


class Split(Primitive):
    """Two results."""

    multi = True

    def type(self, x):
        return [x, x]


class Hold(Primitive):
    """Runs a program."""

    multi = True

    def type(self, *avals, jaxpr):
        return jaxpr.out_avals


add, split, hold = Add("add"), Split("split"), Hold("hold")


def stage(f, *avals):
    """The jaxpr of f."""
    trace = StageTrace()
    args = [trace.new_input(aval) for aval in avals]
    with active(trace, final=True):
        outs = f(*args)
    return trace.finish(outs)[0]


def program(x):
    """Some equations, a captured array, a literal."""
    y = add.bind(x, lift(np.float32(2.0)))
    a, b = split.bind(add.bind(y, y))
    return [add.bind(a, b), y]


def holder(inner):
    """A program that runs another one twice."""

    def f(x):
        (y,) = hold.bind(x, jaxpr=inner)
        return hold.bind(y, jaxpr=inner)

    return stage(f, F32)


def test_staged_programs_pass():
    assert check_jaxpr(stage(program, F32)) is None
    assert check_jaxpr(stage(list)) is None
    assert check_jaxpr(holder(stage(lambda x: [add.bind(x, x)], F32))) is None
    table = lift(np.arange(3, dtype=np.float32))
    with_const = stage(lambda x: [add.bind(x, table)], table.aval)
    assert len(with_const.constvars) == 1
    assert check_jaxpr(with_const) is None


def error(jaxpr):
    """The message with which the jaxpr is refused."""
    with pytest.raises(JaxprTypeError) as info:
        check_jaxpr(jaxpr)
    return str(info.value)


def with_eqn(jaxpr, i, **changes):
    """The jaxpr with another i-th equation."""
    eqns = list(jaxpr.eqns)
    eqns[i] = eqns[i].replace(**changes)
    return jaxpr.replace(eqns=eqns)


def test_the_error_is_a_type_error():
    assert issubclass(JaxprTypeError, TypeError)


def test_unbound_variable():
    jaxpr = stage(program, F32)
    message = error(jaxpr.replace(eqns=jaxpr.eqns[1:]))
    assert message.startswith("the equation reads the variable 'c', which is not bound\n")
    assert "in equation:\n\nb:f32[] = add c c\n" in message
    assert "while checking jaxpr:\n\n{ lambda ; a:f32[]. let\n    b:f32[] = add c c" in message


def test_variable_used_before_it_is_bound():
    jaxpr = stage(program, F32)
    message = error(jaxpr.replace(eqns=jaxpr.eqns[::-1]))
    assert "which is not bound" in message
    assert "in equation:\n\nb:f32[] = add c d" in message


def test_unbound_output():
    message = error(Jaxpr([Var(F32)], [], [Var(F32)]))
    assert message.startswith("output 0 reads the variable 'b', which is not bound")
    assert message.endswith("{ lambda ; a:f32[]. let  in (b,) }")


def test_variable_bound_twice():
    jaxpr = stage(program, F32)
    message = error(jaxpr.replace(eqns=[*jaxpr.eqns, jaxpr.eqns[0]]))
    assert message.startswith("the variable 'b' is bound twice")
    assert "in equation:\n\nb:f32[] = add a 2.0:f32[]" in message
    v = Var(F32)
    assert error(Jaxpr([v, v], [], [v])).startswith("the variable 'a' is bound twice")


@pytest.mark.parametrize(
    "aval",
    [
        ShapedArray((3,), np.dtype("float32")),
        ShapedArray((), np.dtype("int32")),
        ShapedArray((), np.dtype("float32"), weak_type=True),
    ],
    ids=repr,
)
def test_wrong_result_type(aval):
    message = error(with_eqn(stage(lambda x: [add.bind(x, x)], F32), 0, outvars=[Var(aval)]))
    assert f"has type {aval}, but `add` gives float32[]" in message
    assert "in equation:" in message


def test_operands_that_the_primitive_refuses():
    jaxpr = stage(lambda x: [add.bind(x, x)], F32)
    message = error(with_eqn(jaxpr, 0, invars=[jaxpr.invars[0], Literal(lift(1))]))
    assert message.startswith("`add` does not take these operands: add got float32[]")
    assert "in equation:\n\nb:f32[] = add a 1:i32[]" in message


def test_wrong_number_of_operands_and_results():
    jaxpr = stage(lambda x: split.bind(x), F32)
    assert "`split` does not take these operands" in error(with_eqn(jaxpr, 0, invars=[]))
    jaxpr = with_eqn(jaxpr, 0, outvars=jaxpr.eqns[0].outvars[:1])
    assert error(jaxpr).startswith("`split` has 2 results, but the equation binds 1")


def test_errors_inside_inner_jaxprs():
    inner = stage(program, F32)
    bad = inner.replace(eqns=inner.eqns[1:], outvars=inner.outvars[:1])
    message = error(holder(bad))
    assert "which is not bound" in message
    outer = holder(stage(lambda x: [add.bind(x, x)], F32))
    deep = with_eqn(outer, 1, params={"jaxpr": holder(bad)})
    assert "which is not bound" in error(deep)


def test_captured_arrays_match_their_variables():
    v = Var(F32)
    assert check_jaxpr(Jaxpr([], [], [v], [v], [lift(np.float32(1))])) is None
    message = error(Jaxpr([], [], [v], [v], [lift(np.int32(1))]))
    assert message.startswith("the constant 'a' has type float32[], but its array has")
    assert error(Jaxpr([], [], [v], [v], [])).startswith("the jaxpr has 1 constvars, but 0 consts")


def test_things_that_are_not_variables():
    x = Var(F32)
    eqn = JaxprEqn(add, [x, 2.0], {}, [Var(F32)])
    assert error(Jaxpr([x], [eqn], [x])).startswith("the equation reads 2.0, not a variable")
    eqn = JaxprEqn(add, [x, x], {}, [Literal(lift(np.float32(1)))])
    assert "is bound, but it is not a variable" in error(Jaxpr([x], [eqn], [x]))


def test_long_programs_are_shown_in_part():
    def f(x):
        for _ in range(100):
            x = add.bind(x, x)
        return [x]

    jaxpr = stage(f, F32)
    message = error(with_eqn(jaxpr, 50, invars=[Var(F32), jaxpr.invars[0]]))
    assert "while checking jaxpr (equation 51 of 100 and those near it):" in message
    assert len(message.splitlines()) < 35


def test_the_source_line_is_shown():
    jaxpr = stage(lambda x: [add.bind(x, x)], F32)
    jaxpr = with_eqn(jaxpr, 0, outvars=[Var(lift(1).aval)], source="model.py:3 (loss)")
    assert "from source: model.py:3 (loss)" in error(jaxpr)
