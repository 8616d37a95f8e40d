// Run the pure wheel of a folder in Pyodide, under node: `npm ci`, then `node tools/try_pyodide.mjs dist`.
import { readFileSync, readdirSync } from "node:fs";
import { loadPyodide } from "pyodide";

const folder = process.argv[2] ?? "dist";
const wheel = readdirSync(folder).find((name) => name.endsWith("-py3-none-any.whl"));
if (wheel === undefined) throw new Error(`${folder} has no pure wheel: make dist-pure builds one`);
const py = await loadPyodide();
py.unpackArchive(new Uint8Array(readFileSync(`${folder}/${wheel}`)), "whl");
py.runPython(`
import sys, warnings
warnings.simplefilter("error")
from micrograd import Value, draw_dot, explore, export_c, export_text, grad, hessian, import_text, jit, losses, math, nn
from micrograd.engine import NATIVE

assert not NATIVE
a, b = Value(2.0, label="a"), Value(-3.0, label="b")
c = (a * b + a**2).tanh()
c.backward()
assert abs(a.grad - (1.0 - c.data**2) * (b.data + 2.0 * a.data)) < 1e-15
assert abs(grad(grad(lambda x: math.sin(x) * x))(0.5) - 1.515452354478644) < 1e-14
assert hessian(lambda x: x[0] ** 2 * x[1])([2.0, 3.0]) == [[6.0, 4.0], [4.0, 0.0]]
model = nn.MLP(2, [4, 1], rng=0)
losses.mse([model([1.0, 2.0])], [1.0]).backward()
assert any(p.grad for p in model.parameters())
assert jit(lambda x: x * x)(3.0) == 9.0
assert import_text(export_text(lambda x: math.exp(x) * 2.0, 1.0))(0.0) == 2.0
assert "double" in export_c(lambda x: x * x, 1.0)
assert "<svg" in draw_dot(c)._repr_mimebundle_()["image/svg+xml"]
assert explore(c) is not None
print("Pyodide, Python", sys.version.split()[0], "on", sys.platform, "- the pure wheel works")
`);
