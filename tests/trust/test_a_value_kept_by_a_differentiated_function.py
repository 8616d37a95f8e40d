"""What a function given to grad keeps of its arguments: backward() does not end there without a word (found by the fuzzer)."""

from __future__ import annotations

import pytest


def keeping(grad, at, what=lambda t: t):
    kept = []

    def inner(t):
        kept.append(what(t))
        return t * t

    return grad(inner)(at), kept[0]


@pytest.mark.parametrize("what", [lambda t: t, lambda t: t * 2.0], ids=["the argument", "computed from it"])
def test_backward_refuses_to_end_at_an_argument_that_stands_for_a_value(twin, what):
    x = twin.Value(3.0)
    slope, kept = keeping(twin.package.grad, x, what)
    from micrograd import TraceError

    with pytest.raises(TraceError, match="has_aux=True"):
        (slope + kept).backward()
    assert x.grad == 0.0  # as before the call
    slope.backward()
    assert x.grad == 2.0


def test_what_stands_for_a_plain_number_is_a_leaf_like_any_other(twin):
    slope, kept = keeping(twin.package.grad, 3.0)
    assert slope == 6.0
    (kept * kept).backward()
    assert kept.grad == 6.0


def test_nothing_is_marked_where_nothing_is_kept(twin, monkeypatch):
    from micrograd.tape import trace

    marked = []
    monkeypatch.setattr(trace, "_refuse_to_end", lambda name: marked.append(name))
    x, y = twin.Value(3.0), twin.Value(2.0)
    package = twin.package
    out = package.grad(lambda a, b: a * b * b, (0, 1))(x, y)[1] + package.jvp(lambda a: a * a, (x,), (1.0,))[1]
    value, pull = package.vjp(lambda a: a * y, x)
    (out + value + pull(1.0)[0]).backward()
    assert not marked and x.grad == 2 * 2.0 + 2.0 + 2.0


def test_aux_is_the_way_out(twin):
    x = twin.Value(3.0)
    slope, kept = twin.package.grad(lambda t: (t * t, t * 2.0), has_aux=True)(x)
    (slope + kept).backward()
    assert x.grad == 4.0
