// The questions of a lesson: on the stage (a gradient, a value, a contribution, an order, a goal), or beside the text (a
// number, a choice). Each says when it is solved, and whether there was a wrong try.
import { button, h, onEnter, put, unique, verdict } from "./dom.js";
import { diagnose } from "./diagnose.js";
import { movable } from "./orders.js";
import { isCut, near } from "./judge.js";
import { parseNumber, show } from "./numbers.js";
import { targetName } from "./picks.js";
import { compareOrder } from "./stage.js";
import { t } from "./texts.js";
import { writing } from "./writing.js";

/**
 * A question as Python sends it.
 * @typedef {{kind: string, question: string, node?: string, source?: string, answer?: number, why: string, hint: string,
 *            wrong: [number, string][], choices?: [boolean, string, string, any?][],
 *            goal?: [string, string, number, number]}} Task   the last of a choice: its place in the picture (picks.js)
 * @typedef {{stage: any, task: Task, solved: boolean, onSolved: (clean: boolean) => void, code?: any}} Host   code: the
 *          learner's engine (see course.js)
 */

const WRONG_TRIES = 2; // wrong tries after which the answer is offered

/** @param {string} markup made by markdown.py, which escapes everything */
export function prose(markup, tag = "div", props = {}) {
  const el = h(tag, props);
  el.innerHTML = markup;
  return el;
}

/** @param {Host} host */
export function taskCard(host) {
  const { stage, task } = host, { session } = stage;
  const told = h("div", { role: "status", "aria-live": "polite", class: "told" }), body = h("div", {});
  const sign = h("span", { class: "tick", "aria-hidden": "true" }), pictured = Boolean(task.choices?.[0][3]);
  const kind = task.goal && !task.node ? "train" : pictured ? "pick" : task.kind;
  const look = pictured ? "pick" : task.kind;
  const el = h("div", { class: "task", role: "group", "data-kind": look, "aria-label": t("course.question") },
    h("div", { class: "task-head" }, sign, h("span", { class: "quiet small" }, t(`course.kinds.${kind}`))),
    task.question ? prose(task.question, "div", { class: "asks" }) : "", body, told);
  const onTheStage = pictured || ["gradient", "data", "contribution"].includes(task.kind); // there the stage offers the answer
  let tries = 0, done = host.solved;

  function solve(text = task.why) {
    done = true;
    paint();
    put(told, text ? said(true, text) : "");
    host.onSolved(tries === 0);
  }
  /** @param {string} text @param {string} [key] */
  function miss(text, key = "") {
    tries += 1;
    const offer = tries >= WRONG_TRIES && !onTheStage;
    put(told, said(false, text, key), offer && button(t("page.show_me"), () => give(), { class: "quiet", "data-do": "give" }));
  }
  /** The learner gives up: the answer is shown, and the question will come back. */
  function give(wanted = task.answer) {
    tries = Math.max(tries, 1);
    if (task.kind === "order") compareOrder(session, "reverse");
    if (session.state.question?.task === task) stage.show({ question: null });
    if (task.kind === "write") return live.give();
    const chosen = task.choices?.find(([good]) => good);
    const right = chosen?.[3] ? escaped(targetName(chosen[3]))
      : chosen?.[1] ?? (Number.isFinite(wanted) ? show(Number(wanted)) : "");
    solve(`<p>${t("course.the_answer")} <strong>${right}</strong></p>${task.why}`);
  }
  function paint() {
    el.classList.toggle("done", done);
    if (done) el.classList.remove("at-picture");
    sign.textContent = done ? "✓" : "?";
  }
  const kinds = { gradient: onStage, data: onStage, contribution: onStage, number: numeric,
    choice: pictured ? chosenInPicture : choice, goal, order, write: writing };
  const missed = () => { tries += 1; };
  const live = kinds[task.kind]({ stage, session, task, body, told, solve, miss, missed, give,
    isDone: () => done, code: host.code });
  paint();
  if (done) put(told, task.why ? said(true, task.why) : "");
  body.hidden = done && !["write", "goal", "choice"].includes(look); // a question that was answered before has no field
  return {
    el,
    get done() {
      return done;
    },
    /** The learner is at this question now. */
    open: () => {
      if (done) return;
      el.classList.toggle("at-picture", onTheStage); // where there is no room for both, the question stands there alone
      live.open?.();
    },
    close: () => live.close?.(),
  };
}

/** A text as markup. @param {string} text */
export function escaped(text) {
  return h("p", {}, text).innerHTML;
}

