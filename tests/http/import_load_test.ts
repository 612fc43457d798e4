import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { all, integer, Problem, resource, table, text } from "../../mod.ts";
import { receiveParts } from "../../src/resource/http/receive_parts.ts";
import { ReceivingBodyLimiter } from "../../src/resource/http/request_body.ts";
import { handClock } from "../db/hand_clock.ts";
import { testOnDialects, userHeader, withService } from "../support/http.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const ada = { [userHeader]: "ada" };
const rows = 20_000;
const title = "x".repeat(1_000);

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** What is in memory, without what is garbage. */
function held(): number {
  collect();
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

/** The lines of many notes, made while they are read; `seen` is called before each part. */
function linesFrom(first: number, seen: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let made = 0;
  return new ReadableStream({
    pull(controller) {
      seen();
      let lines = "";
      for (const end = Math.min(rows, made + 60); made < end; made++) {
        lines += `{"id":${first + made},"title":"${title}"}\n`;
      }
      controller.enqueue(encoder.encode(lines));
      if (made === rows) controller.close();
    },
  }, { highWaterMark: 0 });
}

testOnDialects(
  "an import of 20 MB holds a few of them, and others read and write while it runs",
  (engine) =>
    withService(engine, [notes], () => ({
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { public: true, create: () => all() },
          capabilities: { enableImport: true, enableSubscribe: false },
        }),
      ],
    }), async ({ app, get, send }) => {
      let id = 0;
      await get("/api/notes/1000000", ada);
      // The harder one of each: SQLite has one writer, and chunks wait for the network.
      const mode = engine.name === "postgres" ? "chunks" : "all";
      const before = held();
      let most = 0;
      let parts = 0;
      const look = () => {
        if (++parts % 100 === 0) most = Math.max(most, held());
      };
      let isDone = false;
      const importing = app.fetch(
        new Request(`http://test/api/notes/import?mode=${mode}`, {
          method: "POST",
          headers: { ...ada, "content-type": "application/x-ndjson" },
          body: linesFrom(100_000, look),
        }),
      ).finally(() => isDone = true);
      let reads = 0;
      let writes = 0;
      while (!isDone) {
        assertEquals((await get("/api/notes/1000000", ada)).status, 404);
        reads++;
        const { status } = await send("POST", "/api/notes", { id: ++id, title: "other" }, ada);
        assertEquals(status, 201);
        writes++;
        await new Promise((done) => setTimeout(done, 20));
      }
      const answer = await importing;
      assertEquals([answer.status, await answer.json()], [200, { rows, written: rows }]);
      assert(reads > 2 && writes > 2, `${reads} reads and ${writes} writes ran beside it`);
      assert(most - before < 15_000_000, `${most - before} bytes were held of ${rows * 1_020}`);
      const { body: { count } } = await get("/api/notes/count", ada);
      assertEquals(count, rows + id);
    }),
);

Deno.test("a client may take its time for each 64 KiB of an import, and no longer", async () => {
  const { clock, advance } = handClock();
  const sender = new TransformStream<Uint8Array, Uint8Array>();
  const writer = sender.writable.getWriter();
  const parts = receiveParts(
    new Request("http://test/", { method: "POST", body: sender.readable }),
    {
      receiver: { receivedBody: () => null, readBodyBefore: () => null },
      limits: { bodyLimit: 10, bodyTimeoutMs: 1_000, receiving: new ReceivingBodyLimiter(clock) },
      clock,
      maxBytes: 1_000_000,
    },
  );
  // Ten times the time of a body, for ten times 64 KiB.
  for (let part = 0; part < 10; part++) {
    const next = parts.next();
    await Promise.resolve();
    advance(900);
    void writer.write(new Uint8Array(64 * 1024));
    assertEquals((await next).value?.length, 64 * 1024);
  }
  // One byte after the other.
  const trickle = async () => {
    for (;;) {
      const next = parts.next();
      await Promise.resolve();
      advance(400);
      void writer.write(new Uint8Array(1)).catch(() => {});
      await next;
    }
  };
  const error = await assertRejects(trickle, Problem);
  assertEquals(error.status, 408);
});
