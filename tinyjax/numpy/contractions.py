"""einsum: a formula in index letters becomes a sequence of sums and dot_generals."""

import collections
import string

import numpy as np

from tinyjax import dtypes, lax, shape_messages
from tinyjax.numpy.checks import check_out, check_sequence
from tinyjax.primitives.linear import convert
from tinyjax.transforms.replay import recorded

# ---- reading the formula ------------------------------------------------------------------------


def parse(operands):
    """-> letters of each operand, letters of the result, the operands."""
    if isinstance(operands[0], str):
        text, arrays = operands[0].replace(" ", ""), list(operands[1:])
    else:
        text, arrays = from_axis_lists(operands)
    allowed = set(string.ascii_letters + ",.->")
    for letter in text:
        if letter not in allowed and not letter.isalpha():
            raise ValueError(f"Character {letter!r} is not a valid symbol in einsum {text!r}")
    inputs, _, result = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(arrays):
        raise ValueError(
            f"Number of einsum subscripts, {len(terms)}, must be equal to the number of operands, "
            f"{len(arrays)}."
        )
    arrays = check_sequence("einsum", arrays)
    has_result = "->" in text
    terms, result = expand_ellipsis(terms, result if has_result else None, arrays)
    for term, x in zip(terms, arrays):
        if len(term) != x.ndim:
            raise ValueError(
                f"Einstein sum subscript {term} does not contain the correct number of indices "
                f"for an operand of shape {x.shape}."
            )
    for letter in result:
        if not any(letter in term for term in terms):
            raise ValueError(f"Output character {letter} did not appear in the input")
        if result.count(letter) > 1:
            raise ValueError(f"Output character {letter} appeared more than once in the output.")
    return terms, result, arrays


def from_axis_lists(operands):
    """einsum(x, [0, 1], y, [1, 2], [0, 2]) -> the same as a text, and the arrays."""
    operands = list(operands)
    result = operands.pop() if len(operands) % 2 else None
    arrays, lists = operands[::2], operands[1::2]
    labels = sorted({i for axes in lists for i in axes if i is not Ellipsis})
    letter = dict(zip(labels, string.ascii_letters)) | {Ellipsis: "..."}
    text = ",".join("".join(letter[i] for i in axes) for axes in lists)
    if result is not None:
        text += "->" + "".join(letter[i] for i in result)
    return text, arrays


def expand_ellipsis(terms, result, arrays):
    """Letters for what ... stands for; the result, if it is not given."""
    used = set("".join(terms)) | set(result or "")
    free = [c for c in string.ascii_letters if c not in used]
    longest = max(
        [x.ndim - len(t.replace("...", "")) for t, x in zip(terms, arrays) if "..." in t],
        default=0,
    )
    dots = "".join(free[:longest])
    out = []
    for term, x in zip(terms, arrays):
        n = x.ndim - len(term.replace("...", ""))
        out.append(term.replace("...", dots[longest - n :]) if "..." in term else term)
    if result is not None:
        return out, result.replace("...", dots)
    counts = collections.Counter("".join(t.replace("...", "") for t in terms))
    return out, dots + "".join(sorted(c for c, n in counts.items() if n == 1))


def sizes_of(terms, arrays):
    """letter -> size of its axis; axes of size 1 stretch."""
    sizes = {}
    for term, x in zip(terms, arrays):
        for letter, n in zip(term, x.shape):
            known = sizes.get(letter, 1)
            if known != 1 and n not in (1, known):
                first = (
                    f"Size of label '{letter}' for operand {terms.index(term)} ({known}) does "
                    f"not match previous terms ({n})."
                )
                raise ValueError(shape_messages.labels(first, letter, terms, arrays))
            sizes[letter] = max(known, n)
    return sizes


# ---- which operands to contract first -----------------------------------------------------------


def path_of(terms, result, sizes, optimize):
    """Places of the operands to contract, step by step; results go to the end of the list."""
    if not isinstance(optimize, (bool, str)):
        return [tuple(p) for p in optimize if not isinstance(p, str)]
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    if optimize is False:
        return [(0, 1)] * (len(terms) - 1)
    shapes = [tuple(sizes[c] for c in term) for term in terms]
    return cheapest_path(f"{','.join(terms)}->{result}", shapes, optimize)[0]


