"""Why tinyjax is slower than JAX where it is: what was measured, by workload or group.

`python -m benchmarks.page` writes these words beside the figures that need them.
"""

REASONS: dict[str, str] = {}
