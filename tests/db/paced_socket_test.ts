import { assert, assertEquals } from "@std/assert";
import { createServer, type Server } from "node:net";
import { once } from "node:events";
import { openDatabase } from "../../mod.ts";
import { createPacedSocketFactory } from "../../src/engines/postgres/driver/paced_socket.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object");
  return address.port;
}

Deno.test("a socket pauses after each burst of bytes, and loses none", async () => {
  const sent = crypto.getRandomValues(new Uint8Array(64 * 1024));
  const server = createServer((socket) => {
    for (let count = 0; count < 64; count++) socket.write(sent);
    socket.end();
  });
  const port = await listening(server);
  const socket = createPacedSocketFactory()({
    host: ["127.0.0.1"],
    port: [port],
    path: false,
    ssl: false,
  });
  let [pauses, at, isSame] = [0, 0, true];
  socket.on("pause", () => pauses++);
  socket.on("data", (bytes) => {
    for (const byte of bytes) isSame &&= byte === sent[at++ % sent.length];
  });
  await once(socket, "end");
  socket.destroy();
  server.close();
  assertEquals([at, isSame], [4 * 1024 * 1024, true]);
  assert(pauses >= 8, `${pauses} pauses`);
});

Deno.test("sockets go to one server after the other, or to a Unix socket", async () => {
  const servers = [createServer(), createServer()];
  const ports = await Promise.all(servers.map(listening));
  const connect = createPacedSocketFactory();
  const target = {
    host: ["127.0.0.1", "localhost"],
    port: ports,
    path: false,
    ssl: false,
  } as const;
  const reached: unknown[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const socket = connect(target);
    await once(socket, "connect");
    reached.push(socket.remotePort, Reflect.get(socket, "host"));
    socket.destroy();
  }
  const [first, second] = ports;
  assertEquals(reached, [first, "127.0.0.1", second, "localhost", first, "127.0.0.1"]);
  for (const server of servers) server.close();

  const path = await Deno.makeTempFile({ prefix: "paced-", suffix: ".sock" });
  await Deno.remove(path);
  const local = createServer();
  local.listen(path);
  await once(local, "listening");
  const socket = connect({ ...target, path });
  await once(socket, "connect");
  socket.destroy();
  local.close();
});

const server = testPostgres();
testUnless(
  "url" in server ? null : server.missing,
  "a database on the second of two servers opens, and reads rows of megabytes",
  async () => {
    const { host } = new URL("url" in server ? server.url : "");
    const db = await openDatabase(`postgres://postgres@127.0.0.1:1,${host}/postgres`);
    const text = "SELECT repeat(i::text, 1000000) AS body FROM generate_series(1, 5) i";
    const { rows } = await db.query({ text, values: [] });
    assertEquals(rows.map(([body]) => String(body).length), Array(5).fill(1_000_000));
    await db.close();
  },
);