def cheapest_path(subscripts, shapes, optimize):
    """-> (path, what it costs), as opt_einsum finds it."""
    import opt_einsum

    optimize = "optimal" if optimize is True else optimize
    return opt_einsum.contract_path(subscripts, *shapes, shapes=True, optimize=optimize)


def contractions(terms, result, path):
    """-> for each step: places of operands, letters summed away, their letters, the result's."""
    terms, steps = list(terms), []
    for step, places in enumerate(path):
        places = tuple(sorted(places, reverse=True))
        names = [terms.pop(p) for p in places]
        letters = set("".join(names))
        wanted = letters & set(result).union(*map(set, terms))
        together = "".join(names)
        out = result if step == len(path) - 1 else "".join(sorted(wanted, key=together.find))
        steps.append((places, letters - wanted, names, out))
        terms.append(out)
    return steps


# ---- carrying it out ----------------------------------------------------------------------------


class Contraction:
    """Carries out the steps, at one precision and dtype."""

    def __init__(self, precision, dtype):
        self.precision, self.dtype = precision, dtype

    def sum(self, x, axes):
        """The sum over axes, at the dtype of the result if that is wider."""
        if dtypes.result_type(x, self.dtype) != x.dtype:
            x = x.astype(self.dtype)
        return lax.reduce_or(x, axes) if x.dtype == bool else lax.reduce_sum(x, axes)

    def sum_unique(self, x, names, letters):
        """Sum over letters that this operand alone has."""
        if not letters:
            return x, names
        x = self.sum(x, [names.index(c) for c in letters])
        return x, "".join(c for c in names if c not in letters)

    def sum_repeated(self, x, names, counts, keep):
        """Take diagonals where a letter stands twice, and sum them where it is not kept."""
        for letter, count in counts.items():
            if count < 2:
                continue
            axes = [i for i, c in enumerate(names) if c == letter]
            diagonal = delta(x.shape, axes)
            x = lax.select(diagonal, x, lax.full_like(x, 0))
            if letter in keep:
                x = self.sum(x, axes[:-1])
                names = names.replace(letter, "", count - 1)
            else:
                x = self.sum(x, axes)
                names = names.replace(letter, "")
        return x, names

    def one(self, x, names, contracted, result):
        """A step with one operand."""
        counts = collections.Counter(names)
        unique = [c for c in contracted if counts[c] == 1]
        x, names = self.sum_unique(x, names, unique)
        return self.sum_repeated(x, names, counts, result)

    def two(self, x, xn, y, yn, contracted, result):
        """A step with two operands: one dot_general."""
        x, xn = drop_units(x, xn, y, yn)
        y, yn = drop_units(y, yn, x, xn)
        xc, yc = collections.Counter(xn), collections.Counter(yn)
        x, xn = self.sum_unique(x, xn, [c for c in contracted if xc[c] == 1 and not yc[c]])
        y, yn = self.sum_unique(y, yn, [c for c in contracted if yc[c] == 1 and not xc[c]])
        x, xn = self.sum_repeated(x, xn, xc, result + yn)
        y, yn = self.sum_repeated(y, yn, yc, result + xn)
        contracted = [c for c in contracted if c in xn or c in yn]
        batch = [c for c in result if c in xn and c in yn]
        x_axes = [xn.index(c) for c in contracted], [xn.index(c) for c in batch]
        y_axes = [yn.index(c) for c in contracted], [yn.index(c) for c in batch]
        gone = set(batch) | set(contracted)
        x_rest = "".join(c for c in xn if c not in gone)
        y_rest = "".join(c for c in yn if c not in gone)
        names = "".join(batch) + y_rest + x_rest
        if names == result:
            return self.dot(y, x, y_axes, x_axes), names
        return self.dot(x, y, x_axes, y_axes), "".join(batch) + x_rest + y_rest

    def dot(self, x, y, x_axes, y_axes):
        """dot_general with axes as pairs (contracted, batch)."""
        numbers = tuple(zip(x_axes, y_axes))
        return lax.dot_general(x, y, numbers, self.precision, preferred_element_type=self.dtype)


