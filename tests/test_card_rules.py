"""No rule of a card can go missing unnoticed: break each in turn; the card table must fail."""

import pytest
import test_cards as table

from tinyjax.core import Primitive
from tinyjax.primitives.rules import WithoutDerivative
from tinyjax.transforms.ad import default_jvp, default_linearize

CARDS = table.registered_cards()
RULES = ("impl", "type", "batch", "transpose", "linearize", "jvp")
DEFAULTS = {default_jvp, default_linearize, getattr(Primitive, "type", None)}


def has_derivative(card):
    """Whether a card's derivative rules can be asked: some operands are floats."""
    accepted = getattr(card, "accepts", None)
    refuses = getattr(card.linearize, "__func__", None) is WithoutDerivative.linearize
    return not refuses and (not accepted or bool(set("fc") & {*accepted}))


# (card, rule) that the oracle lacks. tests/test_scipy.py compares the first with SciPy's digamma,
# and asks the others for their errors: there is no slope in a and b.
ELSEWHERE = {("complex_loggamma", "linearize")}
ELSEWHERE |= {("regularized_incomplete_beta", f"partials[{i}]") for i in (0, 1)}


def own_rules(card):
    """The rules that a card or its family defines."""
    for rule in RULES:
        if (card.name, rule) in ELSEWHERE:
            continue
        if rule in ("linearize", "jvp") and not has_derivative(card):
            continue
        found = getattr(card, rule, None)
        if found is not None and getattr(found, "__func__", found) not in DEFAULTS:
            yield rule
    for i, partial in enumerate(getattr(card, "partials", ())):
        if partial is not None and (card.name, f"partials[{i}]") not in ELSEWHERE:
            yield f"partials[{i}]"


def break_rule(card, rule, monkeypatch):
    """Take one rule away."""
    if rule.startswith("partials"):
        i = int(rule[9:-1])
        partials = tuple(None if i == k else p for k, p in enumerate(card.partials))
        monkeypatch.setattr(card, "partials", partials)
        return

    def gone(*args, **params):
        raise NotImplementedError(f"{card}: {rule} is gone")

    monkeypatch.setattr(card, rule, gone, raising=False)


EXIST = table.test_derivatives_exist_where_the_oracles_do
WALK = [
    table.test_values_and_types_are_the_oracles,
    table.test_the_type_rule_tells_what_the_value_has,
    table.test_forward_derivative_is_the_oracles,
    table.test_reverse_derivative_is_the_oracles,
    table.test_batching_is_a_loop,
    EXIST,
    table.test_batched_derivatives_are_the_oracles,
    table.test_second_derivatives_are_the_oracles,
]


def table_fails(card):
    """Whether some question of the table about this card's cases fails."""
    for case in table.CASES:
        if case.prim_name != card.name:
            continue
        for question in WALK:
            if "derivative" in question.__name__ and not case.diff and question is not EXIST:
                continue
            try:
                question(case)
            except Exception:
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CARDS))
def test_every_rule_is_missed(name, monkeypatch):
    card, unnoticed = CARDS[name], []
    for rule in own_rules(card):
        with monkeypatch.context() as broken:
            break_rule(card, rule, broken)
            if not table_fails(card):
                unnoticed.append(rule)
    assert unnoticed == []
