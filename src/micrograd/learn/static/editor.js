// A field for Python: CodeMirror 6 with line numbers, colours, indentation and brackets, in the look of the page.
//
//   const editor = createEditor({ doc: "def f(x):\n    ...", label: "your file", onChange, onRun });
//   place.append(editor.el);
//
// Tab indents; Escape and then Tab leaves the field. Ctrl+Enter (or Cmd+Enter) calls onRun.
// editor.value is the text; set it to open another one, whose history begins anew. editor.point(line, says) marks a line as
// the one that an error is about, until the text changes; editor.focus() puts the cursor into the field.
import { CodeMirror } from "./codemirror.js";

/**
 * @param {{doc: string, label: string, onChange?: (text: string) => void, onRun?: () => void}} options
 */
export function createEditor({ doc, label, onChange = () => {}, onRun = () => {} }) {
  const { Decoration, EditorState, EditorView, StateEffect, StateField, keymap, tags } = CodeMirror;
  const pointAt = StateEffect.define();
  const pointed = StateField.define({
    create: () => Decoration.none,
    update(marks, change) {
      let found = change.docChanged ? Decoration.none : marks;
      for (const effect of change.effects) {
        if (!effect.is(pointAt)) continue;
        const { line, says } = effect.value ?? {}, { lines } = change.state.doc;
        const look = () => Decoration.line({ class: "cm-pointed", attributes: says ? { title: says } : {} });
        found = line >= 1 && line <= lines ? Decoration.set([look().range(change.state.doc.line(line).from)]) : Decoration.none;
      }
      return found;
    },
    provide: (field) => EditorView.decorations.from(field),
  });
  const run = () => {
    onRun();
    return true;
  };
  const indent = ({ state, dispatch }) => {
    if (state.selection.ranges.some((range) => !range.empty)) return CodeMirror.indentMore({ state, dispatch });
    const { from } = state.selection.main, column = from - state.doc.lineAt(from).from;
    dispatch(state.update(state.replaceSelection(" ".repeat(4 - (column % 4))), { scrollIntoView: true, userEvent: "input" }));
    return true;
  };
  const colours = CodeMirror.HighlightStyle.define([
    { tag: tags.keyword, color: "var(--ink)", fontWeight: "700" },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
    { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
    { tag: tags.number, color: "var(--data)" },
    { tag: [tags.definition(tags.variableName), tags.className], color: "var(--local)", fontWeight: "600" },
    { tag: [tags.standard(tags.variableName), tags.atom, tags.bool, tags.meta], color: "var(--grad)" },
  ]);
  const look = EditorView.theme({
    "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--card)" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "var(--mono)", fontSize: "14px", lineHeight: "1.55", overflow: "auto" },
    ".cm-content": { caretColor: "var(--ink)", padding: "10px 0" },
    ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--soft)", border: "none" },
    ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--field) 70%, transparent)" },
    ".cm-activeLineGutter": { backgroundColor: "var(--field)", color: "var(--ink)" },
    ".cm-cursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
      background: "color-mix(in srgb, var(--data) 28%, transparent)",
    },
    "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--glow)", outline: "1px solid var(--active)" },
    ".cm-pointed": {
      boxShadow: "inset 4px 0 0 var(--bad)",
      backgroundColor: "color-mix(in srgb, var(--bad) 14%, transparent)",
    },
  });
  /** Where text takes the place of a selection, the editor does it: the browser would keep the look of what was there by
   * styles of its own, which the policy of the page refuses. */
  const replaced = EditorView.domEventHandlers({
    beforeinput(event, view) {
      const words = event.data ?? event.dataTransfer?.getData("text/plain"), chosen = view.root.getSelection();
      const range = event.getTargetRanges?.()[0] ?? (chosen?.rangeCount ? chosen.getRangeAt(0) : null);
      if (event.isComposing || !words || !range || range.collapsed || !event.cancelable) return false;
      const ends = [[range.startContainer, range.startOffset], [range.endContainer, range.endOffset]];
      const [from, to] = ends.map(([node, offset]) => view.posAtDOM(node, offset)).sort((a, b) => a - b);
      view.dispatch({ changes: { from, to, insert: words }, selection: { anchor: from + words.length }, userEvent: "input.type",
        scrollIntoView: true });
      event.preventDefault();
      return true;
    },
  });
  const extensions = [
    CodeMirror.lineNumbers(), CodeMirror.highlightActiveLine(), CodeMirror.drawSelection(), CodeMirror.history(),
    CodeMirror.indentOnInput(), CodeMirror.bracketMatching(), CodeMirror.indentUnit.of("    "), EditorState.tabSize.of(4),
    CodeMirror.StreamLanguage.define(CodeMirror.python), CodeMirror.syntaxHighlighting(colours), look, pointed, replaced,
    EditorView.contentAttributes.of({ ...plainText(), tabindex: "0", "aria-label": label, spellcheck: "false",
      autocapitalize: "off" }),
    EditorView.updateListener.of((change) => { if (change.docChanged) onChange(change.state.doc.toString()); }),
    keymap.of([{ key: "Mod-Enter", run }, { key: "Tab", run: indent, shift: CodeMirror.indentLess },
      ...CodeMirror.defaultKeymap, ...CodeMirror.historyKeymap]),
  ];
  const begin = (text) => EditorState.create({ doc: text, extensions });
  const view = new EditorView({ state: begin(doc) });
  view.dom.classList.add("code-editor");
  view.dom.dir = "ltr";
  return {
    el: view.dom,
    get value() {
      return view.state.doc.toString();
    },
    set value(text) {
      view.setState(begin(text));
    },
    /** @param {number} line from 1; 0 for none @param {string} [says] */
    point(line, says = "") {
      view.dispatch({ effects: pointAt.of({ line, says }) });
    },
    focus: () => view.focus(),
    /** @param {string} text with which the selection is replaced */
    insert(text) {
      view.dispatch(view.state.replaceSelection(text));
    },
    destroy: () => view.destroy(),
  };
}

/** Text alone, where the browser can: it would put styles around what is typed, which the policy of the page refuses. */
function plainText() {
  try {
    document.createElement("div").contentEditable = "plaintext-only";
    return { contenteditable: "plaintext-only" };
  } catch {
    return {};
  }
}
