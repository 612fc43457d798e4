import { assertEquals } from "@std/assert";
import { all } from "../../src/filter/builders.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { ServerEvent } from "../support/event_stream.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const seats = table("seats", {
  row: text().primaryKey(),
  place: integer().primaryKey(),
  guest: text(),
});
const open = { public: true, create: () => all(), update: () => all(), delete: () => all() };
const ada = { "x-user": "ada" };

testOnEngines(
  "a client can apply a stream whose select leaves the key out",
  (engine) =>
    withService(engine, [notes, seats], () => ({
      resources: [
        resource(notes, { id: notes.id, auth: open }),
        resource(seats, { id: [seats.row, seats.place], auth: open }),
      ],
    }), async (service) => {
      const { db, send, subscribe } = service;
      await insertRows(db, notes, [{ id: 1, title: "a" }, { id: 2, title: "b" }]);
      await insertRows(db, seats, [{ row: "A", place: 1, guest: "ada" }]);
      const titles = await follow(service, "notes/subscribe?select=title");
      const guests = await follow(service, "seats/subscribe?select=place,guest");
      assertEquals(titles.held, { "1": { title: "a" }, "2": { title: "b" } });
      assertEquals(guests.held, { '["A",1]': { place: 1, guest: "ada" } });

      await send("PATCH", "/api/notes/2", { title: "c" }, ada);
      await send("POST", "/api/notes", { id: 3, title: "d" }, ada);
      await send("DELETE", "/api/notes/1", undefined, ada);
      assertEquals(await titles.take(3), { "2": { title: "c" }, "3": { title: "d" } });
      await send("PATCH", "/api/seats/A,1", { guest: null }, ada);
      await send("POST", "/api/seats", { row: "B", place: 1, guest: "bob" }, ada);
      assertEquals(await guests.take(2), {
        '["A",1]': { place: 1, guest: null },
        '["B",1]': { place: 1, guest: "bob" },
      });

      // The same where the client was away, and receives the net changes.
      const token = await titles.stream.untilToken();
      await titles.stream.close();
      await send("PATCH", "/api/notes/2", { title: "e" }, ada);
      titles.stream = await subscribe("/api/notes/subscribe?select=title", {
        "last-event-id": token,
      });
      assertEquals(await titles.take(1), { "2": { title: "e" }, "3": { title: "d" } });
      await titles.stream.close();
      await guests.stream.close();
    }),
);

testOnEngines(
  "a row that shows its key has no second id",
  (engine) =>
    withService(
      engine,
      [notes],
      () => ({ resources: [resource(notes, { id: notes.id, auth: open })] }),
      async ({ db, subscribe }) => {
        await insertRows(db, notes, [{ id: 1, title: "a" }]);
        for (const [query, item] of [["", { id: 1, title: "a" }], ["?select=id", { id: 1 }]]) {
          const stream = await subscribe(`/api/notes/subscribe${query}`);
          const [existing] = await stream.untilSynced();
          assertEquals(existing?.data, { type: "existing", items: [item], hasMore: false });
          await stream.close();
        }
      },
    ),
);

/** A client that knows rows by what events call them, and has never seen a key in one. */
async function follow({ subscribe }: Service, path: string) {
  const rows = new Map<string, unknown>();
  const put = (id: unknown, item: unknown) => rows.set(JSON.stringify(id), item);
  const apply = ({ type, data }: ServerEvent) => {
    if (type === "existing") {
      data.items.forEach((item: unknown, index: number) => put(data.ids[index], item));
    } else if (type === "removed") rows.delete(JSON.stringify(data.id));
    else put(data.id, data.item);
  };
  const client = {
    stream: await subscribe(`/api/${path}`),
    get held() {
      return Object.fromEntries(rows);
    },
    async take(count: number) {
      for (const event of await client.stream.take(count)) apply(event);
      return client.held;
    },
  };
  for (const event of await client.stream.untilSynced()) apply(event);
  return client;
}
