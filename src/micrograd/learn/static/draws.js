// Random numbers that follow from a seed, so that a step that is taken again, and a link, give the same.

/** Numbers from 0 to 1, the same for the same seed. @param {number} seed */
export function drawsFrom(seed) {
  let a = (seed * 2654435761 + 0x9e3779b9) >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let x = Math.imul(a ^ (a >>> 15), 1 | a);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

/** Put a list into another order. @template T @param {T[]} list @param {() => number} random @returns {T[]} */
export function inDrawnOrder(list, random) {
  const order = [...list];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