/** What is said to an answer, with its markup. @param {boolean} good @param {string} text @param {string} [key] */
function said(good, text, key = "") {
  const el = h("div", { class: good ? "verdict good" : "verdict bad", "data-misconception": key });
  el.append(h("span", { class: "sign-word", "aria-hidden": "true" }, good ? "✓ " : "✗ "), prose(text));
  return el;
}

/** A gradient, a value or a contribution: the question stands on the stage. */
function onStage({ stage, session, task, body, solve, missed, give, isDone }) {
  const go = button(t("course.on_stage"), () => {
    open();
    stage.el.querySelector(".ask input, .ask button")?.focus();
    stage.el.querySelector(".ask")?.scrollIntoView({ block: "nearest" });
  }, { class: "small", "data-do": "on-stage" });
  put(body, go);
  stage.on("answer", (answer) => {
    if (isDone() || answer.task !== task || (answer.asked === "sign" && answer.right)) return;
    if (!answer.right && answer.asked !== "given") return missed(); // the reply stands at the node
    go.hidden = true;
    if (answer.right) solve();
    else give(answer.wanted);
  });
  function open() {
    if (isDone() || session.state.question?.task === task) return;
    if (task.kind === "contribution") {
      const at = session.find({ into: task.node, from: task.source }) - 1;
      session.store.set({ frontier: Math.max(session.state.frontier, at) });
      stage.show({ step: at, question: { kind: "contribution", task } });
      return;
    }
    const plain = (markup) => prose(markup).textContent;
    const find = (x, wanted) => {
      const listed = task.wrong.find(([number]) => near(x, number));
      if (listed) return ["listed", plain(listed[1])];
      if (task.kind === "data") return ["", plain(task.hint) || t("course.step_forward")];
      const { graph, numbers } = session.state, node = graph.nodes.find((one) => one.name === task.node);
      const { key, text } = diagnose(graph, numbers, node.id, wanted, x);
      return [key, key || !task.hint ? text : plain(task.hint)];
    };
    stage.show({ question: { kind: task.kind, node: task.node, text: plain(task.question), why: plain(task.why), find, task,
      patience: WRONG_TRIES } });
    stage.api.look(task.node);
  }
  return { open };
}

/** A number beside the text. */
function numeric({ task, body, solve, miss, told }) {
  const act = () => {
    const x = parseNumber(field.value);
    if (x === null) return put(told, said(false, t("page.number_needed")));
    if (near(x, task.answer)) {
      field.disabled = check.disabled = true;
      return solve();
    }
    const listed = task.wrong.find(([number]) => near(x, number));
    const hint = near(-x, task.answer) ? t("ideas.sign.text") : task.hint || t("course.think_again");
    miss(listed?.[1] ?? hint, listed ? "listed" : "");
    field.select();
  };
  const props = { type: "text", inputmode: "decimal", size: 9, "aria-label": t("course.your_number") };
  const field = h("input", { ...props, onkeydown: onEnter(act) });
  const check = button(t("page.check"), act, { class: "strong", "data-do": "check" });
  put(body, h("div", { class: "row" }, field, check,
    isCut(Number(task.answer)) && h("span", { class: "quiet small" }, t("page.digits"))));
  return {};
}

/** One of several answers. Arrow keys only move among them: there, Enter or the space bar gives the answer. */
function choice({ task, body, told, solve, miss, isDone }) {
  const group = unique("choice");
  let moved = false;
  const rows = task.choices.map(([right, text, reply]) => {
    const act = () => {
      moved = false;
      if (!right) return miss(reply);
      for (const input of body.querySelectorAll("input")) input.disabled = true;
      solve(reply || task.why);
    };
    const onkeydown = (event) => {
      if (event.key.startsWith("Arrow")) moved = true;
      else if (event.key === "Enter" || (event.key === " " && event.target.checked)) {
        event.preventDefault();
        event.target.checked = true;
        act();
      } else moved = false;
    };
    const onchange = () => (moved ? put(told, h("p", { class: "quiet small" }, t("course.press_enter"))) : act());
    const props = { type: "radio", name: group, onchange, onkeydown };
    if (isDone()) Object.assign(props, { disabled: true, checked: right });
    return h("label", { class: "choice", onpointerdown: () => { moved = false; } }, h("input", props), prose(text, "span"));
  });
  put(body, h("div", { class: "choices", role: "radiogroup", "aria-label": t("course.choices") }, rows));
  return {};
}

