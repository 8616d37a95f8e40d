"""The numbers that tell which nn module made a node: they do not run out, and those of models that are gone are used again."""

import gc


def test_models_beyond_65536_modules_are_told_apart_and_drawn_by_neurons(twin):
    # A node once had 16 bits for the number: later models got 0, and their collapsed drawings had no layers.
    from micrograd import nn
    from micrograd.learn.collapse import collapse
    from micrograd.values import module_scopes as scopes

    scopes._free.sort(reverse=True)  # the lowest numbers are taken first
    held = [nn.Module() for _ in range(66_000)]
    models = [nn.MLP(2, [2, 1]) for _ in range(2)]
    assert len({module._scope for module in held + models}) == 66_002
    stamps = []
    for model in models:
        y = model([1.0, 2.0])
        stamps.append({node._scope for node in twin.engine.topological(y) if node._prev})
        assert [group.title for group in collapse(y).groups][-1] == "layer 1 · neuron 0"
        assert {scopes.path(stamp) for stamp in stamps[-1]} == {
            ("layer 0", "neuron 0"), ("layer 0", "neuron 1"), ("layer 1", "neuron 0")
        }  # fmt: skip
    assert min(stamps[0] | stamps[1]) > 65_535 and not stamps[0] & stamps[1]
    del held, models, model
    scopes.give_back()


def test_numbers_of_models_that_are_gone_are_given_back(twin, monkeypatch, small_heap):
    from micrograd import nn
    from micrograd.values import module_scopes as scopes

    first = nn.MLP(2, [2, 1])
    y = first([1.0, 2.0])
    scope, path = y._scope, scopes.path(y._scope)
    gc.collect()
    scopes.give_back()
    alive = len(scopes._scopes)
    for _ in range(40):
        monkeypatch.setattr(scopes, "_look_at", 50)
        nn.MLP(2, [2, 1])
    gc.collect()
    scopes.give_back()
    assert len(scopes._scopes) <= alive
    assert path and scopes.path(scope) == path
    del first
    gc.collect()
    scopes.give_back()
    assert scopes.path(scope) == path  # the node still says where it comes from
    assert (nn.MLP(2, [2, 1])([1.0, 2.0]) + y)._prev[1]._scope == scope
