"""A MkDocs hook: `<!-- table of primitives -->` becomes a table made from the cards themselves."""

import importlib
import inspect
import pkgutil
import re
from types import ModuleType

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from places import page_of
from prose import escaped
from source import FILES

from tinyjax import lax, primitives, transforms
from tinyjax.compiler import fusion, index, keys, passes, words
from tinyjax.core import Primitive
from tinyjax.primitives.rules import Elementwise

# Cards that live elsewhere.
OTHERS = ["lax.fourier", "lax.odds", "ad_checkpoint", "putting", "custom_batching", "callbacks"]
OTHERS += ["debug", "viz.clock"]
OTHERS += ["parallel.lowering", "parallel.joining"]  # these are made when a program goes to devices
PLACE = "<!-- table of primitives -->"

# What cards of a family compute that are written down in one line, without a docstring.
FORMULAS = """
neg: -x
eq: x == y
ne: x != y
lt: x < y
le: x <= y
gt: x > y
ge: x >= y
not: not x, bit by bit
and: x and y, bit by bit
or: x or y, bit by bit
xor: x xor y, bit by bit
shift_left: x shifted left by n bits
shift_right_logical: x shifted right by n bits; zeros come in
shift_right_arithmetic: x shifted right by n bits; the sign stays
population_count: how many bits of x are set
clz: how many leading bits of x are 0
add: x + y
sub: x - y
mul: x y
div: x / y; integers round towards zero
rem: the rest of x / y, with the sign of x
real: the real part of x
imag: the imaginary part of x
conj: the complex conjugate of x
max: the greater of x and y
min: the smaller of x and y
exp: e^x
exp2: 2^x
expm1: e^x - 1, exact near 0
log: log x
log1p: log(1 + x), exact near 0
logistic: 1 / (1 + e^-x)
sqrt: √x
rsqrt: 1 / √x
cbrt: ∛x
square: x²
pow: x^y
sin: sin x
cos: cos x
tan: tan x
asin: arcsin x
acos: arccos x
atan: arctan x
atan2: the angle of the point (x, y), given y and x
sinh: sinh x
cosh: cosh x
tanh: tanh x
asinh: arsinh x
acosh: arcosh x
atanh: artanh x
erf: the error function
erfc: 1 - erf x
erf_inv: the inverse of erf
lgamma: log |Γ(x)|
digamma: the derivative of lgamma
sign: -1, 0 or 1; of complex numbers x / |x|
abs: |x|
floor: the nearest integer not above x
ceil: the nearest integer not below x
round: the nearest integer
argmax: the first place of the greatest element along an axis; NaN counts as such
argmin: the first place of the smallest element along an axis; NaN counts as such
reduce_max: the greatest along some axes; places that attain it share the derivative
reduce_min: the smallest along some axes; places that attain it share the derivative
reduce_prod: the product along some axes
pmax: the greatest over named axes; everyone gets it
pmin: the smallest over named axes; everyone gets it
cumprod: products of the elements up to each place
cummax: the greatest element up to each place
cummin: the smallest element up to each place
cumlogsumexp: log of the sum of e^x up to each place
triangular_solve: x with a x = b or x a = b, for a triangular matrix a
tridiagonal_solve: x with t x = b, for a matrix t of three diagonals
lu_pivots_to_permutation: exchanges of rows as one permutation
scatter-add: updates are added to windows of the operand
scatter-sub: updates are subtracted from windows of the operand
scatter-mul: windows of the operand are multiplied by updates
scatter-min: windows of the operand become the smaller of what was there and of the updates
scatter-max: windows of the operand become the greater of what was there and of the updates
reduce_window_max: the greatest of each window
reduce_window_min: the smallest of each window
custom_jvp_call: runs a function that brings its own jvp rule
custom_vjp_call: runs a function that brings its own vjp rule
custom_vmap_call: runs a function that brings its own batching rule
custom_linear_solve: x with A x = b, by any solver
all_gather: the parts of all elements of a named axis, side by side
reduce_scatter: the sum over a named axis, of which each element gets a part
all_to_all: each element of a named axis gives a part to each other one
reduce: elements along axes combined by any program of two elements
reduce_window: elements of each window combined by any program of two elements
pmap: a program, once on each device
scan: a program as many times as there are rows, with a carry
while: a program as long as another one says so
pure_callback: results of a Python function, which may run any number of times
io_callback: results of a Python function, which runs once
is_finite: neither infinite nor NaN
regularized_incomplete_beta: the distribution function I_x(a, b) of the beta distribution
expi: the exponential integral Ei(x)
expn: the exponential integrals E_n(x)
sine_integral: Si(x)
cosine_integral: Ci(x)
fresnel_s: Fresnel's S(x)
fresnel_c: Fresnel's C(x)
spence: Spence's function
dawsn: Dawson's integral
erfcx: exp(x²) erfc x
wofz: the Faddeeva function
owens_t: Owen's T(h, a)
complex_digamma: digamma of complex numbers
complex_gamma: Γ of complex numbers
complex_loggamma: log Γ of complex numbers
hyp1f1: ₁F₁(a; b; x)
hyp2f1: ₂F₁(a, b; c; x)
hyp1f1_slope: a derivative of ₁F₁ by a parameter
hyp2f1_slope: a derivative of ₂F₁ by a parameter
"""
MEANINGS = dict(line.split(": ", 1) for line in FORMULAS.strip().splitlines())

