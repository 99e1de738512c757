# %% [markdown]
# # How often is it traced?
#
# A function under `jax.jit` runs in Python only while it is traced. So Python can tell how often
# that is.
#
# Write `count_traces(f, arguments)`. It compiles `f`, a function of one argument, with `jax.jit`,
# calls the compiled function once with each of the `arguments`, in their order, and returns how
# many times `f` was traced.
#
# For `arguments = [1.0, 2.0, 1]` the answer is 2: the two floats are of one kind, the integer is of
# another.
#
# Run this file, or `tinyjax check count_traces`, to see whether it is right.

# %%
import tinyjax as jax


def count_traces(f, arguments):
    """How many times `jax.jit` traces f when it is called with each of the arguments."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "count_traces"]))
