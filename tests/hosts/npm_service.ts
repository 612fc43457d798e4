import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Child, startProgram } from "../serve/child_process.ts";

/** The commands of docs/hosts.md: the service by npx, and by its launcher. */
const [, shown = ""] = /```sh\n(npx resource-api [^`]*)```/.exec(
  Deno.readTextFileSync(new URL("../../docs/hosts.md", import.meta.url)),
) ?? [];
const [byNpx = [], byLauncher = []] = shown.trim().split("\n")
  .map((line) => [...line.replace(/ +#.*$/, "").split(" "), "--port", "0"]);

/** Creates a SQLite file with the table `books` in a folder. */
export function createShop(folder: string): void {
  const db = new DatabaseSync(`${folder}/shop.db`);
  db.exec(`CREATE TABLE books
    (id INTEGER PRIMARY KEY, title TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1);
    INSERT INTO books (title) VALUES ('Solaris'), ('Fiasco');`);
  db.close();
}

/**
 * Starts three services with an installed package, and uses one of them. SIGTERM stops npx and a
 * launcher, and SIGKILL another launcher. A process that remains keeps the output of its service
 * open, and the check fails.
 */
export async function checkService(
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const options = { cwd, env, maxLifeMs: 60_000 };
  const other = `./${crypto.randomUUID()}.db`;
  await Deno.copyFile(`${cwd}/shop.db`, `${cwd}/${other}`);
  await using service = startProgram(byNpx, options);
  const [launcher = ""] = byLauncher;
  await using stopped = startProgram([launcher, "shop.db", "--port", "0"], options);
  await using killed = startProgram(
    byLauncher.map((word) => word === "./shop.db" ? other : word),
    options,
  );
  await useService(service);
  for (const one of [stopped, killed]) await one.printed(/\/healthz$/m);
  for (const one of [service, stopped]) one.signal("SIGTERM");
  killed.signal("SIGKILL");
  const [, code] = await Promise.all([service.ended(), stopped.ended(), killed.ended()]);
  assertEquals(code, 0);
  assertMatch(
    service.stderr(),
    /"npx resource-api uninstall (?:\.\/)?shop\.db\\" takes it away again/,
  );
  assertEquals(/better-sqlite3/.test(service.stderr()), false, service.stderr());
}

async function useService(service: Child): Promise<void> {
  const [, url = ""] = await service.printed(/^ {2}(http:\S+)\/healthz$/m);
  const [, token = ""] = await service.printed(/Authorization: (Bearer \S+)/);
  const list = await (await fetch(`${url}/api/books?select=title`)).json();
  assertEquals(list.items, [{ title: "Solaris" }, { title: "Fiasco" }]);
  const stream = await fetch(`${url}/api/books/subscribe?select=title`);
  const events = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert(events !== undefined);
  await received("existing");
  const row = await fetch(`${url}/api/books/2`);
  await row.body?.cancel();
  const changed = await fetch(`${url}/api/books/2`, {
    method: "PATCH",
    headers: {
      "content-type": "application/json",
      "if-match": row.headers.get("etag") ?? "",
      authorization: token,
    },
    body: JSON.stringify({ title: "Eden" }),
  });
  assertEquals([changed.status, (await changed.json()).title], [200, "Eden"]);
  await received("Eden");
  await events.cancel();

  async function received(part: string): Promise<void> {
    for (let text = ""; !text.includes(part);) {
      const { value, done } = await events?.read() ?? { done: true, value: "" };
      assert(!done, `The stream ended without ${part}: ${text}`);
      text += value;
    }
  }
}
