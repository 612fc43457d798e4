/** Another request changes a row after a statement that found no row, and before the next one. */
import { assertEquals } from "@std/assert";
import { all, integer, openDatabase, resource, table, text } from "../../mod.ts";
import type { Connection } from "../../exports/driver.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { withService } from "../support/http.ts";
import { watched } from "./batch_support.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text(),
  version: integer().notNull().default(1),
});

const requests: readonly (readonly [string, number, string | undefined, readonly unknown[]])[] = [
  ["DELETE", 1, 'W/"2"', [204, undefined]],
  ["PATCH", 1, 'W/"2"', [200, "new"]],
  ["DELETE", 9, undefined, [204, undefined]],
  ["PATCH", 9, undefined, [200, "new"]],
];

for (const [method, id, tag, expected] of requests) {
  testOnPostgres(
    `${method} ${id}, If-Match ${tag}: the row that comes in between is the row that is written`,
    async (url) => {
      const db = await openDatabase(url);
      const change = tag === undefined
        ? `INSERT INTO notes VALUES (${id}, 'other', 1)`
        : "UPDATE notes SET version = version + 1";
      let isChanged = false;
      const loneWrites: Connection = {
        async query(statement) {
          const result = await (db.driver.loneWrites ?? db.driver).query(statement);
          if (!isChanged && result.changed === 0) {
            isChanged = true;
            await db.driver.query({ text: change, values: [] });
          }
          return result;
        },
      };
      const driver = { ...watched(db, () => {}).driver, loneWrites };
      const rights = { create: () => all(), update: () => all(), delete: () => all() };
      const etag = tag === undefined ? {} : { etag: { versionField: notes.version } };
      await withService(
        { name: "postgres", open: () => Promise.resolve({ ...db, driver }) },
        [notes],
        () => ({
          resources: [
            resource(notes, { id: notes.id, auth: { public: true, ...rights }, ...etag }),
          ],
        }),
        async ({ send }) => {
          await db.driver.query({ text: "INSERT INTO notes VALUES (1, 'a', 1)", values: [] });
          const { status, body } = await send(
            method,
            `/api/notes/${id}`,
            method === "PATCH" ? { title: "new" } : undefined,
            { "x-user": "ada", ...(tag === undefined ? {} : { "if-match": tag }) },
          );
          assertEquals([status, body.title], expected);
          assertEquals(isChanged, true);
        },
      );
    },
  );
}
