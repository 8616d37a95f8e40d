"""The parts of the transformer, against PyTorch's and against what they promise."""

import random

import pytest

from micrograd import Value, losses, nn
from micrograd.engine import topological
from micrograd.nn.module import Module
from micrograd.values import module_scopes as scopes


def numbers(tensor):
    return [numbers(item) for item in tensor] if isinstance(tensor, (list, tuple)) else tensor.data


def randomise(module: Module, seed=0):
    rng = random.Random(seed)
    for p in module.parameters():
        p.data = rng.gauss(0.0, 0.5)


def vectors(count, width, seed=1):
    rng = random.Random(seed)
    return [[Value(rng.gauss(0.0, 1.0)) for _ in range(width)] for _ in range(count)]


def agree(torch, ours, theirs, inputs, tensors):
    """Outputs and the gradients of a weighted sum of them, with respect to inputs and parameters, are the same."""
    flat = [v for row in ours for v in row]
    weights = [0.3 + 0.1 * (i % 7) for i in range(len(flat))]
    torch.testing.assert_close(
        torch.tensor([v.data for v in flat], dtype=torch.float64), theirs.detach().reshape(-1), rtol=1e-12, atol=1e-12
    )
    sum(w * v for w, v in zip(weights, flat)).backward()
    (theirs.reshape(-1) * torch.tensor(weights, dtype=torch.float64)).sum().backward()
    for mine, tensor in [*inputs, *tensors]:
        got = torch.tensor([v.grad for v in flatten(mine)], dtype=torch.float64)
        torch.testing.assert_close(got, tensor.grad.reshape(-1), rtol=1e-11, atol=1e-12)


def flatten(tensor):
    return [v for item in tensor for v in flatten(item)] if isinstance(tensor, (list, tuple)) else [tensor]


