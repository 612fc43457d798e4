import { assertEquals } from "@std/assert";
import { all, createApp, integer, openDatabase, resource, table, text } from "../../mod.ts";
import { ReceivingBodyLimiter } from "../../src/resource/http/request_body.ts";
import { handClock } from "../db/hand_clock.ts";
import { listen } from "../../src/listen/listener.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });

async function withListener(work: (port: number) => Promise<void>): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    resources: [resource(notes, { id: notes.id, auth: { create: () => all() } })],
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
  });
  const server = listen(app, { port: 0, onListen: () => {} }, systemRuntime(() => {}));
  try {
    await work(server.port);
  } finally {
    await server.stop();
  }
}

const encoder = new TextEncoder();
const head = (field: string) =>
  encoder.encode(
    `POST /api/notes HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${field}\r\n\r\n`,
  );

async function statusOf(connection: Deno.Conn): Promise<string> {
  const first = new Uint8Array("HTTP/1.1 200".length);
  await connection.read(first);
  return new TextDecoder().decode(first.subarray(-3));
}

const create = (port: number, title: string) =>
  fetch(`http://127.0.0.1:${port}/api/notes`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ title }),
  });

Deno.test("bodies of which the last bytes never come took 3.5 MB each", () =>
  withListener(async (port) => {
    const held: Deno.Conn[] = [];
    try {
      const body = encoder.encode(`{"title":"${"x".repeat(900_000)}`);
      for (let count = 0; count < 80; count++) {
        const connection = await Deno.connect({ hostname: "127.0.0.1", port });
        held.push(connection);
        await connection.write(head("content-length: 1000000"));
        // What the service does not read stays in the buffers of the system, or here.
        void connection.write(body).catch(() => {});
      }
      let large = await create(port, "y".repeat(200_000));
      assertEquals(large.status, 503);
      assertEquals((await large.json()).code, "OVERLOADED");
      const small = await create(port, "y".repeat(20_000));
      assertEquals([small.status, (await small.json()).title.length], [201, 20_000]);
      for (const connection of held.splice(0)) connection.close();
      while (large.status !== 201) {
        large = await create(port, "y".repeat(200_000));
        await large.body?.cancel();
      }
    } finally {
      for (const connection of held) connection.close();
    }
  }));

Deno.test("a body in a million parts of one byte kept the process busy for seconds", () =>
  withListener(async (port) => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(head("transfer-encoding: chunked"));
    const parts = encoder.encode("1\r\n \r\n".repeat(100_000));
    void connection.write(parts).catch(() => {});
    assertEquals(await statusOf(connection), "400");
    const some = encoder.encode("1\r\n \r\n".repeat(500));
    using other = await Deno.connect({ hostname: "127.0.0.1", port });
    await other.write(head("transfer-encoding: chunked"));
    await other.write(some);
    await other.write(encoder.encode(`d\r\n{"title":"a"}\r\n0\r\n\r\n`));
    assertEquals(await statusOf(other), "201");
  }));

Deno.test("fifty bodies of a megabyte were read in one turn of the event loop", async () => {
  const { clock, advance } = handClock();
  const receiving = new ReceivingBodyLimiter(clock);
  const bodies = Array.from({ length: 12 }, () => receiving.begin());
  const begun: number[] = [];
  const reading = bodies.map(async (body, index) => {
    await body.nextPart();
    begun.push(index);
  });
  await Promise.resolve();
  assertEquals(begun, [0, 1, 2, 3], "the others wait for the next turns");
  await Promise.all(reading);
  assertEquals(begun, bodies.map((_, index) => index), "in their order");
  // A part that never arrives takes no place in later turns.
  advance(1);
  assertEquals(bodies.slice(0, 4).map((body) => body.nextPart()), Array(4).fill(undefined));
  assertEquals(bodies[4]?.nextPart() instanceof Promise, true);
  await new Promise((resolve) => setTimeout(resolve, 5));
});
