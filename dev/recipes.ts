/**
 * Checks that the compiler names every file that CONTRIBUTING.md lists for a new operation, and no
 * other: `deno task recipes`. It adds an operation to `OperationName` in a copy of the repository in
 * a temporary folder, and reads the errors of `deno check`.
 */
const root = new URL("../", import.meta.url);
const declaration = "export type OperationName =\n";
const declared = "src/resource/model/operation.ts";

const folder = await Deno.makeTempDir({ prefix: "recipes-" });
try {
  for (const path of ["deno.json", "deno.lock", "mod.ts", "src", "dev/std", "tests/repository"]) {
    await copy(new URL(path, root), `${folder}/${path}`);
  }
  const types = await Deno.readTextFile(`${folder}/${declared}`);
  if (!types.includes(declaration)) throw new Error(`${declared} has no ${declaration}`);
  const extended = types.replace(declaration, `${declaration}  | "distinct"\n`);
  await Deno.writeTextFile(`${folder}/${declared}`, extended);
  const named = await filesOfErrors(folder);
  const listed = await filesListed();
  for (const path of named.difference(listed)) console.log(`CONTRIBUTING.md lacks ${path}`);
  for (const path of listed.difference(named)) console.log(`the compiler does not name ${path}`);
  if (named.symmetricDifference(listed).size > 0) Deno.exitCode = 1;
  else console.log(`A new operation: the compiler names ${named.size} files, as CONTRIBUTING.md`);
} finally {
  await Deno.remove(folder, { recursive: true });
}

/** Returns the files in which `deno check` finds errors, relative to the folder. */
async function filesOfErrors(folder: string): Promise<Set<string>> {
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "mod.ts", "tests/repository/recipes_test.ts"],
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  const places = new TextDecoder().decode(stderr).matchAll(/^ {4}at file:\/\/(\S+?):\d+:\d+$/gm);
  const real = await Deno.realPath(folder);
  return new Set([...places].map(([, path = ""]) => path.slice(real.length + 1)));
}

/** Returns the files that CONTRIBUTING.md lists for a new operation. */
async function filesListed(): Promise<Set<string>> {
  const text = await Deno.readTextFile(new URL("CONTRIBUTING.md", root));
  const [, list = ""] = /### An operation, an endpoint\n([^]*?)\n2\. /.exec(text) ?? [];
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
