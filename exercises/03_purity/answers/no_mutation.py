# The card of the exercise no_mutation. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 12

# %% [markdown] statement
# # Leave the arguments as they are
#
# `deposit`, below, changes its argument in two places: it writes into an array, and it appends to
# a list. JAX's arrays refuse the first, and `jit` drops the second without a word.
#
# Write `pure_deposit(accounts, who, amount)`. It returns a new dict of the same form and leaves
# `accounts`, with all that is in it, as it was.
#
#     accounts = {"balance": jnp.array([1.0, 2.0, 3.0]), "log": [5.0]}
#     pure_deposit(accounts, 2, 10.0)   # {"balance": [1, 2, 13], "log": [5, 10]}
#
# It must work under `jax.jit`, too.
#
# Run this file, or `tinyjax check no_mutation`, to see whether it is right.

# %% given
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp


def deposit(accounts, who, amount):
    """Adds an amount to one balance and to the end of the log. In place: not pure."""
    accounts["balance"][who] += amount
    accounts["log"].append(amount)


# %% stub
def pure_deposit(accounts, who, amount):
    """A new dict in which the amount is added to one balance and to the end of the log."""
    raise NotImplementedError


# %% [markdown] hint
# How do you get an array that differs from another in one element, and a list that is longer by
# one element, while the old ones stay as they are?

# %% [markdown] hint
# `a.at[i].add(v)` returns a new array, and `+` between two lists makes a new list; `append`
# changes the list that you have. Put both new values into a dict of your own.

# %% [markdown] hint
#     def pure_deposit(accounts, who, amount):
#         balance = accounts["balance"].at[...]...
#         log = accounts["log"] + ...
#         return {"balance": ..., "log": ...}

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check

seconds = 30.0  # a kernel is compiled


def draw(rng):
    """Four balances, a log of two amounts, and a deposit."""
    return {
        "balance": rng.uniform(1.0, 9.0, size=4).round(1).astype(np.float32),
        "log": [float(a) for a in rng.uniform(20.0, 30.0, size=2).round(1)],
        "who": int(rng.integers(4)),
        "amount": round(rng.uniform(40.0, 60.0), 1),
    }


@check("the new accounts, and the old ones afterwards")
def new_and_old(student, balance, log, who, amount):
    accounts = {"balance": balance, "log": list(log)}
    new = student.pure_deposit(accounts, who, amount)
    return {"new": new, "old": accounts}


@check("the balance inside jit")
def inside_jit(student, balance, log, who, amount):
    accounts = {"balance": balance, "log": list(log)}
    return jax.jit(student.pure_deposit)(accounts, who, amount)["balance"]


# %% reference
def pure_deposit(accounts, who, amount):
    """A new dict in which the amount is added to one balance and to the end of the log."""
    return {
        "balance": accounts["balance"].at[who].add(amount),  # a new array
        "log": accounts["log"] + [amount],  # a new list
    }


# %% right: a copy of the dict, with a sum
def pure_deposit(accounts, who, amount):
    new = dict(accounts)
    here = jnp.arange(len(new["balance"])) == who
    new["balance"] = new["balance"] + amount * here
    new["log"] = [*new["log"], amount]
    return new


# %% right: copies of the dict and the list, changed
def pure_deposit(accounts, who, amount):
    new = {"balance": accounts["balance"], "log": accounts["log"].copy()}
    new["log"].append(amount)
    new["balance"] = jnp.where(jnp.arange(4) == who, new["balance"] + amount, new["balance"])
    return new


# %% right: a deep copy
import copy


def pure_deposit(accounts, who, amount):
    new = copy.deepcopy(accounts)
    new["balance"] = new["balance"].at[who].add(amount)
    new["log"].append(amount)
    return new


# %% right: with set
def pure_deposit(accounts, who, amount):
    balance, log = accounts["balance"], accounts["log"]
    balance = balance.at[who].set(balance[who] + amount)
    return dict(zip(("balance", "log"), (balance, [*log, amount])))


# %% wrong: the dict is changed
# You changed the dict that you were given: build a new one, {"balance": ..., "log": ...}.
def pure_deposit(accounts, who, amount):
    accounts["balance"] = accounts["balance"].at[who].add(amount)
    accounts["log"] = accounts["log"] + [amount]
    return accounts


# %% wrong: the list in the copy
# Your new dict holds the old list, and you appended to it: a copy of a dict shares what is in it.
def pure_deposit(accounts, who, amount):
    new = dict(accounts)
    new["balance"] = new["balance"].at[who].add(amount)
    new["log"].append(amount)
    return new


# %% wrong: what append returns
# You took the result of append for the new list: append changes the old list, and returns None.
def pure_deposit(accounts, who, amount):
    balance = accounts["balance"].at[who].add(amount)
    return {"balance": balance, "log": accounts["log"].append(amount)}


# %% wrong: the result of at is dropped
# You dropped the new array: .at[who].add(amount) changes nothing, it returns what you want.
def pure_deposit(accounts, who, amount):
    accounts["balance"].at[who].add(amount)
    return {"balance": accounts["balance"], "log": accounts["log"] + [amount]}


# %% wrong: written into the array
# You wrote into the array: arrays are immutable, .at[who].add(amount) returns a new one.
def pure_deposit(accounts, who, amount):
    new = {"balance": accounts["balance"], "log": accounts["log"] + [amount]}
    new["balance"][who] += amount
    return new


# %% wrong: set in place of add
# You replaced the balance by the amount: the amount is added to what is there.
def pure_deposit(accounts, who, amount):
    balance = accounts["balance"].at[who].set(amount)
    return {"balance": balance, "log": accounts["log"] + [amount]}


# %% wrong: everybody gets it
# You added the amount to all balances: only the one at `who` grows.
def pure_deposit(accounts, who, amount):
    return {"balance": accounts["balance"] + amount, "log": accounts["log"] + [amount]}


# %% wrong: a NumPy copy
# NumPy cannot hold a tracer, so your copy fails under jit: .at[who].add(amount) needs no copy.
def pure_deposit(accounts, who, amount):
    balance = np.array(accounts["balance"])
    balance[who] += amount
    return {"balance": balance, "log": accounts["log"] + [amount]}


# %% wrong: a comparison in Python
# You ask with `if` whether this is the one, but under jit `who` has no value yet: use .at[who].
def pure_deposit(accounts, who, amount):
    balance = [b + amount if i == who else b for i, b in enumerate(accounts["balance"])]
    return {"balance": jnp.stack(balance), "log": accounts["log"] + [amount]}


# %% wrong: the log stays
# Your log has no new entry: the amount goes to its end, in a new list.
def pure_deposit(accounts, who, amount):
    return {"balance": accounts["balance"].at[who].add(amount), "log": accounts["log"]}


# %% wrong: at the beginning of the log
# You put the amount at the beginning of the log: it belongs at the end.
def pure_deposit(accounts, who, amount):
    return {"balance": accounts["balance"].at[who].add(amount), "log": [amount] + accounts["log"]}


# %% wrong: nothing is returned
# Your function returns None: a function that changes nothing must return its result.
def pure_deposit(accounts, who, amount):
    balance = accounts["balance"].at[who].add(amount)
    {"balance": balance, "log": accounts["log"] + [amount]}
