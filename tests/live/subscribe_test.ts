import { assertEquals } from "@std/assert";
import { all } from "../../src/filter/builders.ts";
import { resource, type ResourceOptions } from "../../src/resource/definition.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/define.ts";
import type { Engine } from "../support/engines.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  rank: integer(),
  secret: text(),
});

const ada = { "x-user": "ada" };

function withNotes(
  engine: Engine,
  options: Partial<ResourceOptions<{ id: number; title: string }>>,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [notes], () => ({
    resources: [
      resource(notes, {
        id: notes.id,
        auth: {
          public: true,
          create: () => all(),
          update: () => all(),
          delete: () => all(),
        },
        fields: { readable: [notes.id, notes.title, notes.rank] },
        ...options,
      }),
    ],
  }), work);
}

testOnEngines(
  "a stream begins with the rows, and goes on with what happens to them",
  (engine) =>
    withNotes(engine, {}, async ({ db, send, subscribe }) => {
      await insertRows(db, notes, [{ id: 1, title: "a", rank: 1, secret: "xyzzy-1" }]);
      const stream = await subscribe("/api/notes/subscribe");
      assertEquals(stream.response.headers.get("content-type"), "text/event-stream; charset=utf-8");
      assertEquals(await stream.untilSynced(), [
        {
          type: "existing",
          data: { type: "existing", items: [{ id: 1, title: "a", rank: 1 }], hasMore: false },
        },
      ]);
      await send("POST", "/api/notes", { id: 2, title: "b", secret: "xyzzy-2" }, ada);
      const [added] = await stream.take(1);
      assertEquals([added?.type, added?.data.item], ["added", { id: 2, title: "b", rank: null }]);
      await send("PATCH", "/api/notes/1", { rank: 2 }, ada);
      await send("DELETE", "/api/notes/2", undefined, ada);
      const [changed, removed] = await stream.take(2);
      assertEquals([changed?.type, changed?.data.item], ["changed", {
        id: 1,
        title: "a",
        rank: 2,
      }]);
      assertEquals(removed?.data, { type: "removed", seq: removed?.data.seq, id: 2 });
      await stream.close();
    }),
);
