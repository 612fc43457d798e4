import { assertEquals } from "@std/assert";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { systemClock } from "../../src/runtime/system_runtime.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";

testOnPostgres("a connection that hangs in the check of roles delays no other", async (url) => {
  const { hostname, port } = new URL(url);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const sockets: Deno.Conn[] = [];
  let [isFirst, hangs] = [true, false];
  const serving = (async () => {
    for await (const client of listener) {
      const server = await Deno.connect({ hostname, port: Number(port) });
      sockets.push(client, server);
      const mayHang = isFirst;
      isFirst = false;
      const pass = new TransformStream<Uint8Array, Uint8Array>({
        transform: (bytes, out) => mayHang && hangs ? undefined : out.enqueue(bytes),
      });
      void client.readable.pipeThrough(pass).pipeTo(server.writable).catch(() => {});
      void server.readable.pipeTo(client.writable).catch(() => {});
    }
  })();
  let skippedMs = 0;
  const clock = { ...systemClock, elapsedMs: () => systemClock.elapsedMs() + skippedMs };
  const proxied = new URL(url);
  proxied.hostname = "127.0.0.1";
  proxied.port = String(listener.addr.port);
  const driver = await openPostgres(proxied.href, { clock, maxConnections: 2, waitLimitMs: 1_000 });
  try {
    const select = async () => await driver.query({ text: "SELECT 1", values: [] });
    const ask = () => select().then(() => 200, () => 503);
    assertEquals(await Promise.all([ask(), ask()]), [200, 200]);
    [hangs, skippedMs] = [true, 1_001];
    const both = await Promise.all([ask(), ask()]);
    assertEquals(both.toSorted(), [200, 503]);
    // The connection that hangs is dropped, and the next one is used.
    let status = 503;
    for (let tries = 0; status === 503 && tries < 5; tries++) status = await ask();
    assertEquals([status, await ask()], [200, 200]);
  } finally {
    await driver.close();
    listener.close();
    await serving;
    for (const socket of sockets) {
      try {
        socket.close();
      } catch {
        // The streams may have closed it.
      }
    }
  }
});
