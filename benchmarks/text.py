"""Numbers in words, and tables of plain text."""

import math


def geometric_mean(numbers):
    """The n-th root of the product of n positive numbers."""
    return math.exp(math.fsum(map(math.log, numbers)) / len(numbers))


def in_words(seconds):
    """A time with its unit.

    >>> in_words(0.0000123), in_words(0.5), in_words(12), in_words(-1e-7)
    ('12.3 us', '500 ms', '12 s', '-0.1 us')
    """
    for unit, size in (("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def in_bytes(count):
    """An amount of memory with its unit.

    >>> in_bytes(4096), in_bytes(1 << 20), in_bytes(-200)
    ('4 KiB', '1 MiB', '-200 B')
    """
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(count) >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.3g} B"


def share(ratio):
    """A ratio as the table shows it.

    >>> share(0.4567), share(0.00123), share(12.3)
    ('0.46x', '0.001x', '12.30x')
    """
    return f"{ratio:.2f}x" if ratio >= 0.095 else f"{ratio:.3f}x"


def aligned(rows):
    """Lines of cells below one another: the first column to the left, numbers to the right.

    >>> aligned([["what", "n"], ["a", "10"]])
    ['what   n', 'a     10']
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]
        lines.append("  ".join(cells).rstrip())
    return lines
