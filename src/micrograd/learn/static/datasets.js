// The data sets of the playground: points in the plane, made from a seed, so that a link gives the same points everywhere.
import { readFormula } from "./formula.js";
import { drawsFrom, inDrawnOrder } from "./draws.js";

/**
 * `classes` is how many classes there are (0: the targets are numbers), `make` gives point k of n as [x0, x1, target]
 * before the noise, `noise` the standard deviation at 100 %.
 * @typedef {{classes: number, noise: number, make: (k: number, n: number, random: () => number, f: (x: number) => number)
 *            => number[]}} DataSet
 */

const TURN = 2 * Math.PI;
const within = (random, low, high) => low + (high - low) * random();

/** @type {Record<string, DataSet>} */
export const DATA_SETS = {
  moons: {
    classes: 2,
    noise: 0.5,
    make(k, n) {
      const a = (Math.PI * Math.floor(k / 2)) / Math.max(1, Math.floor((n - 1) / 2));
      return k % 2 ? [0.5 - Math.cos(a), 0.25 - Math.sin(a), 1] : [Math.cos(a) - 0.5, Math.sin(a) - 0.25, -1];
    },
  },
  circles: {
    classes: 2,
    noise: 0.4,
    make(k, n, random) {
      const r = k % 2 ? within(random, 0, 0.5) : within(random, 0.8, 1.1), a = within(random, 0, TURN);
      return [r * Math.cos(a), r * Math.sin(a), k % 2 ? 1 : -1];
    },
  },
  xor: {
    classes: 2,
    noise: 0.5,
    make(k, n, random) {
      const sign = [[1, 1], [-1, 1], [-1, -1], [1, -1]][k % 4];
      const [a, b] = sign.map((one) => one * within(random, 0.1, 1));
      return [a, b, a * b > 0 ? 1 : -1];
    },
  },
  spirals: {
    classes: 2,
    noise: 0.25,
    make(k, n) {
      const along = (Math.floor(k / 2) + 1) / Math.max(1, Math.floor((n + 1) / 2)), a = TURN * (1.25 * along + (k % 2) / 2);
      return [1.1 * along * Math.sin(a), 1.1 * along * Math.cos(a), k % 2 ? 1 : -1];
    },
  },
  blobs: {
    classes: 3,
    noise: 0.9,
    make: (k) => [0.9 * Math.cos((TURN * k) / 3 + 0.5), 0.9 * Math.sin((TURN * k) / 3 + 0.5), k % 3],
  },
  above: {
    classes: 2,
    noise: 0.5,
    make(k, n, random, f) {
      const a = within(random, -1.1, 1.1), b = within(random, -1.1, 1.1);
      return [a, b, b > f(a) ? 1 : -1];
    },
  },
  plane: {
    classes: 0,
    noise: 0.6,
    make(k, n, random) {
      const a = within(random, -1, 1), b = within(random, -1, 1);
      return [a, b, (a + b) / 2];
    },
  },
  hills: {
    classes: 0,
    noise: 0.5,
    make(k, n, random) {
      const a = within(random, -1, 1), b = within(random, -1, 1);
      const bell = (x, y) => Math.exp(-8 * ((a - x) ** 2 + (b - y) ** 2));
      return [a, b, bell(-0.5, 0.5) + bell(0.5, -0.5) - bell(0.5, 0.5) - bell(-0.5, -0.5)];
    },
  },
};

/** A draw from the bell curve. @param {() => number} random */
function bellFrom(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(TURN * random());
}

/**
 * The points of a setting: those to learn from and those kept back, each [[x0, x1], target]; and how many classes there are.
 * @param {{data: string, n: number, noise: number, seed: number, test: number, f: string, own: number[][]}} setting
 * @returns {{points: any[], tests: any[], classes: number}}
 */
