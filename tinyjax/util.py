"""Small list tools that the interpreters share."""


def take(xs, mask):
    """The elements where the mask is true."""
    return [x for x, m in zip(xs, mask, strict=True) if m]


def drop(xs, mask):
    """The elements where the mask is false."""
    return [x for x, m in zip(xs, mask, strict=True) if not m]


def spread(xs, mask, fill):
    """xs at the true places of the mask, fill(i) elsewhere."""
    it = iter(xs)
    return [next(it) if m else fill(i) for i, m in enumerate(mask)]


def split_list(xs, *sizes):
    """Cut xs into pieces of the given sizes, and the rest."""
    pieces, xs = [], list(xs)
    for n in sizes:
        pieces.append(xs[:n])
        xs = xs[n:]
    return [*pieces, xs]


def unzip2(pairs):
    """Pairs -> two lists."""
    pairs = list(pairs)
    return [a for a, _ in pairs], [b for _, b in pairs]


def fixpoint(step, mask):
    """Grow a mask until step(mask) adds nothing to it."""
    while True:
        new = tuple(bool(a or b) for a, b in zip(mask, step(mask), strict=True))
        if new == mask:
            return mask
        mask = new
