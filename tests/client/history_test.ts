import { assertEquals, assertRejects } from "@std/assert";
import { all, type InferApi, integer, resource, table, text } from "../../mod.ts";
import { createClient, revertRow, rowHistory, ServiceError } from "../../exports/client.ts";
import { testOnEngines, withService } from "../support/http.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });
const auth = { read: () => all(), create: () => all(), update: () => all() };
const config = { resources: [resource(notes, { id: notes.id, auth, etag: {}, history: {} })] };

testOnEngines(
  "the client reads the versions of a row, and reverts the row to one",
  (engine) =>
    withService(engine, [notes], () => config, async ({ app }) => {
      const api = createClient<InferApi<typeof config>>({
        baseUrl: "http://test",
        headers: { "x-user": "ada" },
        fetch: (request) => Promise.resolve(app.fetch(request)),
      });
      await api.notes.create({ id: 1, title: "a" });
      const { etag: stale } = await api.notes.get(1);
      const { etag } = await api.notes.update(1, { title: "b" });
      const page = await rowHistory(api.notes, 1, { limit: 1 });
      assertEquals(page.items.map(({ user, operation, row }) => [user, operation, row]), [
        ["ada", "update", { id: 1, title: "b" }],
      ]);
      const next = await rowHistory(api.notes, 1, { limit: 1, cursor: page.nextCursor });
      assertEquals(next.items.map(({ row }) => row), [{ id: 1, title: "a" }]);
      const version = next.items[0]?.version ?? "";
      await assertRejects(
        () => revertRow(api.notes, 1, version, { ifMatch: stale ?? "" }),
        ServiceError,
      );
      const { value } = await revertRow(api.notes, 1, version, { ifMatch: etag ?? "" });
      assertEquals(value, { id: 1, title: "a" });
    }),
);
