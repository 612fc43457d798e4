import { assert, assertEquals } from "@std/assert";
import { all, eq, integer, Problem, resource, table, text, timestamp } from "../../mod.ts";
import type { Engine } from "../support/engines.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";

const tasks = table("tasks", {
  id: integer().primaryKey(),
  title: text(),
  state: text().notNull().default("open"),
  secret: text(),
  version: integer().notNull().default(1),
});
const marked = table("marked", { id: integer().primaryKey(), title: text(), gone: timestamp() });
const auth = {
  public: true,
  create: () => all(),
  update: () => all(),
  delete: () => all(),
} as const;
const ada = { "x-user": "ada" };

/** What the hooks of the tests below have seen. */
type Seen = unknown[];

function withTasks(
  engine: Engine,
  mode: "triggers" | "service",
  work: (service: Service, seen: Seen) => Promise<void>,
): Promise<void> {
  const seen: Seen = [];
  const hidden = { readable: [tasks.id, tasks.title, tasks.state, tasks.version] };
  return withService(engine, [tasks, marked], () => ({
    changes: { mode },
    resources: [
      resource(tasks, {
        id: tasks.id,
        auth,
        fields: hidden,
        etag: { versionField: tasks.version },
        hooks: {
          onBeforeUpdate: async ({ current, db }, _id, { title }) => {
            if (title === "unasked") return;
            if (title === "deletes 2") await db.sql`DELETE FROM ${tasks} WHERE ${eq(tasks.id, 2)}`;
            if (title === "overtaken") {
              await db.sql`UPDATE ${tasks} SET version = 7 WHERE ${eq(tasks.id, 1)}`;
            }
            const row = await current();
            assert(row === await current(), "the row is read once");
            seen.push(["update", row.id, row.title, row.secret]);
            if (row.state === "done") throw new Problem("conflict", "Cannot change: it is done");
          },
          onBeforeDelete: async ({ current }) => {
            const { title, state } = await current();
            seen.push(["delete", title]);
            if (state === "done") throw new Problem("conflict", "Cannot delete: it is done");
          },
          onAfterDelete: (_context, id, row) => {
            seen.push(["deleted", id, row.title, row.secret]);
          },
        },
      }),
      resource(marked, {
        id: marked.id,
        auth,
        softDelete: { field: marked.gone },
        hooks: {
          onBeforeUpdate: async ({ current }, _id, patch) => {
            seen.push([patch.gone, typeof (await current()).gone]);
          },
          onAfterDelete: (_context, id, row) => {
            seen.push(["marked", id, row.title, typeof row.gone]);
          },
        },
      }),
    ],
  }), async (service) => {
    await insertRows(
      service.db,
      tasks,
      [1, 2, 3].map((id) => ({ id, title: `t${id}`, secret: `s${id}` })),
    );
    await insertRows(service.db, tasks, [{ id: 9, title: "t9", state: "done" }]);
    await work(service, seen);
  });
}

