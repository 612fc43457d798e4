import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { all, integer, resource, table, text } from "../../mod.ts";
import { engines } from "../support/engines.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });
const rights = {
  ...{ create: () => all(), update: () => all(), delete: () => all() },
  public: true,
};
const sqlite = engines.filter(({ name }) => name !== "postgres");

/** How many turns the event loop has while the work runs. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const other = (async () => {
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      turns++;
    }
  })();
  await work();
  isOver = true;
  await other;
  return turns;
}

const rows = 40;
const long = "x".repeat(900_000);
const ada = { "x-user": "ada" };
const writes: Readonly<Record<string, (service: Service) => Promise<unknown>>> = {
  "a long value for many rows": ({ send }) =>
    send("PATCH", "/api/notes/batch", { filter: "id=ge=1", patch: { title: long } }, ada),
  "a short value in place of long ones": ({ send }) =>
    send("PATCH", "/api/notes/batch", { filter: "id=ge=1", patch: { title: "short" } }, ada),
  "a deletion of long values": ({ send }) =>
    send("DELETE", "/api/notes/batch", { filter: "id=ge=1" }, ada),
};

for (const engine of sqlite) {
  for (const [name, write] of Object.entries(writes)) {
    Deno.test(`others have their turns during ${name} (${engine.name})`, () =>
      withService(
        engine,
        [notes],
        () => ({ resources: [resource(notes, { id: notes.id, auth: rights })] }),
        async (service) => {
          await insertRows(
            service.db,
            notes,
            Array.from({ length: rows }, (_, id) => ({ id: id + 1, title: long })),
          );
          const turns = await turnsDuring(async () => {
            const answer = await write(service);
            assertEquals(answer, { ...Object(answer), status: 200, body: { count: rows } });
          });
          assert(turns > rows / 3, `${turns} turns for ${rows} rows`);
        },
      ));
  }
}

testOnEngines("thousands of unknown parameters are refused", (engine) =>
  withService(
    engine,
    [notes],
    () => ({ resources: [resource(notes, { id: notes.id, auth: rights })] }),
    async ({ get }) => {
      const query = (count: number) =>
        Array.from({ length: count }, (_, index) => `u${index}=1`).join("&");
      assertEquals((await get(`/api/notes?${query(100)}`)).status, 200);
      const { status, body } = await get(`/api/notes?${query(6_000)}`);
      assertEquals([status, body.details], [400, { limit: 100 }]);
      assertStringIncludes(body.detail, "more than 100 unknown parameters");
    },
  ));

Deno.test("a body of very many members does not reach the parser of MCP", () =>
  withService(
    sqlite[0] ?? { name: "none", open: () => Promise.reject(new Error("no engine")) },
    [notes],
    () => ({ resources: [resource(notes, { id: notes.id, auth: rights })], mcp: true }),
    async ({ send }) => {
      const members = (count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));
      const call = (count: number) => ({
        ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
        params: { name: "list_resources", arguments: {}, _meta: members(count) },
      });
      const accept = { accept: "application/json, text/event-stream" };
      const path = "/__service/mcp";
      assertEquals((await send("POST", path, call(1_000), accept)).status, 200);
      const { status, body } = await send("POST", path, call(60_000), accept);
      assertEquals([status, body.details], [413, { limit: 2_000 }]);
    },
  ));
