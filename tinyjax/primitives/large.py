"""When an eager operation is large enough to be worth a compiled program."""

LARGE = 1 << 15  # elements
