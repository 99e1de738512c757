"""tinyjax: JAX, small enough to read and fast enough to use. Public names, nothing else."""

import tinyjax.printer as _printer  # noqa: F401  (jaxprs print)
