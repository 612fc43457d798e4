/**
 * Checks that the compiler names every file that a recipe of CONTRIBUTING.md lists, and no other:
 * `deno task recipes`. Each experiment adds a name to a union of types, in a copy of the repository
 * in a temporary folder, and reads the errors of `deno check`. The last experiment writes an engine
 * with the members that CONTRIBUTING.md lists.
 */
const root = new URL("../", import.meta.url);

interface Recipe {
  /** The heading in CONTRIBUTING.md. A step of the section lists the files. */
  readonly heading: string;
  /** The file that declares the union, and the name of the union. */
  readonly file: string;
  readonly union: string;
  /** The name that the experiment adds to the union. */
  readonly added: string;
}

const recipes: readonly Recipe[] = [
  {
    heading: "An operation, an endpoint",
    file: "src/resource/model/operation.ts",
    union: "OperationName",
    added: "trialoperation",
  },
  {
    heading: "A column kind",
    file: "src/schema/kind.ts",
    union: "ColumnKind",
    added: "trialkind",
  },
  {
    heading: "An engine",
    file: "src/sql/dialect.ts",
    union: "Engine",
    added: "trialengine",
  },
];

/** Tests with a table over a whole union, which the compiler checks too. */
const tests = [
  ...["tests/repository/recipes_test.ts", "tests/db/template/kinds_test.ts"],
  ...["tests/invariants/certification.ts", "tests/invariants/filter_worlds.ts"],
  ...["tests/sql/round_trip.ts", "dev/lint/engine_blind.ts"],
];

const folder = await Deno.makeTempDir({ prefix: "recipes-" });
try {
  const copied = [
    "deno.json",
    "deno.lock",
    "mod.ts",
    "cli.ts",
    "exports",
    "src",
    "dev/lint",
    "dev/std",
    "tests",
  ];
  for (const path of copied) await copy(new URL(path, root), `${folder}/${path}`);
  for (const recipe of recipes) await tryOut(recipe);
  await tryEngine("An engine");
} finally {
  await Deno.remove(folder, { recursive: true });
}

async function tryOut({ heading, file, union, added }: Recipe): Promise<void> {
  const types = await Deno.readTextFile(`${folder}/${file}`);
  const start = new RegExp(`^export type ${union} =\\s*\\|?`, "m");
  if (!start.test(types)) throw new Error(`${file} has no ${union}`);
  if (types.includes(`"${added}"`)) {
    throw new Error(`${file} has "${added}", which is the name of the experiment: choose another`);
  }
  const extended = types.replace(start, `export type ${union} = "${added}" |`);
  await Deno.writeTextFile(`${folder}/${file}`, extended);
  const named = await filesOfErrors();
  await Deno.writeTextFile(`${folder}/${file}`, types);
  const listed = await filesListed(heading);
  for (const path of named.difference(listed)) {
    console.log(`${heading}: CONTRIBUTING lacks ${path}`);
  }
  for (const path of listed.difference(named)) {
    console.log(`${heading}: the compiler does not name ${path}`);
  }
  if (named.symmetricDifference(listed).size > 0) Deno.exitCode = 1;
  else console.log(`${heading}: the compiler names the files of CONTRIBUTING.md (${named.size})`);
}

/** Returns the files in which `deno check` finds errors, relative to the folder. */
async function filesOfErrors(): Promise<Set<string>> {
  const errors = await errorsIn(["mod.ts", "cli.ts", "src", ...tests]);
  const real = await Deno.realPath(folder);
  return new Set(errors.map(({ path }) => path.slice(real.length + 1)));
}

