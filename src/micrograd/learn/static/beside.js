// Where a small window stands beside a card: where it covers least of the drawing.

/** @typedef {{x: number, y: number, w: number, h: number}} Area */

/** What two rectangles share. @param {Area} a @param {Area} b */
function shared(a, b) {
  return Math.max(0, Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x))
    * Math.max(0, Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y));
}

/**
 * The best place and its cost, in px²: of a card that it covers (ten times for its own), and 400 for each bend of an edge.
 * @param {Area} card @param {Area[]} cards @param {Area[]} bends @param {{w: number, h: number}} size
 * @param {{width: number, height: number}} room
 */
export function besideCard(card, cards, bends, { w, h }, room) {
  const [cx, cy] = [card.x + card.w / 2, card.y + card.h / 2];
  const [right, left, low, high] = [card.x + card.w + 10, card.x - w - 10, card.y + card.h + 10, card.y - h - 10];
  const places = [[right, cy - h / 2], [left, cy - h / 2], [cx - w / 2, low], [cx - w / 2, high],
    ...[right, left].flatMap((x) => [[x, card.y], [x, card.y + card.h - h]])];
  return places.map(([wx, wy]) => {
    const x = Math.max(4, Math.min(wx, room.width - w - 4)), y = Math.max(4, Math.min(wy, room.height - h - 4));
    const mine = { x, y, w, h }, bent = bends.filter((at) => at.x > x && at.x < x + w && at.y > y && at.y < y + h);
    const covers = cards.reduce((sum, one) => sum + shared(one, mine), 10 * shared(card, mine)) + 400 * bent.length;
    return { x, y, cost: covers + Math.hypot(x - wx, y - wy) };
  }).reduce((best, one) => (one.cost < best.cost ? one : best));
}
