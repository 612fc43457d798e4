/** What the programs share that create packages. */

const root = new URL("../", import.meta.url).pathname;

/** Copies the launcher and the README of a package, and the licence. */
export async function addPackaging(name: string, folder: string): Promise<void> {
  await Deno.copyFile(`${root}LICENSE`, `${folder}/LICENSE`);
  for (const file of ["bin.cjs", "README.md"]) {
    await Deno.copyFile(`${root}packaging/${name}/${file}`, `${folder}/${file}`);
  }
  await Deno.chmod(`${folder}/bin.cjs`, 0o755);
}

export async function readJson(path: string) {
  return JSON.parse(await Deno.readTextFile(path));
}

export async function writeJson(path: string, value: unknown): Promise<void> {
  await Deno.writeTextFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Creates an empty folder, and removes a folder of this name before. Returns the path. */
export async function emptied(folder: string): Promise<string> {
  await Deno.remove(folder, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.mkdir(folder, { recursive: true });
  return folder;
}

/** Copies a file or a folder, and creates the folders that contain the copy. */
export async function copyTree(from: string, to: string): Promise<void> {
  await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
  if ((await Deno.stat(from)).isFile) return await Deno.copyFile(from, to);
  for await (const { name } of Deno.readDir(from)) {
    await copyTree(`${from}/${name}`, `${to}/${name}`);
  }
}

/** Runs a program that must succeed. Returns its standard output. */
export async function run(
  program: string,
  args: readonly string[],
  cwd: string,
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(
    program,
    { args: [...args], cwd, env: { NO_COLOR: "1" } },
  ).output();
  if (!success) throw new Error(`${program} ${args[0]}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}
