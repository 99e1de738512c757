"""Kernels of pmapped programs are compiled where the user is; devices find them on the disk."""

import json

from local_devices import run_script

# Which of the two processes has loaded the compiler's libraries?
SCRIPT = """
import sys
import numpy as np
import tinyjax as jax, tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import Primitive

class Loaded(Primitive):
    def impl(self, x):
        return np.asarray(x * 0 + ("numba" in sys.modules))
    def type(self, x):
        return x

loaded_p = Loaded("loaded")

def long(x):  # enough work for several threads, had the devices more than one
    x = jnp.exp(jnp.sin(x)) * 2
    return jnp.tanh(x) + lax.pmean(x, "i").sum()

x = jnp.ones((2, 500_000))
found = jax.pmap(long, axis_name="i")(x)
wanted = jax.vmap(long, axis_name="i")(x)
print([bool(jnp.allclose(found, wanted)), *jax.pmap(loaded_p.bind)(jnp.zeros(2)).tolist()])
"""


def outcome(cache):
    """What the script prints when its cache is in this folder."""
    said = run_script(SCRIPT, stdin=True, TINYJAX_CACHE_DIR=cache, TINYJAX_NUM_DEVICES="2")
    return json.loads(said.replace("True", "true"))


def test_devices_load_no_compiler(tmp_path):
    assert outcome(str(tmp_path)) == [True, 0.0, 0.0]


def test_without_a_cache_devices_compile(tmp_path):
    assert outcome("") == [True, 1.0, 1.0]
