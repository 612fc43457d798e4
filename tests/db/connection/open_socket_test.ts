import { assert, assertEquals } from "@std/assert";
import { createServer, type Server } from "node:net";
import { once } from "node:events";
import { openDatabase } from "../../../mod.ts";
import {
  connectionError,
  openSocket,
} from "../../../src/engines/postgres/connection/open_socket.ts";
import { tlsOfParameters } from "../../../src/engines/postgres/connection/connection_plan.ts";
import { testPostgres, testUnless } from "../../support/skip.ts";

const { signal } = new AbortController();
const noTls = tlsOfParameters(() => undefined, () => undefined, []);

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
  const target = { host: "127.0.0.1", address: "127.0.0.1", port, path: null };
  const socket = await openSocket(target, noTls, false, signal);
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

Deno.test("a socket that is given up while a server is silent ends", async () => {
  const server = createServer();
  const port = await listening(server);
  const target = { host: "127.0.0.1", address: "127.0.0.1", port, path: null };
  const given = new AbortController();
  const reached = once(server, "connection");
  const opening = openSocket(target, noTls, true, given.signal).catch((error) => error.code);
  await reached;
  given.abort(connectionError("CONNECTION_CLOSED", "was lost"));
  assertEquals(await opening, "CONNECTION_CLOSED");
  server.close();
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
