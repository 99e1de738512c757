"""PartitionSpec: which axes of a mesh cut which axes of an array."""

# ---- one entry -----------------------------------------------------------------------------------


class Unconstrained:
    """Stands where an axis of an array may be cut in any way."""

    def __repr__(self):
        return "UNCONSTRAINED"

    def __reduce__(self):
        return "UNCONSTRAINED"  # there is only one


UNCONSTRAINED = Unconstrained()


def entry(value):
    """An entry in its simplest form: None, a name, or a tuple of several names."""
    if not isinstance(value, (tuple, list)):
        return value
    if len(value) > 1:
        return tuple(value)
    return value[0] if value else None


def names_of(value):
    """The names in an entry, as a tuple."""
    if value is None or value is UNCONSTRAINED:
        return ()
    return value if isinstance(value, tuple) else (value,)


# ---- the whole -----------------------------------------------------------------------------------


class P:
    """For each axis of an array, what cuts it: the name of a mesh axis, a tuple of names, or None.

    Args:
      partitions: the entries. Axes of the array beyond the last one are not cut.

    With several names the last one runs fastest. Names that do not appear mean copies: each device
    along that axis of the mesh holds the same. P.UNCONSTRAINED: the axis may be cut in any way.

    A PartitionSpec is a leaf of pytrees; it can be indexed, measured and added to like a tuple.

    >>> P("x", None), P(("x", "y")), P()
    (P('x', None), P(('x', 'y'),), P())
    >>> P("x") + P("y") == P("x", "y")
    True
    """

    __slots__ = ("partitions",)
    UNCONSTRAINED = UNCONSTRAINED

    def __init__(self, *partitions):
        object.__setattr__(self, "partitions", tuple(map(entry, partitions)))

    def __setattr__(self, name, value):
        raise AttributeError("a PartitionSpec cannot be changed; make one with .update(...)")

    def __repr__(self):
        return f"P({repr(self.partitions)[1:-1]})"

    def __eq__(self, other):
        return isinstance(other, P) and self.partitions == other.partitions

    def __hash__(self):
        return hash((P, self.partitions))

    def __reduce__(self):
        return P, self.partitions

    def __getitem__(self, index):
        return self.partitions[index]

    def __iter__(self):
        return iter(self.partitions)

    def __len__(self):
        return len(self.partitions)

    def __add__(self, other):
        return P(*self, *other) if isinstance(other, (P, tuple)) else NotImplemented

    def __radd__(self, other):
        return P(*other, *self) if isinstance(other, tuple) else NotImplemented

    def index(self, value):
        """The first place of an entry; ValueError if it is not there."""
        return self.partitions.index(entry(value))

    def count(self, value):
        """How often an entry is there."""
        return self.partitions.count(entry(value))

    def update(self, partitions=None):
        """The same with other entries."""
        return self if partitions is None else P(*partitions)


PartitionSpec = P
