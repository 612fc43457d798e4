import { assertEquals } from "@std/assert";
import { dirname, join } from "node:path";
import { packageVersion } from "../../src/runtime/package_version.ts";
import { root } from "./module_graph.ts";

/** The Markdown files that git knows or would take. */
const documents = gitFiles().filter((file) => file.endsWith(".md"))
  .map((path) => ({ path, text: Deno.readTextFileSync(root + path) }));

const { tasks, version }: { tasks: Record<string, string>; version: string } = JSON.parse(
  Deno.readTextFileSync(`${root}deno.json`),
);

Deno.test("relative links in documents lead to files and headings that exist", () => {
  const broken = documents.flatMap(({ path, text }) =>
    linksOf(text).filter((link) => !resolves(path, link)).map((link) => `${path}: ${link}`)
  );
  assertEquals(
    documents.some(({ text }) => linksOf(text).some((link) => link.includes("#"))),
    true,
  );
  assertEquals(broken, []);
});

Deno.test("a link to a missing file or heading is found", () => {
  const links = linksOf("[a](docs/gone.md), [b](README.md#gone), [c](README.md#documentation)");
  assertEquals(links.filter((link) => !resolves("README.md", link)), [
    "docs/gone.md",
    "README.md#gone",
  ]);
});

Deno.test("commands in documents name tasks and files that exist", () => {
  const commands = documents.flatMap(({ path, text }) =>
    commandsOf(text).map((command) => [path, command] as const)
  );
  assertEquals(commands.some(([path]) => path === "CONTRIBUTING.md"), true, "commands are found");
  const wrong = commands.filter(([path, command]) => !isRunnable(path, command));
  assertEquals(wrong, []);
});

Deno.test("paths in backquotes are those of files that exist", () => {
  // A record of a decision or a change names what there was at its time.
  const current = documents.filter(({ path }) => !/^(?:docs\/decisions\/\d|CHANGELOG)/.test(path));
  const named = current.flatMap(({ path, text }) =>
    [...text.matchAll(/`((?:src|tests|bench|dev|docs|examples|exports|\.ci)\/[\w./-]*)`/g)]
      .map(([, file = ""]) => [path, file] as const)
  );
  assertEquals(named.some(([path]) => path === "CONTRIBUTING.md"), true, "paths are found");
  assertEquals(named.filter(([, file]) => !exists(file)), []);
});

Deno.test("docs/architecture.md names files of src that exist, also without the folder src", () => {
  const text = documents.find(({ path }) => path === "docs/architecture.md")?.text ?? "";
  const named = [...text.matchAll(/`((?:\w+\/)+\w+\.ts)`/g)].map(([, file = ""]) => file);
  assertEquals(named.length > 20, true, "files are found");
  assertEquals(named.filter((file) => !exists(file) && !exists(`src/${file}`)), []);
});

Deno.test("decision records are numbered without gaps and listed in their README", () => {
  const folder = "docs/decisions/";
  const records = documents.filter(({ path }) => /^docs\/decisions\/\d/.test(path))
    .sort((left, right) => left.path < right.path ? -1 : 1);
  const lines = records.map(({ path, text }, index) => {
    const number = index + 1;
    const file = path.slice(folder.length);
    assertEquals(file.slice(0, 5), `${String(number).padStart(4, "0")}-`, "the next number");
    const [, title = ""] = /^# (.*)\n/.exec(text) ?? [];
    assertEquals(title.startsWith(`${number}. `), true, `${file} has its number in its title`);
    for (const part of ["**Context.**", "**Choice.**", "**Consequence.**"]) {
      assertEquals(text.includes(part), true, `${file} has ${part}`);
    }
    return `- [${title}](${file})`;
  });
  const list = Deno.readTextFileSync(`${root}${folder}README.md`);
  assertEquals(list.match(/^- .*$/gm), lines);
});