def drop_units(x, names, other, other_names):
    """Remove axes of size 1 whose letter has a longer axis in the other operand."""
    stretched = [
        i
        for i, c in enumerate(names)
        if x.shape[i] == 1 and c in other_names and other.shape[other_names.index(c)] != 1
    ]
    kept_names = "".join(c for i, c in enumerate(names) if i not in stretched)
    return lax.squeeze(x, stretched), kept_names


def delta(shape, axes):
    """A boolean array that is true where the indices along these axes are equal."""
    own = tuple(shape[d] for d in axes)
    iotas = [lax.broadcasted_iota(np.uint32, own, i) for i in range(len(own))]
    same = [lax.eq(a, b) for a, b in zip(iotas, iotas[1:])]
    out = same[0]
    for s in same[1:]:
        out = lax.bitwise_and(out, s)
    return lax.broadcast_in_dim(out, shape, axes)


# ---- the functions ------------------------------------------------------------------------------


@recorded
def einsum(subscripts, /, *operands, out=None, optimize="auto", precision=None,
           preferred_element_type=None):  # fmt: skip
    """Sums of products by a formula, such as "ij,jk->ik" for the matrix product.

    Args:
      subscripts: for each operand a letter per axis, then -> and the letters of the result; other
        letters are summed over. Without -> the result has the letters that occur once. "..."
        stands for any axes. Or: alternately operands and lists of numbers for letters.
      *operands: arrays.
      out: not supported.
      optimize: "auto" or True: search for the cheapest order; False: from left to right; or a
        list of pairs.
      precision, preferred_element_type: as of dot.

    >>> import tinyjax.numpy as jnp
    >>> jnp.einsum("ij,j->i", jnp.ones((2, 3)), jnp.arange(3.0))
    Array([3., 3.], dtype=float32)
    """
    check_out("einsum", out)
    terms, result, arrays = parse((subscripts, *operands))
    path = path_of(terms, result, sizes_of(terms, arrays), optimize)
    if preferred_element_type is None:
        dtype, weak_type = dtypes.result_type(*arrays, return_weak_type_flag=True)
    else:
        dtype = dtypes.check_user_dtype_supported(preferred_element_type, "einsum")
        weak_type = False
    work = Contraction(precision, dtype)
    for places, gone, names, wanted in contractions(terms, result, path):
        chosen = [arrays.pop(p) for p in places]
        gone = sorted(gone)
        if len(chosen) == 1:
            x, have = work.one(chosen[0], names[0], gone, wanted)
        elif len(chosen) == 2:
            x, have = work.two(chosen[0], names[0], chosen[1], names[1], gone, wanted)
        else:
            raise NotImplementedError(
                "jax.numpy.einsum does not support simultaneous contraction of 3 or more "
                "operands: give pairs in the optimize argument."
            )
        if have != wanted:
            x = lax.transpose(x, [have.index(c) for c in wanted])
        arrays.append(x)
    return convert(arrays[0], dtype, weak_type)


def einsum_path(subscripts, /, *operands, optimize="auto"):
    """The order in which einsum contracts its operands, and what that costs.

    Args: as of einsum. With optimize=False the order is from left to right.

    Returns a list of tuples, the places of the operands of each step, and opt_einsum's description
    of the steps, which can be printed.

    >>> import tinyjax.numpy as jnp
    >>> a, b = jnp.ones((2, 3)), jnp.ones((3, 4))
    >>> path, costs = jnp.einsum_path("ij,jk->ik", a, b)
    >>> path
    [(0, 1)]
    """
    terms, result, arrays = parse((subscripts, *operands))
    text = f"{','.join(terms)}->{result}"
    if optimize is False:
        optimize = [(0, 1)] * (len(terms) - 1)
    return cheapest_path(text, [x.shape for x in arrays], optimize)