/** An error that the compiler reports. */
interface CompilerError {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** Returns the errors that `deno check` finds in files of the copy. */
async function errorsIn(files: readonly string[]): Promise<readonly CompilerError[]> {
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", ...files],
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  const found = new TextDecoder().decode(stderr).matchAll(
    /^(TS\d+ \[ERROR\][^]*?)^ {4}at file:\/\/(\S+?):(\d+):\d+$/gm,
  );
  return [...found].map(([, message = "", path = "", line]) => ({
    ...{ path, line: Number(line), message },
  }));
}

/**
 * Writes an engine with the members that CONTRIBUTING.md lists, and one without each of them. The
 * compiler must accept the first, and must name the missing member of each other.
 */
async function tryEngine(heading: string): Promise<void> {
  const members = await membersListed(heading);
  const engines = [[], ...members.map((path) => [path])].map((left) =>
    members.filter((path) => !left.some((one) => path === one || path.startsWith(`${one}.`)))
  );
  const head = [
    'import type { DatabaseEngine } from "../../db/engine/engine.ts";',
    "declare const value: never;",
  ];
  const lines = engines.map((paths, index) =>
    `export const engine${index}: DatabaseEngine = ${literalOf(paths, members, "")};`
  );
  const file = "src/engines/trialengine/trialengine_engine.ts";
  await Deno.mkdir(`${folder}/src/engines/trialengine`);
  await Deno.writeTextFile(`${folder}/${file}`, [...head, ...lines].join("\n"));
  const errors = await errorsIn([file]);
  const messagesOf = (index: number) =>
    errors.filter(({ line }) => line === head.length + index + 1).map(({ message }) => message);
  const unnamed = members.filter((path, index) => {
    const name = path.slice(path.lastIndexOf(".") + 1);
    return !messagesOf(index + 1).some((message) => message.includes(`'${name}'`));
  });
  const faults = messagesOf(0).length > 0
    ? messagesOf(0).map((message) => message.trim())
    : unnamed.map((path) => `the compiler does not name ${path} if it is missing`);
  const accepted = `the compiler wants the members of CONTRIBUTING.md (${members.length})`;
  for (const line of faults.length > 0 ? faults : [accepted]) console.log(`${heading}: ${line}`);
  if (faults.length > 0) Deno.exitCode = 1;
}

/** Returns an object with those `paths` that are below a path. Migrations are loaded by a function. */
function literalOf(paths: readonly string[], all: readonly string[], parent: string): string {
  if (!all.some((path) => path.startsWith(parent))) return "value";
  const own = paths.filter((path) =>
    path.startsWith(parent) && !path.slice(parent.length).includes(".")
  );
  const members = own.map((path) =>
    `${path.slice(parent.length)}: ${literalOf(paths, all, `${path}.`)}`
  );
  const literal = `{ ${members.join(", ")} }`;
  return parent === "migrations." ? `() => Promise.resolve(${literal})` : literal;
}

/** Returns the paths of the members that a section of CONTRIBUTING.md lists. */
async function membersListed(heading: string): Promise<readonly string[]> {
  return (await stepOf(heading, "The members are:")).split(/\n +- /).slice(1).flatMap((item) => {
    const [path = "", ...members] = [...item.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    const own = members.filter((name) => name !== path);
    return [path, ...own.map((name) => `${path}.${name}`)];
  });
}

/** Returns the files that the compiler names, according to a section of CONTRIBUTING.md. */
async function filesListed(heading: string): Promise<Set<string>> {
  const list = await stepOf(heading, "the compiler names these files");
  return new Set([...list.matchAll(/^ +- `([^`]+)`/gm)].map(([, path = ""]) => path));
}

/** Returns the step of a section that contains a phrase. */
async function stepOf(heading: string, phrase: string): Promise<string> {
  const steps = (await sectionOf(heading)).split(/\n(?=\d\. )/);
  const step = steps.find((step) => step.replaceAll(/\s+/g, " ").includes(phrase)) ?? "";
  return step.split(/\n\n(?=\S)/)[0] ?? "";
}

async function sectionOf(heading: string): Promise<string> {
  const text = await Deno.readTextFile(new URL("CONTRIBUTING.md", root));
  const [, section = ""] = text.split(`### ${heading}\n`);
  return section.split("\n### ")[0] ?? "";
}

async function copy(from: URL, to: string): Promise<void> {
  const { isDirectory } = await Deno.stat(from);
  await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
  if (!isDirectory) return await Deno.copyFile(from, to);
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) {
    await copy(new URL(`${from.href}/${name}`), `${to}/${name}`);
  }
}
