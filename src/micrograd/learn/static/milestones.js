// The end of a chapter, and of the course: what the learner can do now, how long it took, what comes next, and what to show.
import { button, h, put } from "./dom.js";
import { sharedPicture } from "./moons.js";
import { prose } from "./tasks.js";
import { t } from "./texts.js";

/**
 * @typedef {{title: string, seconds: number, asked: number, clean: number, done: boolean}} Facts
 * @param {{chapter: any, facts: Facts, all: Facts[] | null,
 *   next: {title: string, about: string, minutes: number, go: () => void} | undefined,
 *          network: any, workshop: string, back: () => void}} what
 */
export function chapterEnd({ chapter, facts, all, next, network, workshop, back }) {
  const minutes = (seconds) => String(Math.max(1, Math.round(seconds / 60)));
  const el = h("section", { class: "chapter-end" },
    h("p", { class: "cheer-line", "aria-hidden": "true" }, "★"),
    h("h2", { tabindex: -1 },
      t(all?.every((one) => one.done) ? "course.ends.over" : "course.ends.title", { title: chapter.title })),
    h("p", { class: "end-facts" }, t("course.ends.facts",
      { minutes: minutes(facts.seconds), asked: String(facts.asked), clean: String(facts.clean) })));
  if (all) el.append(certificate(all, minutes));
  if (network) el.append(ownResult(network));
  if (chapter.can.length) {
    el.append(h("h3", {}, t("course.ends.can")), h("ul", { class: "can" }, chapter.can.map((one) => prose(one, "li"))));
  }
  if (chapter.grown) el.append(h("h3", {}, t("course.ends.grown")),
    prose([chapter.fresh, chapter.newcomers.length && t("course.ends.marked"), t("course.ends.grown_about")]
      .filter(Boolean).join(" "), "p"));
  const quiet = button(t("course.back"), back, { class: "quiet", "data-do": "back-step" });
  if (next) {
    el.append(h("div", { class: "next-card" }, h("h3", {}, t("course.ends.next", { title: next.title })),
      h("p", {}, next.about, " ", h("span", { class: "quiet" }, t("course.minutes", { n: String(next.minutes) }))),
      h("div", { class: "row" }, quiet, h("span", { class: "grow" }),
        button(t("course.ends.go"), next.go, { class: "strong next", "data-do": "next-chapter" }))));
  } else {
    el.append(h("p", {}, t("course.ends.after").split("`").map((part, k) => (k % 2 ? h("code", {}, part) : part))),
      workshop ? h("p", {}, h("a", { href: workshop }, t("course.links.workshop"))) : "", quiet);
  }
  return el;
}

/** The page to show at the end of the course. @param {Facts[]} all @param {(seconds: number) => string} minutes */
function certificate(all, minutes) {
  const sum = (of) => all.reduce((total, one) => total + of(one), 0);
  return h("div", { class: "certificate" }, h("p", { class: "certificate-line" }, t("course.ends.all", {
    chapters: String(all.filter((one) => one.done).length), asked: String(sum((one) => one.asked)),
    clean: String(sum((one) => one.clean)),
    minutes: minutes(sum((one) => one.seconds)) })),
  h("ol", { class: "all-chapters" }, all.map((one) =>
    h("li", { class: one.done ? "done" : "" }, h("span", { "aria-hidden": "true" }, one.done ? "✓ " : "○ "),
    one.title, one.done ? h("span", { class: "spoken" }, ` ${t("course.chapter_done")}`) : ""))));
}

/** The network that the learner's engine trained. */
function ownResult({ kept, points, code, link }) {
  const told = h("div", { class: "told", role: "status" }), field = h("input", { type: "text", readonly: true, hidden: true,
    class: "link-field", "aria-label": t("course.moons.link") });
  const share = button(t("course.moons.share"), async () => {
    field.value = await link();
    field.hidden = false;
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      put(told, h("p", { class: "verdict good" }, `✓ ${t("course.moons.copied")}`));
    } catch {
      put(told, h("p", { class: "quiet" }, t("course.moons.copy")));
    }
  }, { "data-do": "own-share" });
  return h("div", { class: "own-result" }, h("h3", {}, t("course.moons.title")), sharedPicture({ ...kept, code }, points),
    h("div", { class: "row wrap" }, share, field), told);
}
