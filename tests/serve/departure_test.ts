import { assert, assertEquals } from "@std/assert";
import { sleep } from "../../src/runtime/runtime.ts";
import { type Child, startChild } from "./child_process.ts";

const processFile = new URL("./departure_process.ts", import.meta.url).pathname;

/** The states of streams in which clients disconnect. */
const streams: Readonly<Record<string, (port: number) => Promise<Deno.TcpConn>>> = {
  async "quiet"(port) {
    const connection = await openStream(port, "quiet");
    await readUntil(connection, `"hasMore":false`);
    return connection;
  },
  // Unread bytes turn a close into a reset of the connection.
  "quiet, reset": (port) => openStream(port, "quiet"),
  async "parked, reset"(port) {
    const connection = await openStream(port, "large");
    await readUntil(connection, "event: existing");
    return connection;
  },
};

for (const listener of ["service", "mounted", "untold"] as const) {
  Deno.test(`a client that disconnects frees its stream slot at once (${listener})`, async () => {
    await using child = startChild([processFile, listener]);
    const port = await portOf(child);
    for (const [name, open] of Object.entries(streams)) {
      const connection = await open(port);
      assertEquals(await statusOf(port), 429, `${name}: the place is taken`);
      connection.close();
    }
    const half = await streams["quiet"]?.(port);
    await half?.closeWrite();
    const early = await send(port, requestOf("quiet"));
    early.close();
    const within = await send(port, requestOf("quiet").slice(0, 30));
    within.close();
    (await openStream(port, "quiet")).close();
    half?.close();
  });
}

for (const listener of ["service", "mounted"] as const) {
  Deno.test(`a stream that a middleware drops frees its slot at once (${listener})`, async () => {
    await using child = startChild([processFile, listener]);
    const port = await portOf(child);
    const connection = await openStream(port, "quiet", "&drop");
    await readUntil(connection, "another");
    (await openStream(port, "quiet")).close();
    connection.close();
  });

  Deno.test(`a stream makes Deno print nothing (${listener})`, async () => {
    await using child = startChild([processFile, listener]);
    const port = await portOf(child);
    for (let turn = 0; turn < 2; turn++) (await streams["quiet"]?.(port))?.close();
    assertEquals(child.stderr(), "");
  });
}

async function portOf(child: Child): Promise<number> {
  const [, port] = await child.printed(/^port (\d+)$/m);
  return Number(port);
}

/** Opens a stream as soon as a slot is free, and reads no more than its status. */
async function openStream(port: number, name: string, rest = ""): Promise<Deno.TcpConn> {
  const deadline = performance.now() + 5_000;
  while (true) {
    const connection = await send(port, requestOf(name, rest));
    const status = (await readSome(connection, "HTTP/1.1 200".length)).split(" ")[1];
    if (status === "200") return connection;
    connection.close();
    assert(performance.now() < deadline, `the place is not free: ${status}`);
    await sleep(20);
  }
}

async function statusOf(port: number): Promise<number> {
  using connection = await send(port, requestOf("quiet"));
  return Number((await readSome(connection, 1_024)).split(" ")[1]);
}

function requestOf(name: string, rest = ""): string {
  return `GET /api/${name}/subscribe?filter=id>0${rest} HTTP/1.1\r\nhost: test\r\n\r\n`;
}

async function send(port: number, text: string): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(text));
  return connection;
}

async function readUntil(connection: Deno.TcpConn, end: string): Promise<void> {
  let text = "";
  while (!text.includes(end)) text += await readSome(connection, 1_024);
}

async function readSome(connection: Deno.TcpConn, most: number): Promise<string> {
  const buffer = new Uint8Array(most);
  const length = await connection.read(buffer);
  assert(length !== null, "the connection ended");
  return new TextDecoder().decode(buffer.subarray(0, length));
}