export function makeData({ data, n, noise, seed, test, f, own }) {
  const random = drawsFrom(seed), known = DATA_SETS[data];
  let rows = own, { classes } = known ?? { classes: classesOf(own) };
  if (known) {
    const formula = readFormula(data === "above" ? f : "0").f;
    rows = Array.from({ length: n }, (_, k) => {
      const [a, b, y] = known.make(k, n, random, formula), wide = (known.noise * noise) / 100;
      const shifted = [a + wide * bellFrom(random), b + wide * bellFrom(random)];
      return classes ? [...shifted, y] : [a, b, y + wide * bellFrom(random)];
    });
  }
  const points = inDrawnOrder(rows, drawsFrom(seed + 1)).map(([a, b, y]) => [[a, b], y]);
  const kept = Math.min(points.length - 1, Math.round((points.length * test) / 100));
  return { points: points.slice(kept), tests: points.slice(0, Math.max(0, kept)), classes };
}

/** How many classes the targets of own points stand for: −1 and 1 are two, 0 to k − 1 are k (3 at least), others
 * are numbers.
 * @param {number[][]} rows */
export function classesOf(rows) {
  const kinds = [...new Set(rows.map((row) => row[2]))].sort((a, b) => a - b);
  if (kinds.every((y) => y === -1 || y === 1)) return 2;
  return kinds.length <= 6 && kinds.every((y) => Number.isInteger(y) && y >= 0 && y < 6) ? Math.max(3,
    kinds[kinds.length - 1] + 1) : 0;
}

/**
 * Read pasted rows: two columns of numbers and a third with a class or a number; a first row without numbers is a heading.
 * Both inputs are moved and scaled into −1 … 1; up to six different words or whole numbers are classes.
 * @param {string} pasted @returns {{rows: number[][], problem: string, line: number}}
 */
export function readRows(pasted) {
  const lines = pasted.split(/\r?\n/).map((line, k) => ({ cells: line.split(/\s*[,;\t]\s*/).map((cell) => cell.trim()), k }));
  const full = lines.filter(({ cells }) => cells.some((cell) => cell !== ""));
  const number = (cell) => (cell === "" ? NaN : Number(cell));
  if (full.length && !full[0].cells.slice(0, 2).every((cell) => Number.isFinite(number(cell)))) full.shift();
  const bad = full.find(({ cells }) => cells.length < 3
    || !Number.isFinite(number(cells[0])) || !Number.isFinite(number(cells[1])) || !cells[2]);
  if (bad) return { rows: [], problem: "theatre.playground.csv_line", line: bad.k + 1 };
  if (full.length < 2) return { rows: [], problem: "theatre.playground.csv_short", line: 0 };
  if (full.length > 1000) return { rows: [], problem: "theatre.playground.csv_long", line: 0 };
  const words = [...new Set(full.map(({ cells }) => cells[2]))].sort((a, b) => number(a) - number(b) || (a < b ? -1 : 1));
  const numbers = words.every((word) => Number.isFinite(number(word)));
  const classes = words.length <= 6 && words.every((word) => !numbers || Number.isInteger(number(word)));
  if (!classes && !numbers) return { rows: [], problem: "theatre.playground.csv_classes", line: 0 };
  if (words.length < 2) return { rows: [], problem: "theatre.playground.csv_one", line: 0 };
  const columns = [0, 1].map((i) => full.map(({ cells }) => number(cells[i])));
  const spans = columns.map((column) => [Math.min(...column), Math.max(...column)]);
  const scaled = (x, [low, high]) => (high > low ? (2 * (x - low)) / (high - low) - 1 : 0);
  const most = Math.max(...words.map((word) => Math.abs(number(word))));
  const target = (word) => {
    if (!classes) return number(word) / (most || 1);
    return words.length === 2 ? 2 * words.indexOf(word) - 1 : words.indexOf(word);
  };
  const rows = full.map(({ cells }, k) => [scaled(columns[0][k], spans[0]), scaled(columns[1][k], spans[1]),
    target(cells[2])]);
  return { rows, problem: "", line: 0 };
}
