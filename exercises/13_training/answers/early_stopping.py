# The card of the exercise early_stopping. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # Stop early
#
# A network that trains too long knows its examples by heart. So watch the loss on the
# **validation set**, which it does not learn from, and keep the parameters for which that loss was
# lowest.
#
# Write `fit(epoch, loss, params, train, validation, patience, limit)`.
#
# - `epoch(params, train)` returns the parameters after one more epoch of training.
# - `loss(params, data)` is a number. `train` and `validation` are two sets of data.
# - Look at the parameters of the start first: they count as epoch 0. Then train epoch by epoch,
#   and look at the loss on `validation` after each.
# - Stop when `patience` epochs in a row have not been better than the **best so far**, or after
#   `limit` epochs. Better means lower.
# - Return the best parameters and the number of their epoch, 0 for the start.
#
# `epoch` and `loss` may be any Python functions, so write a plain Python loop.
#
# If the validation losses of epochs 0, 1, 2, ... are 9, 5, 6, 4, 7, 8, 3 and `patience` is 2, then
# epoch 3 is best so far, epochs 4 and 5 are not better, and you stop: return the parameters of
# epoch 3, and 3. You never see the 3.0 of epoch 6, and that is the price of stopping.
#
# Run this file, or `tinyjax check early_stopping`, to see whether it is right.

# %% given
import tinyjax.numpy as jnp


# %% stub
def fit(epoch, loss, params, train, validation, patience, limit):
    """Trains until the validation loss gets no better -> best parameters, their epoch."""
    raise NotImplementedError


# %% [markdown] hint
# Which three things must you remember from one epoch to the next, beside the parameters that go
# on learning?

# %% [markdown] hint
# Two trees of parameters are in play: the latest, from which the next epoch starts, and the best,
# which you return. Parameters are values that nobody changes, so `best = params` keeps them.
# The patience is about the distance between the latest epoch and the best one.

# %% [markdown] hint
#     def fit(epoch, loss, params, train, validation, patience, limit):
#         best, best_loss, best_epoch = params, ..., 0
#         for number in range(1, ...):
#             params = ...
#             value = ...
#             if value < ...:
#                 best, best_loss, best_epoch = ...
#             if number - ... >= patience:
#                 break
#         return ...

# %% checks
import numpy as np

import tinyjax.numpy as jnp
from tinyjax.learn import check


def draw(rng, tie=False):
    """Losses that fall, with a hill, to the best so far; then a hill; lower ones come too late."""
    patience = int(rng.integers(4, 7))
    best = round(float(rng.uniform(2.0, 3.0)), 1)
    fall = 4 + 0.5 * np.arange(rng.integers(2, 5))[::-1]
    hill = [6.0, 3.8, 7.0, 6.5]  # with an epoch that is the best so far
    late = [5.0, 4.0, *(4.5 + 0.5 * np.arange(2 * patience))]
    late[patience : patience + 2] = [9.0, 4.2]
    if tie:
        late[patience - 1] = best
    numbers = [*(best - 2 + fall), *(best - 2 + np.array(hill)), best, *late, 1.0, 0.5]
    numbers = [round(float(v), 1) for v in numbers]
    training = [round(10 - 0.4 * i, 1) for i in range(len(numbers))]
    training[-2:] = [10.0, 10.0]
    return {
        "validation": numbers,
        "training": training,
        "start": round(float(rng.uniform(1, 5)), 1),
        "patience": patience,
    }


def draw_tie(rng):
    """The last epoch before the end is as good as the best one, and not better."""
    return draw(rng, tie=True)


def scene(start, training, validation, calls):
    """An epoch and a loss that go through lists of losses; `calls` lists the epochs."""
    params = {"w": jnp.float32(start), "steps": jnp.int32(0)}

    def epoch(params, train):
        calls.append(int(params["steps"]))
        step = params["steps"] + 1
        return {"w": params["w"] * 1.5 - step + train[0], "steps": step}

    def loss(params, data):
        return data[params["steps"]]

    return epoch, loss, params, jnp.array(training), jnp.array(validation)


@check("the best parameters and their epoch", draw=draw_tie)
def best(student, validation, training, start, patience):
    things = scene(start, training, validation, [])
    params, number = student.fit(*things, patience, len(validation) - 1)
    return {"params": params, "epoch": number}


@check("how many epochs are trained")
def epochs(student, validation, training, start, patience):
    calls = []
    things = scene(start, training, validation, calls)
    student.fit(*things, patience, len(validation) - 1)
    return {"epochs": len(calls)}


def draw_limit(rng):
    """Few epochs, too few for the patience; none is better than the start, until it is too late."""
    size = int(rng.integers(4, 7))
    rising = 2 + np.sort(rng.permutation(20)[:size]) / 10
    return {
        "validation": [*(round(float(v), 1) for v in rising), 0.5, 0.2],
        "start": round(float(rng.uniform(1, 5)), 1),
        "limit": size - 1,
    }


@check("at most `limit` epochs, with much patience", draw=draw_limit)
def limited(student, validation, start, limit):
    calls = []
    things = scene(start, [5.0] * len(validation), validation, calls)
    params, number = student.fit(*things, 50, limit)
    return {"params": params, "epoch": number, "epochs": len(calls)}


# %% reference
def fit(epoch, loss, params, train, validation, patience, limit):
    """Trains until the validation loss gets no better -> best parameters, their epoch."""
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, limit + 1):
        params = epoch(params, train)  # goes on from the latest, not from the best
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        if number - best_epoch >= patience:
            break
    return best, best_epoch


