"""tinyjax: JAX, small enough to read and fast enough to use. Public names, nothing else."""

import tinyjax.printer as _printer  # noqa: F401  (jaxprs print)
from tinyjax import dtypes, errors, lax, nn, numpy, random, scipy, tree, tree_util
from tinyjax.api import (
    block_until_ready,
    device_get,
    device_put,
    eval_shape,
    make_jaxpr,
    typeof,
)
from tinyjax.array import Array
from tinyjax.autodiff import (
    grad,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from tinyjax.config import (
    checking_leaks,
    config,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_matmul_precision,
    disable_jit,
    enable_x64,
    numpy_dtype_promotion,
    numpy_rank_promotion,
)
from tinyjax.dtypes import float0
from tinyjax.jacobians import hessian, jacfwd, jacobian, jacrev
from tinyjax.mapping import vmap
from tinyjax.transforms.checkpoint import checkpoint, checkpoint_policies, remat
from tinyjax.transforms.custom import custom_jvp, custom_vjp
from tinyjax.transforms.jit import ShapeDtypeStruct, jit

__version__ = "0.1.0"
