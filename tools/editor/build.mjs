// Bundle CodeMirror 6 into src/micrograd/learn/static/codemirror.js: `make editor` installs what package-lock.json pins, and
// runs this. The bundle is one expression without imports, so that it can stand in a page whose policy allows no other file.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL(".", import.meta.url);
const target = new URL("../../src/micrograd/learn/static/codemirror.js", here);
const read = (name) => readFileSync(new URL(name, here), "utf8");
const packages = JSON.parse(read("package-lock.json")).packages;

/** The styles of the editor become a constructed style sheet: the policy of the pages allows no style element. */
const constructedStyles = {
  name: "constructed-styles",
  setup({ onLoad }) {
    onLoad({ filter: /style-mod[/\\]src[/\\]style-mod\.js$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8"), wanted = "!root.head && root.adoptedStyleSheets";
      if (!text.includes(wanted)) throw new Error(`${path} has changed: look for how it makes a style sheet`);
      return { contents: text.replace(wanted, "root.adoptedStyleSheets") };
    });
  },
};

const result = await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: ["editor.mjs"],
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "CodeMirror",
  target: "es2020",
  legalComments: "none",
  metafile: true,
  plugins: [constructedStyles],
  write: false,
});
const names = new Set(Object.keys(result.metafile.inputs).map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]));
const rights = new Set();
const used = [...names].filter(Boolean).sort().map((name) => {
  const { version, license } = packages[`node_modules/${name}`];
  if (license !== "MIT") throw new Error(`${name} has the licence ${license}: state it in the bundle`);
  for (const line of read(`node_modules/${name}/LICENSE`).split("\n")) if (line.startsWith("Copyright")) rights.add(line.trim());
  return `${name} ${version}`;
});
const sources = createHash("sha256").update(["package-lock.json", "editor.mjs", "build.mjs"].map(read).join("\0")).digest("hex");
const licence = read("node_modules/@codemirror/view/LICENSE").trim().split("\n")
  .flatMap((line) => (line.startsWith("Copyright") ? [...rights].sort() : [line])).map((line) => ` * ${line}`.trimEnd()).join("\n");
const code = result.outputFiles[0].text.trim().replace(/^(?:"use strict";)?var CodeMirror=/, "export const CodeMirror=");
if (!code.startsWith("export const CodeMirror=")) throw new Error(`the bundle begins with ${code.slice(0, 60)}`);
const head = `/*! CodeMirror 6, bundled by \`make editor\`: ${used.join(", ")}.\n * Sources: ${sources}\n *\n${licence}\n */\n`;
writeFileSync(target, head + code + "\n");
console.log(`wrote ${target.pathname} (${Math.round((head + code).length / 1000)} kB)`);