testOnEngines(
  "a before-hook gets the stored row of every write that changes one",
  (engine) =>
    withTasks(engine, "triggers", async ({ db, get, send }, seen) => {
      /** The status and what the hooks saw. */
      const narrowedFor = async (
        [method, path, body]: readonly [string, string, unknown?],
        headers: Record<string, string> = {},
      ) => {
        seen.length = 0;
        const { status } = await send(method, `/api/${path}`, body, { ...ada, ...headers });
        return [status, ...seen];
      };
      const t1 = ["update", 1, "t1", "s1"];
      const t2 = ["update", 2, "t2", "s2"];
      const filter = "id=in=(1,2)";

      assertEquals(await narrowedFor(["PATCH", "tasks/1", { title: "t1" }]), [200, t1]);
      assertEquals(await narrowedFor(["PUT", "tasks/1", { title: "t1", secret: "s1" }]), [200, t1]);
      const items = [{ id: 2, title: "t2", secret: "s2" }, { id: 1, title: "t1", secret: "s1" }];
      assertEquals(await narrowedFor(["PUT", "tasks/batch", { items }]), [200, t2, t1]);
      const upserted = [{ id: 5, title: "t5" }, { id: 1, title: "t1" }];
      assertEquals(await narrowedFor(["POST", "tasks/batch/upsert", { items: upserted }]), [
        200,
        t1,
      ]);
      const patch = { state: "open" };
      assertEquals(await narrowedFor(["PATCH", "tasks/batch", { filter, patch }]), [200, t1, t2]);
      assertEquals(await narrowedFor(["PATCH", "tasks/1", { title: "unasked" }]), [200]);

      const done = ["update", 9, "t9", null];
      assertEquals(await narrowedFor(["PATCH", "tasks/9", { title: "x" }]), [409, done]);
      assertEquals(await narrowedFor(["DELETE", "tasks/9"]), [409, ["delete", "t9"]]);

      // Between the hook and the transaction the row is anyone's: If-Match is what decides.
      const overtaken = { title: "overtaken" };
      const { body: { version } } = await get("/api/tasks/1");
      assertEquals(
        await narrowedFor(["PATCH", "tasks/1", overtaken], { "if-match": `W/"${version}"` }),
        [412, ["update", 1, "unasked", "s1"]],
      );
      assertEquals((await get("/api/tasks/1")).body, {
        id: 1,
        title: "unasked",
        state: "open",
        version: 7,
      });

      // A row that is gone when it is asked for is left out, like one that is gone a moment later.
      const removing = { filter, patch: { title: "deletes 2" } };
      await db.sql`UPDATE ${tasks} SET title = 't1' WHERE ${eq(tasks.id, 1)}`;
      const answer = await send("PATCH", "/api/tasks/batch", removing, ada);
      assertEquals([answer.status, answer.body], [200, { count: 1 }]);

      await insertRows(db, marked, [{ id: 1, title: "m" }]);
      assertEquals(await narrowedFor(["DELETE", "marked/1"]), [204, ["marked", 1, "m", "string"]]);
      assertEquals(await narrowedFor(["POST", "marked/1/restore"]), [200, [null, "string"]]);
      const some = { filter: "id>0" };
      assertEquals(await narrowedFor(["DELETE", "marked/batch", some]), [
        200,
        ["marked", 1, "m", "string"],
      ]);
    }),
);

for (const mode of ["triggers", "service"] as const) {
  testOnEngines(
    `an after-hook gets the row that was deleted, recorded by ${mode}`,
    (engine) =>
      withTasks(engine, mode, async ({ db, send }, seen) => {
        const remove = async (
          path: string,
          body?: unknown,
          headers: Record<string, string> = {},
        ) => {
          seen.length = 0;
          const { status } = await send("DELETE", `/api/${path}`, body, { ...ada, ...headers });
          return [status, ...seen];
        };
        const before = (id: number) => ["delete", `t${id}`];
        const after = (id: number) => ["deleted", id, `t${id}`, `s${id}`];
        const one = (id: number) => [204, before(id), after(id)];
        assertEquals(await remove("tasks/1"), one(1));
        assertEquals(await remove("tasks/2", undefined, { "if-match": 'W/"1"' }), one(2));
        assertEquals(await remove("tasks/1"), [404]);
        const titled = [4, 5, 6].map((id) => ({ id, title: `t${id}`, secret: `s${id}` }));
        await insertRows(db, tasks, titled);
        const both = [before(3), before(4), after(3), after(4)];
        assertEquals(await remove("tasks/batch", { filter: "id=in=(3,4)" }), [200, ...both]);
        if (engine.name !== "postgres" || mode === "service") return;
        // Such a rule of an existing table allows no RETURNING.
        await db.sql`CREATE RULE kept AS ON DELETE TO ${tasks} WHERE old.id = 0 DO INSTEAD NOTHING`;
        assertEquals(await remove("tasks/5"), one(5));
        assertEquals(await remove("tasks/batch", { filter: "id==6" }), [200, before(6), after(6)]);
      }),
  );
}