# What the tables of the compiler say, by name.
IN_KERNELS = {
    *(words.PLAIN.keys() | index.MOVES.keys() | fusion.REDUCTIONS | fusion.COPIES),
    *(*index.HASHES, *keys.LOOPS, *keys.SAME),
    *("convert_element_type", "select_n", "integer_pow", "round", "bitcast_convert_type"),
    *(passes.CALLS.keys() - {"psum", "pmax", "pmin"}),
    *(*passes.BARRIERS, "dot_general"),
}


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fills in the table."""
    return markdown.replace(PLACE, table()) if PLACE in markdown else markdown


def table() -> str:
    """A section for each file that has cards."""
    lines = []
    for module, cards in by_file():
        name = module.__name__.removeprefix("tinyjax.").replace(".", "/")
        says = (module.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
        page = page_of(f"tinyjax/{name}.py")
        link = f" ([Read it]({page}).)" if name in FILES else ""
        lines += [f"### {name}.py {{ #{name.replace('/', '-')} }}", "", escaped(says) + link, ""]
        lines += ["| primitive | what it computes | impl | jvp | transpose | batch | kernel |"]
        lines += ["|---|---|:-:|:-:|:-:|:-:|:-:|", *map(row, cards), ""]
    return "\n".join(lines)


def by_file() -> list[tuple[ModuleType, list[Primitive]]]:
    """Every file with the cards that it makes."""
    found = []
    names = [f"tinyjax.{name}" for name in OTHERS]
    for package in (transforms, primitives):
        prefix = package.__name__ + "."
        names[:0] = [info.name for info in pkgutil.iter_modules(package.__path__, prefix)]
    for module in map(importlib.import_module, names):
        made = re.findall(r"^((?:\w+_p(?:, )?)+) = ", inspect.getsource(module), re.MULTILINE)
        cards = [vars(module)[name] for group in made for name in group.split(", ")]
        if cards := [card for card in cards if isinstance(card, Primitive)]:
            found.append((module, cards))
    return found


def row(card: Primitive) -> str:
    """A line of the table."""
    marks = [
        rule if isinstance(rule, str) else "✓" if rule else "" for rule in rules(card).values()
    ]
    return f"| `{card.name}` | {' | '.join([meaning(card), *marks])} |"


def rules(card: Primitive) -> dict[str, bool | str]:
    """Which rules a primitive has."""
    return {
        "impl": not card.reverse_only,
        "jvp": derivative(card),
        "transpose": hasattr(card, "transpose"),
        "batch": hasattr(card, "batch"),
        "kernel": card.name in IN_KERNELS,
    }


def derivative(card: Primitive) -> bool | str:
    """Whether there is a derivative; "0" where it is zero everywhere."""
    own = type(card)
    if isinstance(card, Elementwise) and own.linearize is Elementwise.linearize:
        return True if any(card.partials) else "0"
    if own.linearize is Primitive.linearize:
        return own.jvp is not Primitive.jvp
    rule = inspect.getsource(own.linearize)
    if rule.count("return ") == 1 and "lambda t: Zero(" in rule:
        return "0"
    return "return " in rule  # or else it only says that there is none


def meaning(card: Primitive) -> str:
    """What a primitive computes: a formula, or what its card says, or its function."""
    if card.name in MEANINGS:
        return escaped(MEANINGS[card.name])
    text = inspect.getdoc(type(card)) or ""
    if type(card).__module__ == Elementwise.__module__:  # the docstring is the family's
        text = inspect.getdoc(getattr(lax, card.name)) or ""
    first = text.partition("\n\n")[0].replace("\n", " ")
    form, colon, says = first.partition(": ")
    if not form.startswith(card.name):
        return escaped(first)
    return f"`{form.rstrip('.')}`" + (f": {escaped(says)}" if colon else "")
