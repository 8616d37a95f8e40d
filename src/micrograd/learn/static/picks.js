// A choice that is made in the picture: a node, or a way in which it moves, is a button where the node is drawn.
import { besideCard } from "./beside.js";
import { button, h, put } from "./dom.js";
import { t } from "./texts.js";

const WAY_SIGNS = { up: "▲", down: "▼", still: "=" };
const PICK_SIDE = 30; // px of a button for a way

/**
 * @typedef {{node: string, way: string}} Target   way: up, down or still; "" for the node itself
 * @typedef {{targets: Target[], question: any, act: (k: number) => void}} Picks   act: what follows a choice
 * @typedef {{x: number, y: number, w: number, h: number}} Area
 */

/** What a target is called. @param {Target} target */
export function targetName({ node, way }) {
  return way ? t(`course.ways.${way}`, { name: node }) : node;
}

/** The layer over a drawing that has the buttons, and what is said to a choice, beside its node. */
export function pickLayer() {
  const told = h("div", { role: "status", "aria-live": "polite", class: "told" });
  const asks = h("div", { class: "asks" }), reply = h("section", { class: "pick-reply" }, asks, told);
  const el = h("div", { class: "picks", role: "group", hidden: true });
  /** @type {Picks | null} */
  let picks = null;
  let buttons = [], last = -1;

  return {
    el, reply,
    get open() {
      return picks !== null;
    },
    /** Offer a choice; null takes it away. @param {Picks | null} offered */
    set(offered) {
      [picks, last] = [offered, -1];
      el.hidden = !offered;
      reply.className = offered ? "pick-reply open" : "pick-reply";
      buttons = (offered?.targets ?? []).map((target, k) => button(WAY_SIGNS[target.way] ?? "",
        () => { last = k; offered?.act(k); },
        { class: `pick ${target.way || "whole"}`, "data-pick": `${target.node} ${target.way}`.trim(),
          "aria-label": targetName(target), title: targetName(target) }));
      put(el, buttons);
      put(told);
      if (offered) el.setAttribute("aria-label", t("course.choices"));
      put(asks, offered?.question?.cloneNode(true));
    },
    /** Say something to the choice that was made. @param {...any} what */
    say(...what) {
      put(told, ...what);
      reply.classList.add("said");
    },
    focus: () => buttons[0]?.focus(),
    /** Put all of it where the nodes are. @param {(name: string) => Area | null} find @param {Area[]} cards
     * @param {Area[]} bends @param {{width: number, height: number}} room */
    place(find, cards, bends, room) {
      picks?.targets.forEach(({ node, way }, k) => {
        const at = find(node), one = buttons[k];
        one.hidden = !at;
        if (!at) return;
        const middle = at.x + at.w / 2 - PICK_SIDE / 2;
        const area = { up: [middle, at.y - PICK_SIDE * 0.6], down: [middle, at.y + at.h - PICK_SIDE * 0.4],
          still: [at.x + at.w - PICK_SIDE * 0.4, at.y + at.h / 2 - PICK_SIDE / 2] }[way] ?? [at.x - 3, at.y - 3];
        const [w, tall] = way ? [PICK_SIDE, PICK_SIDE] : [at.w + 6, at.h + 6];
        Object.assign(one.style, { left: `${Math.max(0, Math.min(area[0], room.width - w))}px`,
          top: `${Math.max(0, Math.min(area[1], room.height - tall))}px`, width: `${w}px`, height: `${tall}px` });
      });
      const at = picks && last >= 0 ? find(picks.targets[last].node) : null;
      if (!at || !reply.classList.contains("said")) return;
      const best = besideCard(at, cards, bends, { w: reply.offsetWidth, h: reply.offsetHeight }, room);
      Object.assign(reply.style, { left: `${best.x}px`, top: `${best.y}px` });
    },
  };
}
