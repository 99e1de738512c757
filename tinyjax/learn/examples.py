"""The package's own examples, run on the package as it is now: with a student's piece in it."""

import doctest
import re
import sys
from collections.abc import Callable
from typing import Any

NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)(?![\w.])")


class Recorder(doctest.DocTestRunner):
    """Keeps what the examples print, right or not; an error that no example expects is raised."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.printed: dict[str, str] = {}

    def report_start(self, out: Any, test: Any, example: Any) -> None:
        """Nothing is said."""

    def report_success(self, out: Any, test: Any, example: Any, got: str) -> None:
        """Keeps the output."""
        self.printed[example.source] = got

    report_failure = report_success

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        """An error in the student's piece is the outcome of the check."""
        raise exc_info[1]


def run_examples(*functions: Callable) -> dict[str, dict[str, Any]]:
    """Runs the examples in the docstrings of functions of the package.

    A check of an exercise of kind B returns this: the grader compares it with what the unmodified
    package prints.

    Args:
      functions: functions or classes whose docstrings have examples.

    Returns:
      For each line of an example that prints, the text with `#` for each number, and the numbers.

    Raises:
      ValueError: there is no example at all.

    >>> import tinyjax as jax
    >>> run_examples(jax.numpy.cumsum) != {}
    True
    """
    recorder = Recorder()
    for function in functions:
        names = dict(vars(sys.modules[function.__module__]))
        parser = doctest.DocTestParser()
        test = parser.get_doctest(function.__doc__ or "", names, function.__name__, None, 0)
        recorder.run(test, out=lambda text: None)
    if not recorder.printed:
        raise ValueError("these functions have no examples in their docstrings")
    return {
        source: {"text": NUMBER.sub("#", got), "numbers": [float(n) for n in NUMBER.findall(got)]}
        for source, got in recorder.printed.items()
        if got
    }
