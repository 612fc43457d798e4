import { assertEquals } from "@std/assert";
import type { DatabaseErrorKind } from "../../exports/driver.ts";
import { all, DatabaseError, integer, resource, table, text } from "../../mod.ts";
import { testOnEngines, withService } from "../support/http.ts";
import { budget } from "./guard_support.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const ada = { "x-user": "ada", "content-type": "application/json" };

/** The status of a create whose hook fails in this way, and what is left of a budget of 3. */
const outcomes: readonly (readonly [DatabaseErrorKind, status: number, left: number])[] = [
  ["timeout", 422, 2],
  ["too-slow", 422, 2],
  ["too-large", 422, 2],
  ["invalid-value", 422, 2],
  // Refused before it was started, as a 429 is.
  ["overloaded", 503, 3],
  ["unavailable", 503, 3],
  ["other", 500, 3],
];

for (const [kind, status, left] of outcomes) {
  const what = left < 3 ? "was free of charge" : "is a fault of the service, and refunded";
  testOnEngines(`a request that ends as ${kind} ${what}`, async (engine) => {
    let isBroken = true;
    const hooks = {
      onBeforeCreate() {
        if (isBroken) throw new DatabaseError(kind, new Error("ended"));
      },
    };
    const config = {
      kv: ":memory:",
      abuseProtection: { budget: budget(3) },
      resources: [resource(notes, { id: notes.id, auth: { create: () => all() }, hooks })],
    };
    await withService(engine, [notes], () => config, async ({ send }) => {
      const create = () => send("POST", "/api/notes", { title: "a" }, ada);
      assertEquals((await create()).status, status);
      isBroken = false;
      const { headers } = await create();
      assertEquals(headers.get("ratelimit"), `"budget";r=${left - 1}`);
    });
  });
}

testOnEngines(
  "a client that left in the middle of its request got its budget back",
  async (engine) => {
    const client = new AbortController();
    const hooks = {
      onBeforeCreate(_context: unknown, { title }: { title?: string }) {
        if (title !== "left") return;
        client.abort();
        throw new DatabaseError("unavailable", new Error("The client has left"));
      },
    };
    const config = {
      kv: ":memory:",
      abuseProtection: { budget: budget(3) },
      resources: [resource(notes, { id: notes.id, auth: { create: () => all() }, hooks })],
    };
    await withService(engine, [notes], () => config, async ({ app, send }) => {
      const { signal } = client;
      const body = JSON.stringify({ title: "left" });
      const init = { method: "POST", headers: ada, body, signal };
      await (await app.fetch(new Request("http://test/api/notes", init))).body?.cancel();
      const { status, headers } = await send("POST", "/api/notes", { title: "a" }, ada);
      assertEquals([status, headers.get("ratelimit")], [201, `"budget";r=1`]);
    });
  },
);
