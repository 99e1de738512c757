"""Why tinyjax is slower than JAX where it is: what was measured, by workload or group.

`python -m benchmarks.page` writes these words beside the figures that need them.
"""

COLUMNS = (
    "The kernel of a reduction over columns (norm has three) has five loops in two stages, so that "
    "one text serves every shape and both cores. LLVM takes 3 to 5 ms for a loop, Numba's front "
    "end as much again. Tried: no loop strength reduction (a third of LLVM's time), ranges lowered "
    "by the target itself, one loop fewer (5 % sooner, but norm ran 10 % longer, so it was not "
    "kept)."
)

REASONS: dict[str, str] = {
    "sums-0": COLUMNS,
    "largest-max-0": COLUMNS,
    "norm": COLUMNS,
    "eager_norm": "Five operations, each a pass over memory with arrays between them; jitted, the "
    "same function takes as long as JAX's.",
    "gather": "Both wait for memory: 100,000 places in 4 MB.",
    "largest-max-1": "Two threads read 4 MB; from run to run this was 0.9x to 1.5x.",
    "sums-1": "Two threads read 8 MB; from run to run this was 0.9x to 1.2x.",
    "cholesky_grad": "Three calls of LAPACK through NumPy and SciPy, where JAX has two of its own.",
    "matmul": "NumPy's OpenBLAS does the work, cut in two for the two cores; JAX has another BLAS.",
    "pmap_call": "JAX runs small programs in the calling thread; here a process must be woken for "
    "each device, which takes 10 to 30 us.",
    "pmap_train": "A process has to be woken for each device; with more devices than cores they "
    "wait for one another.",
}
