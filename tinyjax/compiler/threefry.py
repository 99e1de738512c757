"""Threefry-2x32 as lines of a kernel: 20 rounds of add, rotate and xor under a key.

The card is primitives/random_bits.py; this is the same hash for one counter.
"""

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(kernel, idx, words, high, low):
    """Write the rounds for a counter of two words -> the names of the two words of the hash."""
    scope = kernel.home(idx)
    x, y, last = (kernel.fresh(n) for n in ("hash_x", "hash_y", "key_z"))
    keys = [*words, last]

    def line(text):
        kernel.line(text, scope)

    line(f"{last} = {words[0]} ^ {words[1]} ^ u32(466688986)  # Threefry-2x32, 20 rounds")
    line(f"{x} = {high} + {words[0]}")
    line(f"{y} = {low} + {words[1]}")
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            line(f"{x} = {x} + {y}")
            line(f"{y} = {x} ^ rotl({y}, u32({r}))")
        line(f"{x} = {x} + {keys[(i + 1) % 3]}")
        line(f"{y} = {y} + {keys[(i + 2) % 3]} + u32({i + 1})")
    return x, y
