"""A message that cannot be made must not hide what it was to be about."""

import functools

strict = False  # tests switch it on: a fault in a message is then an error


def safely(default):
    """Decorator: where the function fails, default of the same arguments is the result.

    What explains an error works on code and values of any kind. It may meet some that nobody has
    thought of; then the user gets the error with fewer words, and not another error.
    """

    def guard(f):
        @functools.wraps(f)
        def guarded(*args, **kwargs):
            try:
                return f(*args, **kwargs)
            except Exception:
                if strict:
                    raise
                return default(*args, **kwargs)

        return guarded

    return guard