/** One of several nodes, or of the ways in which nodes move: chosen in the picture, where the reply stands too. */
function chosenInPicture({ stage, task, body, solve, missed, give, isDone }) {
  let tries = 0, armed = false;
  const go = inPicture(stage, () => stage.api.focusPicks());
  put(body, go);
  const close = () => {
    if (armed) stage.api.offer(null);
    armed = false;
  };
  function act(k) {
    const [right, , reply, { node }] = task.choices[k];
    if (isDone()) return;
    if (right) {
      finish();
      return solve(reply || task.why);
    }
    tries += 1;
    missed();
    stage.api.bounce(node);
    const up = () => { finish(); give(); };
    stage.api.reply(said(false, reply), tries >= WRONG_TRIES
      && button(t("page.show_me"), up, { class: "quiet", "data-do": "give" }));
  }
  function finish() {
    go.hidden = true;
    close();
  }
  return {
    open: () => {
      armed = true;
      stage.api.offer({ targets: task.choices.map((one) => one[3]), act, question: prose(task.question) });
    },
    close,
  };
}

/** The way from a question to the picture in which it is answered. @param {any} stage @param {() => void} act */
function inPicture(stage, act) {
  return button(t("course.in_picture"), () => {
    stage.el.scrollIntoView({ block: "nearest" });
    act();
  }, { class: "small", "data-do": "in-picture" });
}

/** Move the leaves, or train the network, until something holds. */
function goal({ stage, session, task, body, solve, isDone }) {
  const now = h("output", { class: "goal-now" }), [what, sign, wanted, within] = task.goal;
  put(body, now);
  const compared = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b };
  let armed = false;
  /** @param {string} name @param {number} got */
  function judgeGoal(name, got) {
    now.textContent = t("course.goal_now", { what: name, x: got,
      sign: sign.replace("<=", "≤").replace(">=", "≥"), wanted });
    const holds = sign in compared ? compared[sign](got, wanted) : Math.abs(got - wanted) <= within + 1e-12;
    if (holds && !isDone()) solve();
  }
  function look() {
    const { graph, numbers } = session.state, node = graph.nodes.find((one) => one.name === task.node);
    if (!armed || !node) return;
    const plain = stage.el.closest(".plain"), slope = t("course.slope_of", { name: task.node });
    judgeGoal(plain ? what === "data" ? String(task.node) : slope : `${task.node}.${what}`,
      what === "data" ? numbers.data[node.id] : session.right()[node.id]);
  }
  if (task.node) stage.listen(() => look());
  else stage.on("trained", (run) => { if (armed) judgeGoal(t(`theatre.${what}`), run[what]); });
  return { open: () => { armed = true; look(); }, close: () => { armed = false; } };
}

/** Put the nodes into an order in which they may pass on their gradients: each is chosen in the picture, by a tap or by
 * Enter, and shows its place there; chosen once more, it is taken out. */
function order({ stage, session, task, body, solve, miss, isDone }) {
  let chosen = [], armed = false;
  const line = h("p", { class: "chosen", "aria-live": "polite" });
  const run = button(t("page.run"), () => {
    compareOrder(session, chosen);
    const { wrong } = session.state.lab;
    if (wrong.first < 0) return solve();
    miss(wrong.reason, "order");
  }, { class: "strong", "data-do": "run" });
  const clear = button(t("page.clear"), () => { chosen = []; session.leaveLab(); paint(); }, { class: "quiet" });
  const go = inPicture(stage, () => stage.el.querySelector(".node[tabindex='0']")?.focus());
  put(body, line, h("div", { class: "row" }, go, run, clear));
  function place(id) {
    if (!armed || isDone() || !movable(session.state.graph).includes(id)) return;
    chosen = chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id];
    if (session.state.lab) session.leaveLab();
    paint();
  }
  function paint() {
    const { graph } = session.state, name = (id) => graph.nodes[id].name;
    line.textContent = chosen.length ? chosen.map((id, k) => `${k + 1}. ${name(id)}`).join("   ") : t("course.tap_nodes");
    line.classList.toggle("quiet", !chosen.length);
    run.disabled = chosen.length === 0;
    clear.hidden = chosen.length === 0;
    go.hidden = chosen.length > 0;
    if (armed) session.store.set({ badges: Object.fromEntries(chosen.map((id, k) => [id, `${k + 1}.`])) });
  }
  stage.on("node", ({ id }) => place(id));
  const close = () => {
    armed = false;
    if (Object.keys(session.state.badges).length) session.store.set({ badges: {} });
  };
  return { open: () => { armed = true; paint(); }, close };
}
