import { basename, dirname, join, resolve } from "node:path";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { pathExists } from "../path_exists.ts";
import type { InitCommand } from "./init_arguments.ts";
import { originOf, packedClient, starterFiles } from "./starter_files.ts";

export async function runInitCommand(
  { folder, web, database }: InitCommand,
  { url, version }: Readonly<Record<"url" | "version", string>>,
): Promise<number> {
  const place = resolve(folder);
  if (await Deno.stat(place).then(({ isFile }) => isFile, () => false)) {
    throw new Error(`Cannot begin in ${folder}: it is a file (give a folder)`);
  }
  const origin = originOf(url);
  const { kind, clone } = origin;
  const secret = systemRuntime(consoleObserver()).random.bytes(32).toBase64();
  const name = nameOf(place);
  const files = new Map(
    starterFiles({ name, folder: place, web, database, secret, version, origin }),
  );
  // A repository's host may have created a README, which stays unchanged.
  if (await pathExists(join(place, "README.md"))) files.delete("README.md");
  for (const path of files.keys()) {
    if (await pathExists(join(place, path))) throw alreadyThere(folder, path);
  }
  await writeFiles(folder, files);
  console.log(`Created ${name} with ${files.size} files. Next:\n`);
  if (place !== Deno.cwd()) {
    console.log(`  cd ${/^[\w./-]+$/.test(folder) ? folder : `"${folder}"`}`);
  }
  if (kind === "npm") console.log("  npm install");
  if (web) {
    if (clone !== null && !await pathExists(packedClient(clone, version))) {
      console.log(
        `  deno task --cwd ${clone} npm-client   # packs the client, which npm does not have yet`,
      );
    }
    console.log("  npm --prefix web install");
  }
  console.log(
    `  ${kind === "npm" ? "npm run dev" : "deno task dev     # without Deno: npm run dev"}`,
  );
  return 0;
}

/** Returns a name for packages and images: `My app!` is `my-app`. */
function nameOf(place: string): string {
  const name = basename(place).normalize("NFKD").toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return name.replaceAll(/^-|-$/g, "") || "app";
}

function alreadyThere(folder: string, path: string): Error {
  return new Error(`Cannot begin in ${folder}: ${path} is there already (give another folder)`);
}

/** Writes all files or none. Never overwrites a file. */
async function writeFiles(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  const written: string[] = [];
  for (const [path, text] of files) {
    const place = join(folder, path);
    try {
      await Deno.mkdir(dirname(place), { recursive: true });
      const mode = path === ".env" ? 0o600 : 0o666;
      (await Deno.open(place, { write: true, createNew: true, mode })).close();
      written.push(place);
      await Deno.writeTextFile(place, text);
    } catch (cause) {
      for (const one of written) await Deno.remove(one);
      if (cause instanceof Deno.errors.AlreadyExists) throw alreadyThere(folder, path);
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`Cannot write ${place}: ${reason}`, { cause });
    }
  }
}
