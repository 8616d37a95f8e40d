// Python in a thread of the page, which can be stopped: code without an end does not block the page.
//
//   const python = createPython({ worker: "worker.mjs", wheel: "micrograd_next-….whl", seconds: 60 });
//   python.warm();                                       // begin to load it; the first check does so by itself
//   const reply = await python.ask({ name, files });     // { verdict }, { error }, or { stopped: true } after so many seconds

/** @param {{worker: string, wheel: string, seconds: number}} options */
export function createPython({ worker: address, wheel, seconds }) {
  /** @type {Worker | null} */
  let worker = null;
  let serial = 0, isReady = false;

  function thread() {
    if (!worker) {
      worker = new Worker(address, { type: "module" });
      worker.addEventListener("message", ({ data }) => { isReady ||= Boolean(data.ready); });
    }
    return worker;
  }
  function stop() {
    worker?.terminate();
    worker = null;
    isReady = false;
  }
  /** @param {any} question what the worker understands, beside `id` and `wheel` @returns {Promise<any>} */
  function ask(question) {
    const id = ++serial;
    /** @type {Worker} */
    let mine;
    try {
      mine = thread();
    } catch {
      return Promise.resolve({ error: "" }); // a page that was opened as a file has no workers
    }
    return new Promise((done) => {
      let timer = 0;
      const end = (reply) => {
        clearTimeout(timer);
        mine.removeEventListener("message", hear);
        mine.removeEventListener("error", fail);
        done(reply);
      };
      const late = () => {
        stop();
        end({ stopped: true });
      };
      const fail = () => {
        stop();
        end({ error: "" });
      };
      const hear = ({ data }) => {
        if (data.id !== id) return;
        if (data.ready) timer = Number(setTimeout(late, seconds * 1000)); // the time of the code, not of loading Python
        else end(data);
      };
      mine.addEventListener("message", hear);
      mine.addEventListener("error", fail);
      mine.postMessage({ ...question, id, wheel });
    });
  }
  return {
    ask,
    /** Begin to load Python. */
    warm() {
      try {
        if (!worker) thread().postMessage({ id: ++serial, wheel });
      } catch {
        // a page that was opened as a file has no workers: the first question says so
      }
    },
    get ready() {
      return isReady;
    },
    stop,
  };
}
