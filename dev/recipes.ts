/**
 * Checks that the compiler names every file that a recipe of CONTRIBUTING.md lists, and no other:
 * `deno task recipes`. Each experiment adds a name to a union of types, in a copy of the repository
 * in a temporary folder, and reads the errors of `deno check`.
 */
const root = new URL("../", import.meta.url);

interface Recipe {
  /** The heading in CONTRIBUTING.md. The first step of the section lists the files. */
  readonly heading: string;
  /** The file that declares the union, and the beginning of its declaration. */
  readonly file: string;
  readonly declaration: string;
  /** The name that the experiment adds to the union. */
  readonly added: string;
}

const recipes: readonly Recipe[] = [
  {
    heading: "An operation, an endpoint",
    file: "src/resource/model/operation.ts",
    declaration: "export type OperationName =\n",
    added: "distinct",
  },
  {
    heading: "A column kind",
    file: "src/schema/kind.ts",
    declaration: "export type ColumnKind =\n",
    added: "duration",
  },
];

/** Tests with a table over a whole union, which the compiler checks too. */
const tests = [
  ...["tests/repository/recipes_test.ts", "tests/db/template/kinds_test.ts"],
  ...["tests/invariants/filter_worlds.ts", "tests/sql/round_trip.ts"],
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
    "dev/std",
    "tests",
  ];
  for (const path of copied) await copy(new URL(path, root), `${folder}/${path}`);
  for (const recipe of recipes) await tryOut(recipe);
} finally {
  await Deno.remove(folder, { recursive: true });
}

async function tryOut({ heading, file, declaration, added }: Recipe): Promise<void> {
  const types = await Deno.readTextFile(`${folder}/${file}`);
  if (!types.includes(declaration)) throw new Error(`${file} has no ${declaration}`);
  const extended = types.replace(declaration, `${declaration}  | "${added}"\n`);
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
  else console.log(`${heading}: the compiler names ${named.size} files, as CONTRIBUTING.md`);
}

/** Returns the files in which `deno check` finds errors, relative to the folder. */
async function filesOfErrors(): Promise<Set<string>> {
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "mod.ts", "cli.ts", "src", ...tests],
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  const places = new TextDecoder().decode(stderr).matchAll(/^ {4}at file:\/\/(\S+?):\d+:\d+$/gm);
  const real = await Deno.realPath(folder);
  return new Set([...places].map(([, path = ""]) => path.slice(real.length + 1)));
}

/** Returns the files that the first step of a section of CONTRIBUTING.md lists. */
async function filesListed(heading: string): Promise<Set<string>> {
  const text = await Deno.readTextFile(new URL("CONTRIBUTING.md", root));
  const [, section = ""] = text.split(`### ${heading}\n`);
  const [list = ""] = section.split("\n2. ");
  return new Set([...list.matchAll(/^ +- `([^`]+)`/gm)].map(([, path = ""]) => path));
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
