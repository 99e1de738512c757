"""How primitives print as expressions of the kernel language, and which dtypes kernels know."""

import functools

import numpy as np

from tinyjax.compiler.intrinsics_py import WORDS

# ---- dtypes -------------------------------------------------------------------------------------

CODES = {
    "bool": "bool",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
    "complex64": "c64",
    "complex128": "c128",
}
PARTS = {"c64": "f32", "c128": "f64"}


@functools.cache  # NumPy takes microseconds to find a dtype's name
def code_of(dtype):
    """The kernel language's name of a dtype, or None if kernels do not know it."""
    return CODES.get(getattr(dtype, "name", None)) if isinstance(dtype, np.dtype) else None


def inside(code):
    """The type that values of a dtype have inside a kernel: halves are single precision there."""
    return "f32" if code in ("f16", "bf16") else code


def literal(value, code):
    """A number as source text of its dtype."""
    if code == "bool":
        return "True" if value else "False"
    kind = inside(code)
    if code in PARTS:
        part = PARTS[code]
        return f"complex_of({literal(value.real, part)}, {literal(value.imag, part)})"
    if kind[0] != "f":
        return f"{kind}({int(value)})"
    x = (np.float32 if kind == "f32" else np.float64)(value)
    text = str(x)  # the shortest digits that give the number back
    if np.isfinite(x) and type(x)(float(text)).tobytes() != x.tobytes():
        text = repr(float(x))
    return f"{kind}({text})"


# ---- expressions --------------------------------------------------------------------------------


def infix(symbol):
    """x + y and the like."""
    return lambda code, x, y: f"{x} {symbol} {y}"


def call(word):
    """word(x, y)."""
    return lambda code, *xs: f"{word}({', '.join(xs)})"


def by_type(is_float=None, is_int=None, is_bool=None):
    """A printer for each kind of operand; None where the primitive does not print."""

    def printer(code, *xs):
        chosen = is_bool if code == "bool" else is_float if "f" in code else is_int
        return chosen and chosen(code, *xs)

    return printer


def one(code):
    """The number 1."""
    if code in PARTS:
        return f"{code}({one(PARTS[code])})"
    return f"{inside(code)}(1{'.0' if 'f' in code else ''})"


def tan(code, x):
    """tan x."""
    return f"tan({x})" if "tan" in WORDS else f"sin({x}) / cos({x})"


def unknown(code, *xs):
    """Not printable."""


PLAIN = {
    "neg": lambda code, x: f"-{x}",
    "add": infix("+"),
    "add_any": infix("+"),
    "sub": infix("-"),
    "mul": infix("*"),
    "div": by_type(infix("/"), call("div")),
    "rem": by_type(call("rem"), call("rem")),
    "max": by_type(call("maximum"), call("maximum"), infix("|")),
    "min": by_type(call("minimum"), call("minimum"), infix("&")),
    "eq": infix("=="),
    "ne": infix("!="),
    "lt": by_type(infix("<"), infix("<"), lambda code, x, y: f"({x} ^ True) & {y}"),
    "le": by_type(infix("<="), infix("<="), lambda code, x, y: f"({x} ^ True) | {y}"),
    "gt": by_type(infix(">"), infix(">"), lambda code, x, y: f"{x} & ({y} ^ True)"),
    "ge": by_type(infix(">="), infix(">="), lambda code, x, y: f"{x} | ({y} ^ True)"),
    "not": by_type(None, lambda code, x: f"~{x}", lambda code, x: f"{x} ^ True"),
    "and": infix("&"),
    "or": infix("|"),
    "xor": infix("^"),
    "rsqrt": lambda code, x: f"{one(code)} / sqrt({x})",
    "square": lambda code, x: f"square({x})" if code in PARTS else f"{x} * {x}",
    "copy": lambda code, x: x,
    "copy_p": lambda code, x: x,
    "tan": tan,
    "clamp": lambda code, low, x, high: f"minimum(maximum({x}, {low}), {high})",
    "shift_left": call("shift_left"),
    "shift_right_logical": call("shift_right_logical"),
    "shift_right_arithmetic": call("shift_right_arithmetic"),
    "population_count": call("popcount"),
    "clz": call("clz"),
    "is_finite": call("is_finite"),
    "abs": call("abs"),
    "real": call("real"),
    "imag": call("imag"),
    "conj": lambda code, x: f"conj({x})" if code in PARTS else None,
    "complex": call("complex_of"),
}
# primitives whose name is the word
# fmt: off
MATHS = [
    "exp", "exp2", "expm1", "log", "log1p", "logistic", "sqrt", "cbrt", "pow", "sin", "cos",
    "tanh", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh",
    "erf", "erfc", "erf_inv", "lgamma", "digamma",
]
# fmt: on
for _name in ["sign", "floor", "ceil", "nextafter", *MATHS]:
    if _name in WORDS:
        PLAIN[_name] = call(_name)

