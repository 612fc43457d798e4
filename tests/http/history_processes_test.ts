/** Two processes and a program write to the same rows at once. Each title names its writer. */
import { assertEquals } from "@std/assert";
import {
  all,
  type App,
  createApp,
  integer,
  openDatabase,
  resource,
  table,
  text,
} from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { run, scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const access = () => all();
const auth = { read: access, create: access, update: access, delete: access };
const rowsPerTest = 3;
const writesPerWriter = 40;

async function checkWriters(url: string, mode: "triggers" | "service"): Promise<void> {
  const databases = await Promise.all([1, 2].map(() => openDatabase(url)));
  const apps: App[] = [];
  try {
    await databases[0]!.createTables([notes]);
    for (const db of databases) {
      apps.push(
        await createApp({
          db,
          secret: "a secret for the tests only",
          changes: { mode },
          resources: [resource(notes, { id: notes.id, auth, history: {} })],
          auth: {
            middleware: (context, next) => {
              context.set("user", { id: context.req.header("x-user") ?? "" });
              return next();
            },
          },
          runtime: { ...systemRuntime(() => {}), cron: undefined },
        }),
      );
    }
    const send = async (app: App, method: string, path: string, user: string, body?: unknown) => {
      const response = await app.fetch(
        new Request(`http://test/api/notes${path}`, {
          method,
          headers: { "content-type": "application/json", "x-user": user },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      );
      const text = await response.text();
      return { status: response.status, body: text === "" ? null : JSON.parse(text) };
    };
    for (let id = 1; id <= rowsPerTest; id++) {
      await run(databases[0]!, `INSERT INTO notes (id, title) VALUES (${id}, 'start')`);
    }
    const done = new Map<number, string[]>();
    const note = (id: number, title: string) => done.set(id, [...done.get(id) ?? [], title]);
    const writeBy = async (app: App, user: string) => {
      for (let write = 0; write < writesPerWriter; write++) {
        const id = 1 + write % rowsPerTest;
        const title = `${user} ${write}`;
        const { status } = await send(app, "PATCH", `/${id}`, user, { title });
        if (status === 200) note(id, title);
        else assertEquals([409, 503].includes(status), true, `${status}`);
      }
    };
    const writeAll = apps.flatMap((app, index) =>
      ["ada", "bob"].map((name) => writeBy(app, `${name}${index}`))
    );
    await Promise.all(writeAll);
    for (let id = 1; id <= rowsPerTest; id++) {
      const versions: { user: string | null; row: { title: string } }[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const query = cursor === "" ? "" : `?cursor=${cursor}`;
        const { body } = await send(apps[0]!, "GET", `/${id}/history${query}`, "ada");
        versions.push(...body.items);
        cursor = body.nextCursor;
      }
      const titles = versions.map(({ row }) => row.title);
      assertEquals(titles.toSorted(), [...done.get(id) ?? [], "start"].toSorted());
      const { body } = await send(apps[1]!, "GET", `/${id}`, "ada");
      assertEquals(titles[0], body.title);
      for (const { user, row: { title } } of versions) {
        assertEquals(user, title === "start" ? null : title.split(" ")[0]);
      }
    }
    const { rows } = await databases[0]!.query({
      text: "SELECT count(*) FROM _service_history WHERE op = 'known'",
      values: [],
    });
    // Without triggers, the log of a Postgres does not have the rows that SQL has inserted.
    assertEquals(
      Number(rows[0]?.[0]),
      mode === "service" && url.startsWith("postgres") ? rowsPerTest : 0,
    );
  } finally {
    for (const app of apps) await app.close();
    for (const db of databases) await db.close();
  }
}

for (const mode of ["triggers", "service"] as const) {
  const title = `each write of two processes is one version, with its own user, by ${mode}`;
  Deno.test(`${title} (sqlite)`, async () => {
    await using folder = await scratchFolder();
    await checkWriters(`sqlite:${folder.path}/notes.db`, mode);
  });
  const server = testPostgres();
  testUnless("missing" in server ? server.missing : null, `${title} (postgres)`, async () => {
    if ("missing" in server) return;
    const scratch = await createScratchDatabase(server.url);
    try {
      await checkWriters(scratch.url, mode);
    } finally {
      await scratch.drop();
    }
  });
}
