"""tinyjax: JAX, small enough to read and fast enough to use. Public names, nothing else."""

from tinyjax.config import config  # these two are called like their files, so they cannot be lazy
from tinyjax.devices import devices
from tinyjax.lazy import lazy_imports as _lazy_imports

with _lazy_imports(globals()):
    from tinyjax import (
        ad_checkpoint,
        core,
        custom_batching,
        custom_derivatives,
        debug,
        dtypes,
        errors,
        experimental,
        extend,
        flatten_util,
        image,
        lax,
        nn,
        numpy,
        ops,
        random,
        scipy,
        sharding,
        stages,
        tree,
        tree_util,
        typing,
        version,
        viz,
    )
    from tinyjax.api import (
        block_until_ready,
        copy_to_host_async,
        device_get,
        ds,
        eval_shape,
        fwd_and_bwd,
        make_jaxpr,
        typeof,
    )
    from tinyjax.assembling import (
        device_put_replicated,
        device_put_sharded,
        make_array_from_callback,
        make_array_from_process_local_data,
        make_array_from_single_device_arrays,
    )
    from tinyjax.autodiff import (
        grad,
        jvp,
        linear_transpose,
        linearize,
        value_and_grad,
        vjp,
    )
    from tinyjax.avals import Value as Array
    from tinyjax.callbacks import pure_callback
    from tinyjax.config import (
        check_purity,
        check_tracer_leaks,
        checking_leaks,
        debug_infs,
        debug_key_reuse,
        debug_nans,
        default_matmul_precision,
        default_prng_impl,
        disable_jit,
        enable_checks,
        enable_custom_prng,
        enable_x64,
        explain_cache_misses,
        explain_retraces,
        legacy_prng_key,
        numpy_dtype_promotion,
        numpy_rank_promotion,
        threefry_partitionable,
        warn_key_reuse,
    )
    from tinyjax.custom_derivatives import closure_convert, custom_gradient
    from tinyjax.devices import (
        Device,
        default_backend,
        default_device,
        device_count,
        host_count,
        host_id,
        host_ids,
        local_device_count,
        local_devices,
        process_count,
        process_index,
        process_indices,
    )
    from tinyjax.dtypes import float0
    from tinyjax.explaining.explanation import explain
    from tinyjax.foreign_flags import (
        allow_f16_reductions,
        array_garbage_collection_guard,
        auto_pcast,
        log_compiles,
        no_execution,
        no_tracing,
        softmax_custom_jvp,
        thread_guard,
        transfer_guard,
        transfer_guard_device_to_device,
        transfer_guard_device_to_host,
        transfer_guard_host_to_device,
    )
    from tinyjax.jacobians import hessian, jacfwd, jacobian, jacrev
    from tinyjax.mapping import vmap
    from tinyjax.nans.explain import explain_nan
    from tinyjax.placement import Shard
    from tinyjax.purity import check_pure
    from tinyjax.putting import device_put
    from tinyjax.runtime import (
        clear_caches,
        effects_barrier,
        ensure_compile_time_eval,
        live_arrays,
        named_call,
        named_scope,
        print_environment_info,
    )
    from tinyjax.sharding.mesh import make_mesh, set_mesh
    from tinyjax.sharding.shardings import NamedSharding
    from tinyjax.sharding.spec import P
    from tinyjax.transforms.checkpoint import checkpoint, checkpoint_policies, remat
    from tinyjax.transforms.custom import custom_jvp, custom_vjp
    from tinyjax.transforms.jit import ShapeDtypeStruct, jit
    from tinyjax.transforms.pmapping import pmap
    from tinyjax.version import __version__, __version_info__

# Files that give classes of lower floors what only they can define.
import tinyjax.extend.core as _extend  # noqa: F401
import tinyjax.foreign_flags as _flags  # noqa: F401
import tinyjax.nans.hook as _nans  # noqa: F401
import tinyjax.numpy.array_methods as _methods  # noqa: F401
import tinyjax.placement as _placement  # noqa: F401
import tinyjax.printer as _printer  # noqa: F401
import tinyjax.purity.hook as _purity  # noqa: F401
import tinyjax.runtime as _runtime  # noqa: F401
import tinyjax.tracebacks as _tracebacks
import tinyjax.transforms.package_lines as _lines  # noqa: F401
import tinyjax.tree as _tree  # noqa: F401

_tracebacks.install()