# What kernels know of complex numbers; the rest is NumPy's.
# fmt: off
OF_COMPLEX = {
    "neg", "add", "add_any", "sub", "mul", "div", "square", "copy", "copy_p", "abs", "real", "imag",
    "conj", "complex", "eq", "ne", "select_n", "exp", "log", "sin", "cos", "convert_element_type",
}
# fmt: on
COSTLY = {*MATHS, "tan", "div", "rem", "rsqrt", "integer_pow"}


def convert(source, target, x):
    """A number at another dtype."""
    if source in PARTS or target in PARTS:
        return f"{target}({x})" if target in PARTS else None
    if "f" in source and "f" in target:
        if target in ("f16", "bf16"):
            return None if source == "f64" else x  # rounded below; from f64 it would round twice
        return x if inside(source) == target else f"{target}({x})"
    if target == "bool":
        zero = "0.0" if "f" in source else "0"
        return f"{x} != {inside(source)}({zero})"
    if target in ("f16", "bf16"):
        return f"f32({x})" if source in ("bool", "i8", "u8", "i16", "u16") else None
    return f"{target}({x})"


def select(cases, which, which_code):
    """The case with the number `which`."""
    if which_code == "bool":
        return f"where({which}, {cases[1]}, {cases[0]})" if len(cases) == 2 else cases[0]
    text = cases[-1]
    for k in range(len(cases) - 2, -1, -1):
        text = f"where({which} < i32({k + 1}), {cases[k]}, {text})"
    return text


def expression(eqn, operands):
    """The source text of an elementwise equation, for operands given as text; None if none."""
    name = eqn.primitive.name
    codes = [code_of(v.aval.dtype) for v in eqn.invars]
    out = code_of(eqn.outvars[0].aval.dtype)
    if None in codes or out is None:
        return None
    if any(c in PARTS for c in (*codes, out)) and name not in OF_COMPLEX:
        return None
    text = raw_expression(eqn, name, codes, out, operands)
    if text is not None and out in ("f16", "bf16") and name not in EXACT_IN_HALF:
        return f"{out}({text})" if out in WORDS else None
    return text


EXACT_IN_HALF = {"neg", "max", "min", "abs", "select_n", "copy", "copy_p", "clamp", "sign"}
EXACT_IN_HALF |= {"floor", "ceil", "round"}


def raw_expression(eqn, name, codes, out, operands):
    """The expression, before a half-precision result is rounded."""
    if name == "convert_element_type":
        return convert(codes[0], out, operands[0])
    if name == "select_n":
        return select(operands[1:], operands[0], codes[0])
    if name == "integer_pow":
        return f"integer_pow({operands[0]}, {eqn.params['y']})"
    if name == "round":
        word = "round_half_even" if eqn.params["rounding_method"] == 1 else "round_half_away"
        return f"{word}({operands[0]})"
    if name == "bitcast_convert_type":
        if codes[0] in ("bool", "f16", "bf16") or out in ("bool", "f16", "bf16"):
            return None
        same = eqn.invars[0].aval.dtype.itemsize == eqn.outvars[0].aval.dtype.itemsize
        return f"bitcast_{out}({operands[0]})" if same else None
    if name == "nextafter" and out in ("f16", "bf16"):
        return None
    if name == "pow" and codes[0] != codes[1]:
        return f"pow({operands[0]}, {inside(codes[0])}({operands[1]}))" if "pow" in WORDS else None
    if not operands:  # an array out of nothing
        return None
    return PLAIN.get(name, unknown)(codes[0], *operands)


def printable(eqn):
    """Whether an elementwise equation prints."""
    return len(eqn.outvars) == 1 and expression(eqn, ["x"] * len(eqn.invars)) is not None
