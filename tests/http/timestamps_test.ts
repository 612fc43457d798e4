import { assertEquals } from "@std/assert";
import { all, integer, resource, table, timestamp } from "../../mod.ts";
import { testOnEveryEngine, withService } from "../support/http.ts";

const visits = table("visits", { id: integer().primaryKey(), at: timestamp().notNull() });
const ada = { "x-user": "ada" };

testOnEveryEngine(
  "a timestamp that a body takes is refused by a filter, or the other way round",
  async (engine) => {
    await withService(engine, [visits], () => ({
      resources: [
        resource(visits, {
          id: visits.id,
          auth: { public: { read: true }, create: () => all() },
        }),
      ],
    }), async ({ get, send }) => {
      const forms = [
        "2024-01-01T00:00:00.123456789Z",
        "2024-01-01T02:00:00.123456+02:00",
        1704067200123,
        "1704067200123",
        "2024-01-01",
        -1,
      ];
      for (const [id, at] of forms.entries()) {
        assertEquals((await send("POST", "/api/visits", { id, at }, ada)).status, 201, `${at}`);
      }
      const found = async (filter: string) => {
        const { status, body } = await get(
          `/api/visits?filter=${encodeURIComponent(filter)}&orderBy=id&`,
        );
        assertEquals(status, 200, filter);
        return body.items.map(({ id }: { id: number }) => id);
      };
      for (const [index, ids] of [[0, 1], [0, 1], [2, 3], [2, 3], [4], [5]].entries()) {
        assertEquals(await found(`at==${forms[index]}`), ids);
        assertEquals(await found(`at=="${forms[index]}"`), ids);
      }
      assertEquals(await found("at=between=(0,1704067200000)"), [4]);
      const bad = await send("POST", "/api/visits", { id: 9, at: "2024-02-30" }, ada);
      assertEquals([bad.status, (await get("/api/visits?filter=at==2024-02-30")).status], [
        422,
        400,
      ]);
    });
  },
);
