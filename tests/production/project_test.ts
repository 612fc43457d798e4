import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { diskFolder } from "../support/disk.ts";
import { npmUnreachable } from "../support/npm_registry.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { buildImage, type Image } from "./image.ts";
import { type Child, startChild } from "../serve/child_process.ts";
import { blocks, guide, kit, readUnit, root, writeProject } from "./kit.ts";

const missing = Deno.build.os !== "linux" || Deno.uid() !== 0
  ? "only root can run the commands of an image as another user"
  : await npmUnreachable();
const [, version = ""] = /^version=(.*)$/m.exec(Deno.readTextFileSync(`${root}.ci/run`)) ?? [];
const { path: project } = await scratchFolder({ dir: diskFolder });
let isWritten = false;

/** The project of docs/production.md, with the lock file that its first command writes. */
async function writtenProject(): Promise<string> {
  if (!isWritten) {
    await writeProject(project);
    const [install = ""] = commands;
    assertMatch(install, /^deno install --entrypoint/);
    await shell(install);
    isWritten = true;
  }
  return project;
}

/** The commands of the guide that can run on any machine. */
const commands = blocks(guide, "sh").flatMap((block) => block.match(/^deno .*$/gm) ?? []);

/** Runs a command in the project as a shell does, and returns what it prints. */
async function shell(command: string, env: Record<string, string> = {}): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", command.replace(/^deno /, `${Deno.execPath()} `)],
    ...{ cwd: project, env: { NO_COLOR: "1", ...env } },
  }).output();
  const printed = decoder.decode(stdout) + decoder.decode(stderr);
  assert(success, `${command}: ${printed}`);
  return printed;
}

/** Empty before the first image, and readable by all users. */
const { path: cache } = await scratchFolder();
await Deno.chmod(cache, 0o755);
globalThis.addEventListener("unload", () => {
  for (const folder of [cache, project]) Deno.removeSync(folder, { recursive: true });
});
const decoder = new TextDecoder();

const secrets = {
  SERVICE_SECRET: "a secret of more than 32 characters for the tests",
  METRICS_TOKEN: "a token of the tests",
  PORT: "0",
};

/** Starts the CMD of an image, asks it as `work` does, and stops it as Docker does. */
async function withContainer(
  image: Image,
  { cmd, env }: { readonly cmd: readonly string[]; readonly env: Record<string, string> },
  work: (url: string) => Promise<void>,
): Promise<void> {
  const child = image.start(cmd, env);
  const limit = setTimeout(() => child.kill("SIGKILL"), 20_000);
  let output = "";
  const listening = Promise.withResolvers<string>();
  const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      output += text;
      const [, port] = /(?:http:\/\/|listening.*?)[\w.]+:(\d+)/.exec(output) ?? [];
      if (port !== undefined) listening.resolve(`http://127.0.0.1:${port}`);
    }
  };
  const ended = Promise.all([read(child.stdout), read(child.stderr), child.status]);
  let hasEnded = false;
  void child.status.then(() => hasEnded = true);
  void ended.then(() => listening.reject(new Error(`The image has ended: ${output}`)));
  try {
    const url = await listening.promise;
    const [program = "", ...args] = image.healthCheck;
    const check = image.start([
      program,
      ...args.map((arg) => arg.replace("http://127.0.0.1:8000", url)),
    ], {});
    const { success, stderr } = await check.output();
    assert(success, decoder.decode(stderr));
    await work(url);
  } finally {
    // Not SIGTERM, after which a service serves three seconds longer.
    if (!hasEnded) child.kill("SIGINT");
    const [, , { code }] = await ended;
    clearTimeout(limit);
    assertEquals(code, 0, output);
  }
}