def as_torch(torch, tensor):
    return torch.tensor(numbers(tensor), dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("bias", [True, False])
def test_linear_is_pytorchs(torch, bias):
    layer, xs = nn.Linear(3, 2, bias), vectors(2, 3)
    randomise(layer)
    x, w = as_torch(torch, xs), as_torch(torch, layer.weight)
    tensors = [(layer.weight, w)]
    if bias:
        tensors.append((layer.bias, as_torch(torch, layer.bias)))
    theirs = torch.nn.functional.linear(x, w, tensors[1][1] if bias else None)
    agree(torch, [layer(v) for v in xs], theirs, [(xs, x)], tensors)


@pytest.mark.parametrize("gain", [True, False])
def test_rms_norm_is_pytorchs(torch, gain):
    norm, xs = nn.RMSNorm(5, gain=gain), vectors(2, 5)
    randomise(norm)
    x = as_torch(torch, xs)
    tensors = [(norm.gain, as_torch(torch, norm.gain))] if gain else []
    theirs = torch.nn.functional.rms_norm(x, (5,), tensors[0][1] if gain else None, eps=1e-5)
    agree(torch, [norm(v) for v in xs], theirs, [(xs, x)], tensors)


def test_layer_norm_is_pytorchs(torch):
    norm, xs = nn.LayerNorm(5), vectors(2, 5)
    randomise(norm)
    x, gain, bias = as_torch(torch, xs), as_torch(torch, norm.gain), as_torch(torch, norm.bias)
    theirs = torch.nn.functional.layer_norm(x, (5,), gain, bias, eps=1e-5)
    agree(torch, [norm(v) for v in xs], theirs, [(xs, x)], [(norm.gain, gain), (norm.bias, bias)])


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_attention_is_pytorchs(torch, heads):
    attention, xs = nn.Attention(8, heads), vectors(5, 8)
    randomise(attention)
    x = as_torch(torch, xs)
    parts = [attention.query, attention.key, attention.value, attention.out]
    wq, wk, wv, wo = weights = [as_torch(torch, part.weight) for part in parts]

    def split(y):
        return y.reshape(5, heads, 8 // heads).transpose(0, 1)

    mixed = torch.nn.functional.scaled_dot_product_attention(
        split(x @ wq.T), split(x @ wk.T), split(x @ wv.T), is_causal=True
    )
    theirs = mixed.transpose(0, 1).reshape(5, 8) @ wo.T
    agree(torch, attention(xs), theirs, [(xs, x)], [(p.weight, w) for p, w in zip(parts, weights)])


def test_embedding_gives_the_row_of_a_token_and_its_gradient_stays_there():
    table = nn.Embedding(4, 3, rng=0)
    row = table(2)
    assert all(a is b for a, b in zip(row, table.weight[2]))
    with pytest.raises(IndexError, match="token 4 of an embedding of 4"):
        table(4)
    with pytest.raises(IndexError):
        table(-1)


@pytest.mark.parametrize("token", [0, 2, 3])
def test_a_token_that_is_a_value_chooses_the_same_row_and_gradient(token):
    table = nn.Embedding(4, 3, rng=0)
    row = table(Value(token))
    assert numbers(row) == numbers(table(token))
    sum(2.0 * v for v in row).backward()
    assert [[v.grad for v in r] for r in table.weight] == [[2.0 * (i == token)] * 3 for i in range(4)]


def test_a_gpt_of_the_usual_size_has_4192_parameters():
    model = nn.GPT(27, block=16, width=16, heads=4, layers=1)
    assert len(model.parameters()) == 4192
    assert repr(model) == "GPT(vocabulary=27, block=16, width=16, heads=4, layers=1)"


def test_a_gpt_never_looks_ahead():
    model = nn.GPT(5, block=6, width=4, heads=2, layers=2, rng=0)
    randomise(model)
    a, b = model([0, 1, 2, 3]), model([0, 1, 4, 0])
    assert numbers(a[:2]) == numbers(b[:2])
    assert numbers(a[2]) != numbers(b[2])


def test_a_gpt_over_tokens_that_are_values_gives_the_same_logits():
    model = nn.GPT(5, block=6, width=4, heads=2, rng=0)
    assert numbers(model([Value(3), Value(1)])) == numbers(model([3, 1]))


def test_the_nodes_of_a_gpt_know_where_they_were_made():
    model = nn.GPT(5, block=6, width=4, heads=2, rng=0)
    made = {scopes.path(v._scope) for v in topological(model([1, 2])[1][0])}
    assert ("block 0", "attention", "query") in made and ("head",) in made


@pytest.mark.parametrize("tokens", [[], [0] * 7])
def test_a_gpt_says_how_much_it_reads(tokens):
    with pytest.raises(ValueError, match=f"1 to 6 tokens at once, and was given {len(tokens)}"):
        nn.GPT(5, block=6, width=4, heads=2)(tokens)


def test_heads_have_to_divide_the_width():
    with pytest.raises(ValueError, match="6 does not divide among 4"):
        nn.Attention(6, 4)


def test_generate_follows_the_odds_and_stops():
    model = nn.GPT(3, block=8, width=4, heads=2, rng=0)
    for p in model.parameters():
        p.data = 0.0
    for row in model.tokens.weight:
        row[0].data = 1.0
    model.head.weight[1][0].data = 50.0  # token 1 is all but certain
    assert model.generate([0], rng=0) == [1] * 7
    assert model.generate([0], stop=1, rng=0) == []
    model.head.weight[1][0].data = 0.0  # all the same
    drawn = [token for seed in range(40) for token in model.generate([0], rng=seed)]
    assert all(0.2 < drawn.count(token) / len(drawn) < 0.5 for token in range(3))
    with pytest.raises(ValueError, match="temperature is above 0"):
        model.generate([0], temperature=0.0)


def test_a_low_temperature_makes_the_likeliest_token_win():
    model = nn.GPT(6, block=8, width=4, heads=2, rng=3)
    randomise(model, 3)
    assert model.generate([0], temperature=1e-3, rng=1) == model.generate([0], temperature=1e-3, rng=2)


def test_a_gpt_learns_a_word_by_heart():
    from micrograd import optim

    model = nn.GPT(4, block=6, width=8, heads=2, rng=0)
    optimizer = optim.Adam(model.parameters(), lr=0.03)
    word = [3, 0, 1, 1, 2, 3]
    for _ in range(60):
        loss = losses.cross_entropy(model(word[:-1]), word[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.data < 0.05
    assert model.generate([3], stop=3, temperature=0.1, rng=0) == [0, 1, 1, 2]