# %% right: a list of all
def fit(epoch, loss, params, train, validation, patience, limit):
    all_params, values = [params], [float(loss(params, validation))]
    while len(values) <= limit and len(values) - 1 - values.index(min(values)) < patience:
        all_params.append(epoch(all_params[-1], train))
        values.append(float(loss(all_params[-1], validation)))
    number = values.index(min(values))
    return all_params[number], number


# %% right: a count of bad epochs, a class with __call__
class Fit:
    def __call__(self, epoch, loss, θ, train, validation, patience, limit):
        best, lowest, bad, number = (θ, 0), loss(θ, validation), 0, 0
        while bad < patience and number < limit:
            number += 1
            θ = epoch(θ, train)
            value = loss(θ, validation)
            if value < lowest:
                best, lowest, bad = (θ, number), value, 0
            else:
                bad += 1
        return best


fit = Fit()


# %% right: recursion
def fit(epoch, loss, params, train, validation, patience, limit):
    def go(params, number, best):
        value = loss(params, validation)
        if best is None or value < best[0]:
            best = (value, params, number)
        if number == limit or number - best[2] == patience:
            return best[1], jnp.array(best[2])
        return go(epoch(params, train), number + 1, best)

    return go(params, 0, None)


# %% wrong: the training loss
# You looked at the training loss, which keeps falling: the validation loss decides.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, train), 0
    for number in range(1, limit + 1):
        params = epoch(params, train)
        value = loss(params, train)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        if number - best_epoch >= patience:
            break
    return best, best_epoch


# %% wrong: trained on the validation set
# You trained on the validation set: it is only for looking, train on `train`.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, limit + 1):
        params = epoch(params, validation)
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        if number - best_epoch >= patience:
            break
    return best, best_epoch


# %% wrong: the latest parameters
# You returned the latest parameters: return those of the best epoch.
def fit(epoch, loss, params, train, validation, patience, limit):
    best_loss, best_epoch = loss(params, validation), 0
    for number in range(1, limit + 1):
        params = epoch(params, train)
        value = loss(params, validation)
        if value < best_loss:
            best_loss, best_epoch = value, number
        if number - best_epoch >= patience:
            break
    return params, best_epoch


# %% wrong: as good is not better
# You took an epoch that is just as good for a better one: better means lower.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, limit + 1):
        params = epoch(params, train)
        value = loss(params, validation)
        if value <= best_loss:
            best, best_loss, best_epoch = params, value, number
        if number - best_epoch >= patience:
            break
    return best, best_epoch


# %% wrong: the number of the last epoch
# You returned the number of the last epoch: it is the best one that is asked for.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, limit + 1):
        params = epoch(params, train)
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        if number - best_epoch >= patience:
            break
    return best, number


# %% wrong: better than the epoch before
# You compared with the epoch before: an epoch must be better than the best so far.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, limit + 1):
        params = epoch(params, train)
        value = loss(params, validation)
        if value < best_loss:
            best, best_epoch = params, number
        best_loss = value
        if number - best_epoch >= patience:
            break
    return best, best_epoch


# %% wrong: one epoch too many
# You stopped one epoch late: after `patience` epochs that are no better, it is over.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, limit + 1):
        params = epoch(params, train)
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        if number - best_epoch > patience:
            break
    return best, best_epoch


# %% wrong: one epoch too few
# You stopped one epoch early: `patience` epochs without a better one are allowed.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, limit + 1):
        params = epoch(params, train)
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        if number - best_epoch + 1 >= patience:
            break
    return best, best_epoch


# %% wrong: at the first worse epoch
# You stopped at the first epoch that is no better: wait for `patience` of them.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, limit + 1):
        params = epoch(params, train)
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        if value > best_loss:
            break
    return best, best_epoch


# %% wrong: no stopping
# You never stopped: after `patience` epochs that are no better, leave the loop.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, limit + 1):
        params = epoch(params, train)
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
    return best, best_epoch


# %% wrong: bad epochs are counted together
# You counted all bad epochs: a better one sets the count back to zero.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch, bad = params, loss(params, validation), 0, 0
    for number in range(1, limit + 1):
        params = epoch(params, train)
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        else:
            bad += 1
        if bad >= patience:
            break
    return best, best_epoch


# %% wrong: back to the best
# You trained on from the best parameters: each epoch starts from the latest ones.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, limit + 1):
        params = epoch(best, train)
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        if number - best_epoch >= patience:
            break
    return best, best_epoch


# %% wrong: the start does not count
# You left the parameters of the start out: they count as epoch 0, and may be the best.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, float("inf"), 0
    for number in range(1, limit + 1):
        params = epoch(params, train)
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        if number - best_epoch >= patience:
            break
    return best, best_epoch


# %% wrong: one epoch less than limit
# You trained one epoch less than `limit`: range(1, n) ends at n - 1.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, limit):
        params = epoch(params, train)
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        if number - best_epoch >= patience:
            break
    return best, best_epoch


# %% wrong: no limit
# You went on beyond `limit` epochs: stop there, even if there is patience left.
def fit(epoch, loss, params, train, validation, patience, limit):
    best, best_loss, best_epoch = params, loss(params, validation), 0
    for number in range(1, len(validation)):
        params = epoch(params, train)
        value = loss(params, validation)
        if value < best_loss:
            best, best_loss, best_epoch = params, value, number
        if number - best_epoch >= patience:
            break
    return best, best_epoch
