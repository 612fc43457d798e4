import { assertEquals } from "@std/assert";
import { integer, like, or, resource, table, text } from "../../mod.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";
import type { Engine } from "../support/engines.ts";

const notes = table("notes", { id: integer().primaryKey(), body: text().notNull() });

/** Of the length that a single pattern may have. */
const dear = `body=like="%a${"_".repeat(97)}%"`;
const repeated = (filter: string, times: number) => Array<string>(times).fill(filter).join(",");

function withNotes(engine: Engine, work: (get: Service["get"]) => Promise<void>): Promise<void> {
  return withService(engine, [notes], () => ({
    basePath: "/api",
    resources: [
      resource(notes, { id: notes.id, auth: { read: scope } }),
    ],
  }), async (service) => {
    await insertRows(service.db, notes, [{ id: 1, body: "a".repeat(1_000) }]);
    await work((path) => service.get(path, { "x-user": "ada" }));
  });
}

/** The patterns of a scope are the operator's own. */
const scope = () =>
  or(...Array.from({ length: 40 }, () => like(notes.body, `%a${"_".repeat(97)}%`)));

testOnEngines(
  "one GET of 4 kB with many patterns over long texts is refused",
  (engine) =>
    withNotes(engine, async (get) => {
      const filter = repeated(dear, 35);
      for (const path of ["notes", "notes/count", "notes/aggregate"]) {
        const { status, body } = await get(`/api/${path}?filter=${encodeURIComponent(filter)}`);
        assertEquals([status, body.code], [400, "FILTER_PARSE_ERROR"], path);
        const sixth = 5 * (dear.length + 1) + dear.indexOf('"');
        assertEquals(body.details.position, sixth, "at the first pattern too many");
      }
      const few = encodeURIComponent(repeated(dear, 5));
      assertEquals((await get(`/api/notes/count?filter=${few}`)).body.count, 1);
    }),
);

testOnEngines(
  "search boxes of twenty patterns are not refused",
  (engine) =>
    withNotes(engine, async (get) => {
      for (const pattern of ["%twenty characters ab%", "%twenty%characters_a%"]) {
        for (const operator of ["=like=", "=ilike="]) {
          const filter = encodeURIComponent(repeated(`body${operator}"${pattern}"`, 20));
          assertEquals((await get(`/api/notes/count?filter=${filter}`)).status, 200, pattern);
        }
      }
    }),
);

testOnEngines(
  "the patterns of a scope do not count",
  (engine) =>
    withNotes(engine, async (get) => {
      const filter = encodeURIComponent(repeated(dear, 5));
      const { status, body } = await get(`/api/notes?filter=${filter}`, { "x-user": "ada" });
      assertEquals([status, body.items.length], [200, 1]);
    }),
);
