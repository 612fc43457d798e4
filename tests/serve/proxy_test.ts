import { assertEquals, assertMatch } from "@std/assert";
import { openEventStream } from "../support/event_stream.ts";
import { proxyForTests, type ProxyName, type ProxyProgram } from "../support/proxies.ts";
import { testUnless } from "../support/skip.ts";
import { streamsPerAddress, throughProxy } from "./proxy.ts";

const folder = await Deno.makeTempDir({ prefix: "resource-api-proxies-" });
addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

for (const name of ["nginx", "caddy"] as const) testProxy(name, await proxyForTests(name, folder));

function testProxy(name: ProxyName, program: ProxyProgram): void {
  const missing = "missing" in program ? program.missing : null;
  const path = "path" in program ? program.path : "";
  const test = (promise: string, work: (port: number) => Promise<void>) =>
    testUnless(missing, `through ${name}, ${promise}`, () => throughProxy({ name, path }, work));

  test("half-sent headers of fifty connections are cut off, and others are answered", async (port) => {
    const halves = await Promise.all(Array.from({ length: 50 }, () => sendHalf(port)));
    assertEquals(await statusOf(fetch(`http://127.0.0.1:${port}/api/notes`)), 200);
    await Promise.all(halves.map(readToEnd));
  });

  test("events arrive one by one", async (port) => {
    const url = `http://127.0.0.1:${port}/api/notes`;
    const stream = await openEventStream(
      (signal) => fetch(`${url}/subscribe`, { signal }),
      () => {},
    );
    await stream.untilSynced();
    for (const title of ["first", "second"]) {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ title });
      assertEquals(await statusOf(fetch(url, { method: "POST", headers, body })), 201);
      let event = await stream.next();
      while (event?.type === "") event = await stream.next();
      assertEquals([event?.type, event?.data.item.title], ["added", title]);
    }
    await stream.close();
  });

  test("a client is counted by its address, whatever it claims", async (port) => {
    const leaving: (() => Promise<void>)[] = [];
    const open = async (localAddress: string, claimed: string) => {
      const client = Deno.createHttpClient({ localAddress });
      const response = await fetch(`http://127.0.0.1:${port}/api/notes/subscribe`, {
        client,
        headers: { "x-forwarded-for": claimed },
      });
      leaving.push(async () => {
        await response.body?.cancel();
        client.close();
      });
      return response.status;
    };
    for (let turn = 0; turn < streamsPerAddress; turn++) {
      assertEquals(await open("127.0.0.9", `192.0.2.${turn}`), 200);
    }
    assertEquals(await open("127.0.0.9", "192.0.2.9"), 429);
    assertEquals(await open("127.0.0.10", "127.0.0.9"), 200);
    await Promise.all(leaving.map((leave) => leave()));
  });

  test("a body over the limit is refused before it has been sent", async (port) => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const head = "POST /api/notes HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    const begun = `${head}content-length: 9000000\r\n\r\n${" ".repeat(2_000_000)}`;
    const bytes = new TextEncoder().encode(begun);
    // The proxy may close the connection while this is written.
    const writing = connection.write(bytes).catch(() => null);
    const buffer = new Uint8Array(12);
    await connection.read(buffer);
    // Caddy says 502 where it finds out before the service does.
    assertMatch(new TextDecoder().decode(buffer), name === "caddy" ? / (413|502)$/ : / 413$/);
    await writing;
  });
}

async function sendHalf(port: number): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode("GET /api/notes HTTP/1.1\r\nhost: x\r\nx-ha"));
  return connection;
}

/** Fails where the proxy leaves the connection open. */
async function readToEnd(connection: Deno.TcpConn): Promise<void> {
  const limit = setTimeout(() => connection.close(), 15_000);
  const buffer = new Uint8Array(1_024);
  try {
    while (await connection.read(buffer) !== null);
  } catch (error) {
    if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
  }
  clearTimeout(limit);
  connection.close();
}

async function statusOf(answer: Promise<Response>): Promise<number> {
  const response = await answer;
  await response.body?.cancel();
  return response.status;
}
