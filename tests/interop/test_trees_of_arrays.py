"""to_jax and to_torch with arrays, dicts and nested structures, beside the same function in the other library; and samplers."""

import pickle

import numpy as np
import pytest

from micrograd import Value, math, to_jax, to_torch


def logp(p, scale):
    """A log density with a branch, of a dict that holds an array, a matrix and a number."""
    total = -0.5 * math.dot(p["x"], p["x"]) * scale
    for row in p["m"]:
        total = total - math.exp(row[0]) * row[1] if p["s"] > 0.0 else total + row[0]
    return total - p["s"] ** 2


def several(v, m):
    return {"product": m @ v, "first": v[0] * m[1, 0], "list": [v[1], 2.0]}


POINT = {"x": [1.0, -2.0, 0.5], "m": [[0.1, 0.2], [0.3, -0.4]], "s": 1.5}


class TestJax:
    @pytest.fixture(autouse=True)
    def doubles(self):
        self.jax = pytest.importorskip("jax")
        before = self.jax.config.jax_enable_x64
        self.jax.config.update("jax_enable_x64", True)
        yield
        self.jax.config.update("jax_enable_x64", before)

    def theirs(self, p, scale):
        jnp = self.jax.numpy
        arms = jnp.where(p["s"] > 0.0, -(jnp.exp(p["m"][:, 0]) * p["m"][:, 1]).sum(), p["m"][:, 0].sum())
        return -0.5 * (p["x"] @ p["x"]) * scale + arms - p["s"] ** 2

    def point(self, sign=1.0):
        return {k: self.jax.numpy.asarray(x) * (sign if k == "s" else 1.0) for k, x in POINT.items()}

    def same(self, found, want):
        flat = [self.jax.tree_util.tree_flatten(x) for x in (found, want)]
        assert flat[0][1] == flat[1][1]
        for a, b in zip(flat[0][0], flat[1][0]):
            assert np.asarray(a) == pytest.approx(np.asarray(b), rel=1e-12, abs=1e-14)

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_derivatives_in_both_modes(self, sign):
        jax, ours, p = self.jax, to_jax(logp, elementwise=False), self.point(sign)
        for transform in (lambda f: f, jax.grad, jax.hessian, jax.jacfwd, jax.jacrev, lambda f: jax.grad(f, (0, 1))):
            self.same(transform(ours)(p, 2.0), transform(self.theirs)(p, 2.0))
            self.same(jax.jit(transform(ours))(p, 2.0), transform(self.theirs)(p, 2.0))

    def test_batches(self):
        jax, ours = self.jax, to_jax(logp, elementwise=False)
        p = jax.tree_util.tree_map(lambda x: jax.numpy.stack([x * k for k in (1.0, -0.5, 2.0)]), self.point())
        for transform in (lambda f: f, jax.grad, jax.hessian):
            batched = jax.vmap(transform(ours), (0, None))
            self.same(batched(p, 2.0), jax.vmap(transform(self.theirs), (0, None))(p, 2.0))
            self.same(jax.jit(batched)(p, 2.0), batched(p, 2.0))
        steps = jax.numpy.linspace(0.5, 1.0, 4)
        found = jax.lax.map(lambda s: ours(self.point(), s), steps)
        self.same(found, jax.vmap(lambda s: self.theirs(self.point(), s))(steps))

    def test_structures_of_arrays_come_out(self):
        jnp = self.jax.numpy
        v, m = jnp.array([1.0, 2.0]), jnp.array([[3.0, 4.0], [5.0, 6.0]])
        ours = to_jax(several, elementwise=False)
        want = {"product": m @ v, "first": v[0] * m[1, 0], "list": [v[1], jnp.asarray(2.0)]}
        self.same(ours(v, m), want)
        self.same(self.jax.jacrev(ours)(v, m)["product"], m)
        self.same(self.jax.jacfwd(ours, 1)(v, m)["first"], jnp.array([[0.0, 0.0], [1.0, 0.0]]))

    def test_trees_element_by_element(self):
        jnp = self.jax.numpy
        found = to_jax(lambda p: p["a"] * p["b"][0])({"a": jnp.arange(3.0), "b": [2.0]})
        assert found.tolist() == [0.0, 2.0, 4.0]

    def test_a_call_is_an_op_of_xla_and_no_callback(self):
        jax, ours = self.jax, to_jax(logp, elementwise=False)
        text = jax.jit(jax.grad(ours)).lower(self.point(), 2.0).as_text()
        assert "micrograd_rows" in text
        assert "callback" not in text

    def test_values_that_are_captured_are_read_in_each_call(self):
        w = Value(2.0)
        f = self.jax.jit(to_jax(lambda x: w * x))
        first = f(3.0)
        w.data = 5.0
        assert [float(first), float(f(3.0))] == [6.0, 15.0]

    def test_what_is_read_from_outside_is_that_of_now_when_jax_traces(self):
        scale = [2.0]
        f = to_jax(lambda x: x * scale[0])
        first = f(3.0)
        scale[0] = 5.0
        assert [float(first), float(f(3.0))] == [6.0, 15.0]

    def test_paths_that_are_compiled_one_by_one(self):
        def f(x):
            print(end="")
            return x * x if x > 0.0 else -3.0 * x

        ours = self.jax.jit(self.jax.vmap(self.jax.value_and_grad(to_jax(f))))
        values, slopes = ours(self.jax.numpy.array([2.0, -1.0, 3.0]))
        assert (values.tolist(), slopes.tolist()) == ([4.0, 3.0, 9.0], [4.0, -3.0, 6.0])

    @pytest.mark.parametrize("rows", [0, 1, 5000])
    def test_no_row_one_row_and_many(self, rows):
        x = self.jax.numpy.linspace(0.0, 1.0, rows)
        wave = to_jax(lambda x, y: math.sin(x) * y)
        assert np.asarray(wave(x, 2.0)) == pytest.approx(2.0 * np.sin(np.asarray(x)), rel=1e-14)
        assert np.asarray(self.jax.jit(self.jax.vmap(self.jax.grad(wave)))(x, x)) == pytest.approx(
            np.cos(np.asarray(x)) * np.asarray(x), rel=1e-13
        )

    def test_single_precision(self):
        self.jax.config.update("jax_enable_x64", False)
        x = self.jax.numpy.linspace(0.0, 1.0, 3000)
        found = self.jax.jit(to_jax(lambda x: math.exp(x)))(x)
        assert found.dtype == np.float32
        assert np.asarray(found) == pytest.approx(np.exp(np.asarray(x)), rel=1e-6)

    def test_a_program_outlives_the_bridge(self):
        import gc

        f = self.jax.jit(lambda x: to_jax(lambda y: y * 3.0)(x))
        assert float(f(2.0)) == 6.0
        gc.collect()
        assert float(f(4.0)) == 12.0

    def test_it_is_pickled_and_refuses_values_inside(self):
        again = pickle.loads(pickle.dumps(to_jax(logp, elementwise=False)))
        self.same(again(self.point(), 2.0), self.theirs(self.point(), 2.0))
        with pytest.raises(TypeError, match="an argument is a Value"):
            again({**self.point(), "s": Value(1.0)}, 2.0)

    @pytest.mark.slow
    def test_blackjax_and_numpyro_sample_a_plain_log_density(self):
        blackjax, jax = pytest.importorskip("blackjax"), self.jax
        density = to_jax(lambda p: -0.5 * ((p["a"] - 1.0) / 2.0) ** 2 - 0.5 * (p["b"] + 3.0) ** 2, elementwise=False)
        kernel = blackjax.nuts(density, step_size=0.7, inverse_mass_matrix=np.array([4.0, 1.0]))
        state = kernel.init({"a": jax.numpy.asarray(0.0), "b": jax.numpy.asarray(0.0)})

        def step(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position

        _, found = jax.lax.scan(step, state, jax.random.split(jax.random.key(0), 3000))
        a, b = [np.asarray(found[name])[200:] for name in "ab"]
        assert (a.mean(), a.std(), b.mean(), b.std()) == pytest.approx((1.0, 2.0, -3.0, 1.0), abs=0.2)
        infer = pytest.importorskip("numpyro.infer")
        mcmc = infer.MCMC(
            infer.NUTS(potential_fn=lambda p: -density(p)), num_warmup=500, num_samples=2000, progress_bar=False
        )
        mcmc.run(jax.random.PRNGKey(1), init_params={"a": jax.numpy.asarray(0.0), "b": jax.numpy.asarray(0.0)})
        a = np.asarray(mcmc.get_samples()["a"])
        assert (a.mean(), a.std()) == pytest.approx((1.0, 2.0), abs=0.2)


class TestTorch:
    @pytest.fixture(autouse=True)
    def package(self):
        self.torch = pytest.importorskip("torch")

    def theirs(self, p, scale):
        arms = -(self.torch.exp(p["m"][:, 0]) * p["m"][:, 1]).sum() if p["s"] > 0.0 else p["m"][:, 0].sum()
        return -0.5 * (p["x"] @ p["x"]) * scale + arms - p["s"] ** 2

    def point(self, sign):
        return {
            k: (self.torch.tensor(x, dtype=self.torch.float64) * (sign if k == "s" else 1.0)).requires_grad_()
            for k, x in POINT.items()
        }

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_values_and_gradients(self, sign):
        found, want, ours = self.point(sign), self.point(sign), to_torch(logp, elementwise=False)
        ours(found, 2.0).backward()
        self.theirs(want, 2.0).backward()
        assert ours(found, 2.0).item() == pytest.approx(self.theirs(want, 2.0).item())
        for k in POINT:
            assert found[k].grad.numpy() == pytest.approx(want[k].grad.numpy(), rel=1e-13)

    @pytest.mark.filterwarnings(
        "ignore:.*torch.jit.script:DeprecationWarning"
    )  # of PyTorch's own, at its first Hessian
    def test_second_derivatives_and_batches(self):
        func, ours = self.torch.func, to_torch(lambda x: math.sin(x[0]) * x[1] ** 2, elementwise=False)
        x = self.torch.tensor([[0.5, 2.0], [1.0, -1.0]], dtype=self.torch.float64)
        theirs = lambda x: self.torch.sin(x[0]) * x[1] ** 2  # noqa: E731
        assert func.hessian(ours)(x[0]).numpy() == pytest.approx(func.hessian(theirs)(x[0]).numpy(), rel=1e-13)
        assert func.vmap(func.grad(ours))(x).numpy() == pytest.approx(
            func.vmap(func.grad(theirs))(x).numpy(), rel=1e-13
        )

    def test_structures_of_tensors_come_out(self):
        v = self.torch.tensor([1.0, 2.0], dtype=self.torch.float64)
        m = self.torch.tensor([[3.0, 4.0], [5.0, 6.0]], dtype=self.torch.float64)
        found = to_torch(several, elementwise=False)(v, m)
        assert found["product"].tolist() == [11.0, 17.0]
        assert [found["first"].item(), found["list"][0].item(), found["list"][1].item()] == [5.0, 2.0, 2.0]

    def test_trees_element_by_element(self):
        found = to_torch(lambda p: p["a"] * p["b"][0])({"a": self.torch.arange(3.0), "b": [2.0]})
        assert found.tolist() == [0.0, 2.0, 4.0]


@pytest.mark.slow
def test_emcee_samples_with_rows():
    from micrograd import vmap

    emcee = pytest.importorskip("emcee")
    density = vmap(lambda x: -0.5 * ((x[0] - 1.0) / 2.0) ** 2 - 0.5 * (x[1] + 3.0) ** 2, in_axes=(0,))
    sampler = emcee.EnsembleSampler(20, 2, lambda x: density([x[:, 0].copy(), x[:, 1].copy()]), vectorize=True)
    np.random.seed(0)
    sampler.run_mcmc(np.random.default_rng(0).normal(size=(20, 2)), 2000)
    found = sampler.get_chain(discard=200, flat=True)
    assert (*found.mean(axis=0), *found.std(axis=0)) == pytest.approx((1.0, -3.0, 2.0, 1.0), abs=0.25)