testUnless(
  missing,
  "the image of a project starts as another user, offline, and cannot change its files",
  async () => {
    const project = await writtenProject();
    await Deno.copyFile(`${kit}.dockerignore`, `${project}/.dockerignore`);
    for (const secret of [".env", "app.db", "app.kv-wal"]) {
      // The command `check` of another test finds secrets that other users can read.
      await Deno.writeTextFile(`${project}/${secret}`, "it stays out of the image", {
        mode: 0o600,
      });
    }
    await using image = await buildImage("Dockerfile", { context: project, cache });
    assertEquals(image.version, version, "the version of .ci/run");
    const names = [...Deno.readDirSync(image.folder)].map(({ name }) => name).sort();
    const expected = ["data", "deno.json", "deno.lock", "main.ts", "resource-api"];
    assertEquals(names, [".dockerignore", ...expected, "service.config.ts"]);
    await withContainer(image, { cmd: image.cmd, env: secrets }, async (url) => {
      const statusOf = async (path: string, token?: string) => {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const response = await fetch(url + path, { headers });
        await response.body?.cancel();
        return response.status;
      };
      assertEquals(await statusOf("/api/notes"), 401);
      assertEquals(await statusOf("/__service/metrics"), 401);
      assertEquals(await statusOf("/__service/metrics", secrets.METRICS_TOKEN), 200);
      const cli = ["run", "-A", "--config", "deno.json", "--cached-only", "--frozen"];
      const backup = image.start([
        "deno",
        ...cli,
        ...["resource-api/cli.ts", "backup", "--keep", "14", "data/backups"],
      ], secrets);
      const { stdout, stderr } = await backup.output();
      assertMatch(
        decoder.decode(stdout),
        /^Backed up app.db .* and app.kv/,
        decoder.decode(stderr),
      );
    });
    assertEquals(await image.canWrite("data"), true);
    assertEquals(await image.canWrite("."), false);
    assertEquals(await image.canWrite("main.ts"), false);
  },
);

testUnless(
  missing,
  "the image of `cli.ts DATABASE` serves a SQLite file as another user, offline",
  async () => {
    await using image = await buildImage("database.Dockerfile", { context: root, cache });
    assertEquals(image.version, version, "the version of .ci/run");
    const shop = new DatabaseSync(`${image.folder}/data/shop.db`);
    shop.exec("CREATE TABLE lamps (id INTEGER PRIMARY KEY, name TEXT)");
    shop.exec("INSERT INTO lamps (name) VALUES ('Desk lamp')");
    shop.close();
    const cmd = [...image.cmd, "--port", "0"];
    await withContainer(
      image,
      { cmd, env: { SERVICE_SECRET: secrets.SERVICE_SECRET } },
      async (url) => {
        const { items } = await (await fetch(`${url}/api/lamps`)).json();
        assertEquals(items, [{ id: 1, name: "Desk lamp" }]);
      },
    );
  },
);

/** The arguments of deno in ExecStart, with the folders of the project. */
function argumentsOf(unit: string): readonly string[] {
  const [, command = ""] = readUnit(unit).find(([name]) => name === "ExecStart") ?? [];
  const [program, ...args] = command.split(/\s+/);
  assertEquals(program, "/usr/local/bin/deno");
  return args.map((arg) => arg.replace("/var/lib/my-app", `${project}/data`));
}

async function urlOf(child: Child): Promise<string> {
  await child.logged(/"url":/);
  return /"url":"(.*?)"/.exec(child.stderr())?.[1] ?? "";
}

Deno.test("the commands of the units and of docs/production.md serve, back up and restore", async () => {
  await writtenProject();
  await Deno.mkdir(`${project}/data`);
  const env = {
    ...{ ...secrets, SERVICE_ENV: "production" },
    ...{ DATABASE: `${project}/data/app.db`, KV: `${project}/data/app.kv` },
  };
  const [run = "", ...args] = argumentsOf("my-app.service");
  assertEquals(run, "run");
  const [, keys = "", backup = "", restore = "", check = "", ...others] = commands;
  assertEquals(others, [], "each command of the guide is run here");
  let row: unknown;
  let token = "";
  {
    await using child = startChild(args, { permissions: [], cwd: project, env });
    const url = await urlOf(child);
    [token = ""] = /rk_\S+|\b\S{30,}\b/.exec(await shell(keys, env)) ?? [];
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const body = JSON.stringify({ title: "Buy tea" });
    const created = await fetch(`${url}/api/notes`, { method: "POST", headers, body });
    row = await created.json();
    assertEquals(created.status, 201, JSON.stringify(row));
    assertMatch(await shell(backup, env), /^Backed up app.db .* and app.kv/);
    const [exec = "", ...rest] = argumentsOf("my-app-backup.service");
    assertMatch(await shell(`deno ${[exec, ...rest].join(" ")}`, env), /^Backed up app.db/);
  }
  await Deno.remove(`${project}/data`, { recursive: true });
  await Deno.mkdir(`${project}/data`, { mode: 0o700 });
  const [{ name: made } = { name: "" }] = [...Deno.readDirSync(`${project}/backups`)];
  await shell(restore.replace(/backups\/\S+/, `backups/${made}`), env);
  await using child = startChild(args, { permissions: [], cwd: project, env });
  const url = await urlOf(child);
  const list = await fetch(`${url}/api/notes`, { headers: { authorization: `Bearer ${token}` } });
  assertEquals((await list.json()).items, [row]);
  assertMatch(await shell(check, env), /^no findings$/m);
});
