/** A service with a proxy in front, as its example configures it, for tests. */
import { all } from "../../src/filter/builders.ts";
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { listen } from "../../src/listen/listener.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { sleep } from "../../src/runtime/event_loop.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { freePort } from "../support/ports.ts";
import type { ProxyName } from "../support/proxies.ts";
import { scratchFolder } from "../support/scratch.ts";

const configurations = new URL("../../docs/proxies/", import.meta.url).pathname;

/** How many streams one address may have open in {@link throughProxy}. */
export const streamsPerAddress = 2;

/** Serves notes through a proxy, calls `work` with the proxy's port, and ends both. */
export async function throughProxy(
  { name, path }: { readonly name: ProxyName; readonly path: string },
  work: (port: number) => Promise<void>,
): Promise<void> {
  await using folder = await scratchFolder();
  const server = await serveNotes();
  const port = freePort();
  const start = name === "nginx" ? startNginx : startCaddy;
  const proxy = await start(path, { folder: folder.path, port, servicePort: server.port });
  try {
    await untilOpen(port);
    await work(port);
  } finally {
    proxy.kill("SIGTERM");
    await proxy.status;
    await server.stop();
  }
}

async function serveNotes() {
  const notes = table("notes", { id: integer().primaryKey(), title: text() });
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const runtime = systemRuntime(() => {});
  const app = await createApp({
    db,
    runtime,
    secret: "a secret for the tests only",
    subscribe: { maxPerAddress: streamsPerAddress },
    abuseProtection: { trustProxy: 1 },
    auth: {
      middleware: async (context, next) => {
        if (context.req.method === "POST") context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [
      resource(notes, { id: notes.id, auth: { public: true, create: () => all() } }),
    ],
  });
  return listen(app, { port: 0, stopDeadlineMs: 1_000 }, runtime);
}

interface ProxyStart {
  readonly folder: string;
  readonly port: number;
  readonly servicePort: number;
}

async function startNginx(
  path: string,
  { folder, port, servicePort }: ProxyStart,
): Promise<Deno.ChildProcess> {
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`);
  const config = replaceEach(await Deno.readTextFile(`${configurations}nginx.conf`), {
    "listen 8080;": `listen 127.0.0.1:${port};`,
    "server 127.0.0.1:8000;": `server 127.0.0.1:${servicePort};`,
    "client_header_timeout 10s;": "client_header_timeout 1s;",
    "http {": `http { access_log off; ${folders.join(" ")}`,
  });
  await Deno.writeTextFile(`${folder}/nginx.conf`, config);
  const user = Deno.uid() === 0 ? "user root; " : "";
  return spawn(path, [
    ...["-p", folder, "-e", "stderr", "-c", `${folder}/nginx.conf`],
    ...["-g", `daemon off; pid ${folder}/nginx.pid; ${user}`],
  ], {});
}

async function startCaddy(
  path: string,
  { folder, port, servicePort }: ProxyStart,
): Promise<Deno.ChildProcess> {
  const config = replaceEach(await Deno.readTextFile(`${configurations}Caddyfile`), {
    ":8080 {": `:${port} {`,
    "reverse_proxy 127.0.0.1:8000": `reverse_proxy 127.0.0.1:${servicePort}`,
    "read_header 10s": "read_header 1s",
    "\tservers {": "\tadmin off\n\tdefault_bind 127.0.0.1\n\tservers {",
  });
  await Deno.writeTextFile(`${folder}/Caddyfile`, config);
  return spawn(path, ["run", "--config", `${folder}/Caddyfile`, "--adapter", "caddyfile"], {
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  });
}

function replaceEach(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((replaced, [from, to]) => {
    if (!replaced.includes(from)) throw new Error(`The example has no longer: ${from}`);
    return replaced.replaceAll(from, to);
  }, text);
}

function spawn(
  path: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Deno.ChildProcess {
  return new Deno.Command(path, {
    args: [...args],
    env,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

async function untilOpen(port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      await sleep(50);
    }
  }
  throw new Error("The proxy did not listen");
}
