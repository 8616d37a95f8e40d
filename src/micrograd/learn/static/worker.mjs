// Python in the browser: checks the learner's files off the main thread, so that code without an end can be stopped.
import { loadPyodide } from "./pyodide/pyodide.mjs";

let ready = null;

/** @param {string} wheel */
async function start(wheel) {
  const indexURL = new URL("./pyodide/", import.meta.url).href;
  const quiet = () => {};
  const python = await loadPyodide({ indexURL, stdout: quiet, stderr: quiet, env: { MICROGRAD_PURE: "1", HOME: "/home/pyodide" } });
  const reply = await fetch(new URL(wheel, import.meta.url));
  if (!reply.ok) throw new Error(`${wheel}: ${reply.status}`);
  python.unpackArchive(await reply.arrayBuffer(), "wheel");
  python.runPython("from micrograd.learn.workshop.browser import check, check_written\nfrom micrograd.learn.console import run");
  return python;
}

addEventListener("message", async ({ data }) => {
  try {
    ready ??= start(data.wheel);
    const python = await ready;
    postMessage({ id: data.id, ready: true });
    if (data.code !== undefined) postMessage({ id: data.id, ran: JSON.parse(python.globals.get("run")(data.code)) });
    if (data.written) {
      postMessage({ id: data.id, verdict: JSON.parse(python.globals.get("check_written")(JSON.stringify(data.written))) });
    }
    if (data.name) postMessage({ id: data.id, verdict: JSON.parse(python.globals.get("check")(data.name, JSON.stringify(data.files), data.language ?? "en")) });
  } catch (error) {
    postMessage({ id: data.id, error: String(error) });
  }
});
