// The page of a lesson that is being written: it loads itself again when the file was saved, at the same step.

const PAUSE = 600; // ms between two questions to the server
const REST = 4000; // ms until the next one, where nobody answers

/** @param {number} version of the lesson that this page shows */
export function reloadWhenSaved(version) {
  const ask = async () => {
    let pause = PAUSE;
    try {
      const answer = await fetch("/version");
      if (answer.ok && (await answer.json()).version !== version) return location.reload();
    } catch {
      pause = REST; // the server was ended: the page stays as it is
    }
    setTimeout(ask, pause);
  };
  setTimeout(ask, PAUSE);
}
