import { assert, assertEquals, assertRejects } from "@std/assert";
import { passBytes } from "../../../src/cli/workers/pass_bytes.ts";

/** A client and a server, with what passes the bytes between them. */
interface Passed extends AsyncDisposable {
  readonly client: Deno.TcpConn;
  readonly server: Deno.TcpConn;
  readonly passing: Promise<void>;
}

async function pass(): Promise<Passed> {
  const [client, left] = await connected();
  const [right, server] = await connected();
  const passing = passBytes(left, right);
  passing.catch(() => null);
  return {
    client,
    server,
    passing,
    async [Symbol.asyncDispose]() {
      for (const connection of [client, server]) close(connection);
      await passing.catch(() => null);
      for (const connection of [left, right]) close(connection);
    },
  };
}

async function connected(): Promise<readonly [Deno.TcpConn, Deno.TcpConn]> {
  const hostname = "127.0.0.1";
  using listener = Deno.listen({ hostname, port: 0 });
  const connecting = Deno.connect({ hostname, port: listener.addr.port });
  return [await connecting, await listener.accept()];
}

function close(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

async function send(connection: Deno.TcpConn, text: string): Promise<void> {
  await connection.write(new TextEncoder().encode(text));
}

/** All that comes, as text. */
async function received(connection: Deno.TcpConn): Promise<string> {
  const bytes = new Uint8Array(100);
  const size = await connection.read(bytes);
  return size === null ? "" : new TextDecoder().decode(bytes.subarray(0, size)) +
    await received(connection);
}

Deno.test("the end of one direction leaves the other open", async () => {
  await using passed = await pass();
  const { client, server, passing } = passed;
  await send(client, "question");
  await client.closeWrite();
  assertEquals(await received(server), "question");
  await send(server, "answer");
  server.close();
  assertEquals(await received(client), "answer");
  await passing;
});

Deno.test("a connection that breaks breaks the passing", async () => {
  await using passed = await pass();
  const { client, server, passing } = passed;
  // What it has not read makes its end a reset.
  await send(client, "unread");
  await server.read(new Uint8Array(1));
  server.close();
  await assertRejects(async () => {
    await send(client, "more");
    await passing;
  });
});

Deno.test("what the reader does not read is not read from the writer", async () => {
  await using passed = await pass();
  const { client, server } = passed;
  const total = 64 * 2 ** 20;
  let written = 0;
  const writing = (async () => {
    const chunk = new Uint8Array(2 ** 16);
    while (written < total) written += await client.write(chunk);
    await client.closeWrite();
  })();
  // Until it stands still: what is on its way is in the buffers of the system.
  for (let before = -1; before < written;) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert(written < total / 2, `${written} bytes were taken from the writer`);
  let read = 0;
  const chunk = new Uint8Array(2 ** 16);
  for (let size = await server.read(chunk); size !== null; size = await server.read(chunk)) {
    read += size;
  }
  await writing;
  assertEquals(read, written);
});
