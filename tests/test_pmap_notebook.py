"""pmap in a notebook: it works there, and the stop button ends devices that would not end."""

import sys
import time

import pytest
from jupyter_client.manager import KernelManager

PATIENCE = 120  # seconds: the machine may be busy


def run(client, code):
    """Run a cell -> what it printed, the name of the error that it raised or None."""
    sent, printed, error = client.execute(code, stop_on_error=False), [], None
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        message = client.get_iopub_msg(timeout=PATIENCE)
        if message["parent_header"].get("msg_id") != sent:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            printed.append(content["text"])
        elif kind == "error":
            error = content["ename"]
        elif kind == "status" and content["execution_state"] == "idle":
            return "".join(printed), error
    raise AssertionError(f"no end: {code}")


@pytest.fixture
def kernel():
    """A Jupyter kernel that runs this Python."""
    manager = KernelManager(kernel_name="python3")
    manager.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


SETUP = """
import tinyjax as jax, tinyjax.numpy as jnp
from tinyjax import lax
total = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
print(total(jnp.arange(4.0)))
"""
ENDLESS = """
endless = jax.pmap(lambda x: lax.while_loop(lambda c: c >= 0, lambda c: c * 0.5 + 1, x))
print("begun", flush=True)
endless(jnp.ones(2)).block_until_ready()
"""


@pytest.mark.slow
def test_cells_and_the_stop_button(kernel):
    manager, client = kernel
    assert run(client, SETUP) == ("[6. 6. 6. 6.]\n", None)
    sent = client.execute(ENDLESS, stop_on_error=False)
    while True:
        message = client.get_iopub_msg(timeout=PATIENCE)
        if message["msg_type"] == "stream" and "begun" in message["content"]["text"]:
            break
    time.sleep(1.0)
    manager.interrupt_kernel()
    begun = time.monotonic()
    error = None
    while error is None:
        message = client.get_iopub_msg(timeout=PATIENCE)
        if message["msg_type"] == "error" and message["parent_header"]["msg_id"] == sent:
            error = message["content"]["ename"]
    assert error == "KeyboardInterrupt"
    assert time.monotonic() - begun < 10
    assert run(client, "print(total(jnp.arange(4.0)))") == ("[6. 6. 6. 6.]\n", None)