Deno.test("CHANGELOG.md begins with Unreleased and has the version of deno.json", () => {
  assertEquals(packageVersion, version, "src/runtime/package_version.ts");
  const text = Deno.readTextFileSync(`${root}CHANGELOG.md`);
  const [first = "", ...versions] = [...text.matchAll(/^## (\S+)/gm)].map(([, name]) => name);
  assertEquals(first, "Unreleased");
  assertEquals(versions.includes(version), true, `a section for ${version}`);
  const kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
  for (const section of text.split(/^## /m).slice(1)) {
    const found = [...section.matchAll(/^### (.*)$/gm)].map(([, kind = ""]) => kind);
    assertEquals(found, kinds.filter((kind) => found.includes(kind)), "each kind once, in order");
  }
});

Deno.test("the workflows run .ci/run, may only read unless they publish, and pin their actions by commit", () => {
  const release = Deno.readTextFileSync(`${root}.github/workflows/release.yml`);
  assertEquals(commandsOf(release).map((command) => command.split(" ")[2]), ["release", "site"]);
  for (const name of ["ci.yml", "release.yml"]) {
    const text = Deno.readTextFileSync(`${root}.github/workflows/${name}`);
    assertEquals(/^ +run: \.ci\/run$/m.test(text), true, name);
    assertEquals(/^permissions:\n {2}contents: read\n\n/m.test(text), true, name);
    assertEquals(commandsOf(text).filter((command) => !isRunnable(name, command)), []);
    const actions = [...text.matchAll(/uses: (.*)$/gm)].map(([, action = ""]) => action);
    assertEquals(actions.filter((action) => !/^[\w/-]+@[0-9a-f]{40} # v[\d.]+$/.test(action)), []);
  }
});

function gitFiles(): string[] {
  const { stdout } = new Deno.Command("git", {
    args: ["ls-files", "--cached", "--others", "--exclude-standard"],
    cwd: root,
  }).outputSync();
  return new TextDecoder().decode(stdout).trim().split("\n").filter(exists);
}

/** The targets of links within the repository. */
function linksOf(text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

function resolves(from: string, link: string): boolean {
  const [target = "", anchor] = link.split("#");
  const path = target === "" ? from : join(dirname(from), target);
  if (!exists(path)) return false;
  return anchor === undefined || anchorsOf(Deno.readTextFileSync(root + path)).has(anchor);
}

/** The anchors of headings, as GitHub makes them; the second of the same text ends in `-1`. */
function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.matchAll(/^#+ (.*)$/gm)) {
    const base = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-");
    let anchor = base;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${base}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** What follows `deno task` and `deno run -A`, in examples of the shell and in backquotes. */
function commandsOf(text: string): string[] {
  const lines = text.replaceAll(/`([^`\n]+)`/g, "\n$1\n").split("\n");
  return lines.map((line) => line.replace(/ #.*$/, "").replace(/ && .*$/, ""))
    .flatMap((line) => /(?:^|\s)(deno(?:@[\d.]+)? (?:task|run -A) .+)$/.exec(line)?.[1] ?? []);
}

/** The tasks of a project that `init` writes, which documents for users name. */
const { tasks: starterTasks }: { tasks: Record<string, string> } = JSON.parse(
  Deno.readTextFileSync(`${root}examples/starter/deno.json`),
);

function isRunnable(document: string, command: string): boolean {
  const [, verb, ...words] = command.trim()
    .replace(/ --cwd \S+/, "").replaceAll(/(?:\.\.\/)?resource-api\//g, "").split(/\s+/);
  const [subject = "", ...rest] = verb === "task" ? words : words.slice(1);
  const known = [tasks, starterTasks];
  if (verb === "task" && !known.some((all) => Object.hasOwn(all, subject))) return false;
  const files = (verb === "task" && subject === "test" ? rest : verb === "run" ? [subject] : [])
    .filter((word) => /^[\w./-]+$/.test(word) && /[./]/.test(word));
  // A guide shows files that its reader writes.
  const isWritten = (file: string) =>
    document.startsWith("docs/guides/") &&
    Deno.readTextFileSync(root + document).includes(`\`${file}\``);
  return files.every((file) =>
    exists(file) || exists(join(dirname(document), file)) || isWritten(file)
  );
}

function exists(path: string): boolean {
  try {
    Deno.statSync(root + path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
