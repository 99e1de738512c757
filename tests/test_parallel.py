"""The checks of pmap that hold everywhere, on the engines that run in or below this process."""

import pytest
from parallel_checks import CHECKS, FAULTS

from tinyjax.parallel.engine import use
from tinyjax.parallel.local import LocalEngine
from tinyjax.parallel.threads import ThreadEngine


@pytest.fixture(scope="module", params=[ThreadEngine, LocalEngine])
def engine(request):
    """An engine, in use."""
    new = request.param()
    old = use(new)
    yield new
    use(old)
    new.close()


@pytest.mark.parametrize("name", CHECKS)
def test_values(engine, name):
    CHECKS[name]()


@pytest.mark.parametrize("name", FAULTS)
def test_devices_that_do_not_meet(name):
    local = LocalEngine()
    old = use(local)
    try:
        FAULTS[name]()
    finally:
        use(old)
        local.close()
