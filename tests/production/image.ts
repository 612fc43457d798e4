/** An image that is built in a folder: the instructions of a Dockerfile, executed by another user. */
import { assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { runOrThrow } from "../support/debian_packages.ts";
import { scratchFolder } from "../support/scratch.ts";
import { diskFolder } from "../support/disk.ts";
import { readDockerfile } from "./kit.ts";

/** No user of this machine owns files with this id, except `nobody`. */
const strangerId = 65_534;

/** What the last instructions of an image say, and how its commands run in its folder. */
export interface Image extends AsyncDisposable {
  readonly folder: string;
  readonly version: string;
  readonly cmd: readonly string[];
  readonly healthCheck: readonly string[];
  /** Whether the user of the image may write to a path of the image. */
  canWrite(path: string): Promise<boolean>;
  /** Runs a command as the user of the image, on a tree that it cannot write. */
  start(command: readonly string[], env: Readonly<Record<string, string>>): Deno.ChildProcess;
}

/** Builds an image from `context` with an empty `cache`, and fails if a command of it does. */
export async function buildImage(
  dockerfile: string,
  { context, cache }: { readonly context: string; readonly cache: string },
): Promise<Image> {
  const scratch = await scratchFolder({ dir: diskFolder });
  const [folder, deno] = [`${scratch.path}/app`, `${scratch.path}/deno`];
  await Deno.chmod(scratch.path, 0o755);
  // The program of this process can be in a folder that other users may not enter.
  await Deno.link(Deno.execPath(), deno).catch(() => Deno.copyFile(Deno.execPath(), deno));
  await runOrThrow("chown", ["-R", String(strangerId), cache], {});
  const env: Record<string, string> = {};
  const found: Record<string, string> = {};
  let user: number | null = null;
  const run = async (command: string) => {
    const text = command.replaceAll("deno:deno", `${strangerId}:${strangerId}`)
      .replace(/^deno /, `${deno} `);
    const { success, stderr } = await new Deno.Command("sh", {
      args: ["-c", text],
      ...{ cwd: folder, env: { DENO_DIR: cache } },
      ...(user === null ? {} : { uid: user, gid: user }),
    }).output();
    assertEquals(success, true, `${command}: ${new TextDecoder().decode(stderr)}`);
  };
  for (const { verb, rest } of readDockerfile(dockerfile)) {
    if (verb === "WORKDIR") await Deno.mkdir(folder);
    else if (verb === "RUN") await run(rest);
    else if (verb === "COPY") await copy(context, folder, rest.split(" "));
    else if (verb === "USER") user = strangerId;
    else if (verb === "ENV") {
      for (const pair of rest.split(/\s+/)) {
        const [name = "", value = ""] = pair.split("=");
        env[name] = value;
      }
    } else found[verb] = rest;
  }
  // It is read-only, too.
  await runOrThrow("chown", ["-R", "root", cache], {});
  const { FROM = "", CMD = "[]", HEALTHCHECK = "" } = found;
  return {
    folder,
    version: FROM.replace("denoland/deno:", ""),
    cmd: JSON.parse(CMD),
    healthCheck: JSON.parse(HEALTHCHECK.replace(/^.*? CMD /, "")),
    async canWrite(path) {
      const user = { uid: strangerId, gid: strangerId };
      const test = new Deno.Command("test", { args: ["-w", path], cwd: folder, ...user });
      return (await test.output()).success;
    },
    start: ([, ...args], given) =>
      new Deno.Command(deno, {
        ...{ args, cwd: folder, clearEnv: true, uid: strangerId, gid: strangerId },
        env: { DENO_DIR: cache, NO_COLOR: "1", ...env, ...given },
        ...{ stdin: "null", stdout: "piped", stderr: "piped" },
      }).spawn(),
    [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
  };
}

/** COPY by hard links, which leaves out what .dockerignore names. Root owns the files. */
async function copy(context: string, folder: string, words: readonly string[]): Promise<void> {
  const target = `${folder}/${words.at(-1)}`;
  const ignored = await Deno.readTextFile(`${context}/.dockerignore`).catch(() => "");
  const patterns = ignored.trim().split("\n");
  for (const source of words.slice(0, -1)) {
    if (source === ".") {
      for await (const { name } of Deno.readDir(context)) {
        const isIgnored = patterns.some((pattern) => globToRegExp(pattern).test(name));
        if (!isIgnored) await runOrThrow("cp", ["-rl", `${context}/${name}`, target], {});
      }
      for (const nested of patterns.filter((pattern) => pattern.includes("/"))) {
        await Deno.remove(`${target}/${nested}`, { recursive: true }).catch(ifMissing);
      }
    } else {
      await Deno.mkdir(dirname(target), { recursive: true });
      await runOrThrow("cp", ["-rl", `${context}/${source}`, target], {});
    }
  }
}

function globToRegExp(pattern: string): RegExp {
  return new RegExp(`^${pattern.split("*").map((part) => RegExp.escape(part)).join(".*")}$`);
}

function ifMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
