"""What a check of purity has to say: findings, and the report that holds them."""

import html
from dataclasses import dataclass

from tinyjax.source import Source


@dataclass(frozen=True)
class Finding:
    """One thing that a pure function would not do.

    kind: "global read", "closure read", "attribute read" (what is read is changed by others),
      "global write", "closure write", "mutated argument", "mutated global", "mutated closure",
      "mutated attribute", "mutated default", "leaked tracer", "random state", "entropy", "I/O",
      "thread", "time", "set order", "captured value", "hidden state" or "not run".
    variable: what it is about, as it is written in the code: "counter", "params['w']", "print".
    message: what happens, and in a second line why that matters.
    rewrite: the same without the impurity, as code; several lines. Where it is not sure what the
      right code is, the principle in words, as a comment.
    source: where, a tinyjax.source.Source (or None).
    """

    kind: str
    variable: str
    message: str
    rewrite: str
    source: Source | None = None

    @property
    def file(self):
        """The file, or 'Cell In[3]'."""
        return self.source.file if self.source else "?"

    @property
    def line(self):
        """The number of the line; 0 if it is not known."""
        return self.source.line if self.source else 0

    @property
    def function(self):
        """The name of the function that the line is in."""
        return self.source.function if self.source else "?"

    @property
    def text(self):
        """The line itself, if there is a file."""
        return self.source.text if self.source else ""

    def __str__(self):
        what, *why = self.message.splitlines()
        text = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        where = [f"at {self.source}" + (f":  {text}" if text else "")]
        lines = [*(where if self.source else []), *why]
        lines += [f"    {line}" for line in self.rewrite.splitlines()]
        return "\n   ".join([what, *lines])


class PurityReport:
    """What check_pure returns: true if nothing was found, and printed as a text.

    name: of the function. findings: a list of Findings. traces: how often it was traced.
    error: what tracing raised, if the function did not come to its end.
    """

    def __init__(self, name, findings, traces=2, error=None):
        self.name, self.findings, self.traces, self.error = name, findings, traces, error

    @property
    def ok(self):
        """Whether nothing was found."""
        return not self.findings

    def __bool__(self):
        return self.ok

    def __len__(self):
        return len(self.findings)

    def __iter__(self):
        return iter(self.findings)

    def __getitem__(self, i):
        return self.findings[i]

    def _repr_html_(self):
        return f"<pre>{html.escape(repr(self))}</pre>"

    def __repr__(self):
        if self.ok:
            return (
                f"{self.name} is pure: traced twice, it changed nothing and read nothing that "
                "changes."
            )
        many = len(self.findings)
        head = f"{self.name} is not pure ({many} finding{'s' if many > 1 else ''}):"
        parts = [head, *[f"{i}. {finding}" for i, finding in enumerate(self.findings, 1)]]
        if self.error is not None:
            parts.append(f"(Tracing stopped with {type(self.error).__name__}.)")
        return "\n".join(parts)
