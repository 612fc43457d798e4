import { assertEquals } from "@std/assert";
import { all, integer, openDatabase, resource, table, text } from "../../mod.ts";
import { insertRows, userHeader, withService } from "../support/http.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { run } from "../support/scratch.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text(),
  version: integer().notNull().default(1),
});

const writes: readonly (readonly [string, string, unknown?])[] = [
  ["POST", "", { id: 9, title: "new" }],
  ["PATCH", "/1", { title: "new" }],
  ["PUT", "/1", { title: "new" }],
  ["DELETE", "/1"],
  ["POST", "/batch", { items: [{ id: 8 }, { id: 9 }] }],
  ["POST", "/batch/upsert", { items: [{ id: 1, title: "new" }] }],
  ["PATCH", "/batch", { filter: "id==1", patch: { title: "new" } }],
  ["DELETE", "/batch", { filter: "id==1" }],
];

for (const mode of ["service", "triggers"] as const) {
  testOnPostgres(
    `every write of a read-only database is a 503, and succeeds later: ${mode}`,
    async (url) => {
      const engine = { name: "postgres", open: () => openDatabase(url) };
      const config = () => ({
        changes: { mode },
        idempotency: { storage: "db" as const },
        resources: [resource(notes, {
          id: notes.id,
          auth: { public: true, create: () => all(), update: () => all(), delete: () => all() },
          etag: { versionField: notes.version },
        })],
      });
      await withService(engine, [notes], config, async (service) => {
        await insertRows(service.db, notes, [{ id: 1, title: "old", version: 1 }]);
        const other = await openDatabase(url);
        const name = new URL(url).pathname.slice(1);
        await run(other, `ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
        service.db.driver.renewConnections?.();
        const statuses: unknown[] = [];
        for (const [method, path, body] of writes) {
          for (const headers of [{}, { "idempotency-key": `${method}${path}` }]) {
            const all = { [userHeader]: "ada", ...headers };
            const sent = await service.send(method, `/api/notes${path}`, body, all);
            statuses.push(`${method} ${path} ${sent.status}`);
          }
        }
        assertEquals(
          statuses,
          writes.flatMap(([method, path]) =>
            Array.from({ length: 2 }, () => `${method} ${path} 503`)
          ),
        );
        await run(other, `ALTER DATABASE "${name}" RESET default_transaction_read_only`);
        await other.close();
        service.db.driver.renewConnections?.();
        const ada = { [userHeader]: "ada" };
        const { status } = await service.send("PATCH", "/api/notes/1", { title: "new" }, ada);
        assertEquals(status, 200);
      });
    },
  );
}
