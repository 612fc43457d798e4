import { assertEquals } from "@std/assert";
import { all } from "../../src/filter/builders.ts";
import { listen } from "../../src/listen/listener.ts";
import { Problem } from "../../src/problem/problem.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { createErrorResponder, createResponder } from "../../src/service/responder.ts";
import { handClock } from "../db/hand_clock.ts";
import { engines } from "../support/engines.ts";
import { insertRows, withService } from "../support/http.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });

Deno.test("what ends with its client is no failure, and everything else is one", () => {
  const observed: Observation[] = [];
  const observe = (one: Observation) => void observed.push(one);
  const { clock, advance } = handClock();
  const fail = createErrorResponder(createResponder(true, observe), { observe, clock });
  const left = new AbortController();
  left.abort();
  const overloaded = new Problem("overloaded", "Cannot answer: its client has left");
  const cases: readonly (readonly [unknown, AbortSignal | null, number])[] = [
    [overloaded, left.signal, 499],
    [left.signal.reason, left.signal, 499],
    [overloaded, null, 503],
    [new TypeError("a bug"), left.signal, 500],
    [new Deno.errors.BadResource("a file"), left.signal, 500],
  ];
  for (const [error, signal, expected] of cases) {
    observed.length = 0;
    advance(10_000);
    const { status } = fail(error, new Request("http://test/api/notes", { signal }), "");
    assertEquals([status, observed.length], [expected, expected === 499 ? 0 : 1]);
  }
});

Deno.test("refusals of an overloaded service are observed every ten seconds, with their number", () => {
  const observed: Observation[] = [];
  const observe = (one: Observation) => void observed.push(one);
  const { clock, advance } = handClock();
  const fail = createErrorResponder(createResponder(true, observe), { observe, clock });
  const request = new Request("http://test/api/notes");
  const counts = () =>
    observed.map((one) => one.kind === "request_failed" ? one.suppressed : one.kind);
  const overloaded = new Problem("overloaded", "Cannot answer: too many wait");
  for (let second = 0; second < 25; second++) {
    for (let n = 0; n < 100; n++) assertEquals(fail(overloaded, request, "").status, 503);
    advance(1_000);
  }
  assertEquals(counts(), [0, 999, 999]);
  fail(new TypeError("a bug"), request, "");
  fail(new Problem("database-unavailable", "Cannot read"), request, "");
  assertEquals(counts(), [0, 999, 999, undefined, undefined]);
});

Deno.test("clients that leave in a body, a list, a stream or a batch are in no line of the log", () =>
  withService(
    engines[0] ?? { name: "none", open: () => Promise.reject(new Error("no engine")) },
    [notes],
    () => ({
      auth: {
        async middleware(context, next) {
          if (context.req.header("x-reads") !== undefined) await context.req.json();
          context.set("user", { id: "ada" });
          await next();
        },
      },
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { public: true, create: () => all(), update: () => all() },
          capabilities: { enableExport: true, enableImport: true },
        }),
      ],
      mcp: true,
    }),
    async ({ app, db, observations }) => {
      await insertRows(
        db,
        notes,
        Array.from({ length: 300 }, (_, id) => ({ id: id + 1, title: "x".repeat(20_000) })),
      );
      const ofListener: Observation[] = [];
      const server = listen(
        { ...app, close: () => Promise.resolve() },
        { port: 0 },
        systemRuntime((one) => ofListener.push(one)),
      );
      const begun = JSON.stringify({ items: [{ id: 1_000, title: "y".repeat(50_000) }] });
      const half = `${begun.slice(0, 40_000)}`;
      const post = (path: string, type = "application/json", more = "") =>
        `POST ${path} HTTP/1.1\r\nhost: x\r\n${more}content-type: ${type}\r\n` +
        `content-length: ${begun.length}\r\n\r\n${half}`;
      const heads = [
        ...["?limit=100", "?limit=100&totalCount=true", "/count", "/subscribe", "/export", "/1"]
          .map((path) => `GET /api/notes${path} HTTP/1.1\r\nhost: x\r\n\r\n`),
        post("/api/notes/batch"),
        post("/api/notes/batch", "application/json", "x-reads: yes\r\n"),
        post("/api/notes/import", "application/x-ndjson"),
        post("/__service/live"),
        post("/__service/mcp"),
      ];
      for (let round = 0; round < 4; round++) {
        await Promise.all(heads.flatMap((head) =>
          Array.from({ length: 5 }, async () => {
            const socket = await Deno.connect({ port: server.port });
            await socket.write(new TextEncoder().encode(head));
            await new Promise((resolve) => setTimeout(resolve, round * 3));
            socket.close();
          })
        ));
      }
      // These wait for what the others have left.
      for (let round = 0; round < 10; round++) {
        const answer = await fetch(`${server.url}/api/notes?limit=100`);
        assertEquals((await answer.json()).items.length, 100);
      }
      await server.stop();
      const failed = [...observations, ...ofListener].filter(({ kind }) =>
        kind === "request_failed" || kind === "answer_broke_off"
      );
      assertEquals(failed, []);
      const { rows } = await db.driver.query({ text: "SELECT count(*) FROM notes", values: [] });
      assertEquals(Number(rows[0]?.[0]), 300);
    },
  ));
