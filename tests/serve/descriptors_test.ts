import { assertEquals } from "@std/assert";
import { sleep } from "../../src/runtime/runtime.ts";
import { sqliteLibraries } from "../db/sqlite_reads_support.ts";
import { startChild } from "./child_process.ts";

const processFile = new URL("./listener_process.ts", import.meta.url).pathname;

/** As many connections as the server's kernel takes, each with the beginning of a request. */
async function sendHalves(port: number, count: number): Promise<Deno.TcpConn[]> {
  const tries = Array.from({ length: count }, async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    try {
      await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\nx-half"));
      return connection;
    } catch (error) {
      // The server has closed it already.
      connection.close();
      throw error;
    }
  });
  const results = await Promise.allSettled(tries);
  return results.flatMap((result) => result.status === "fulfilled" ? [result.value] : []);
}

/** The status and the body of a response on a connection of its own; null where it fails. */
async function get(url: string): Promise<[status: number, body: string] | null> {
  try {
    const signal = AbortSignal.timeout(2_000);
    const response = await fetch(url, { signal, headers: { connection: "close" } });
    return [response.status, await response.text()];
  } catch {
    return null;
  }
}

/** What the service answers once it answers that status. */
async function answerOf(url: string, status: number): Promise<string> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const answer = await get(url);
    if (answer?.[0] === status) return answer[1];
    await sleep(100);
  }
  throw new Error(`${url} did not answer ${status}`);
}

Deno.test("half-sent headers on every descriptor do not take open connections away", async () => {
  await using child = startChild([processFile], { descriptors: 128 });
  const [, url = ""] = await child.printed(/^url (.*)$/m);
  const port = Number(new URL(url).port);
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 1, poolIdleTimeout: false });
  const keptOpen = async () => await (await fetch(`${url}/row`, { client })).text();
  assertEquals(await keptOpen(), String(child.pid));

  const halves = await sendHalves(port, 200);
  while (!child.stderr().includes("listener_failed")) await sleep(20);
  assertEquals(await get(`${url}/row`), null);
  assertEquals(await keptOpen(), String(child.pid));

  for (const connection of halves) connection.close();
  assertEquals(await answerOf(`${url}/row`, 200), String(child.pid));
  assertEquals(await answerOf(`${url}/healthz`, 200), String(child.pid));
  assertEquals(child.stderr().split("listener_failed").length, 2);
});

Deno.test("a soft limit of few descriptors does not limit the connections", async () => {
  await using child = startChild([processFile], { descriptors: "-S 64" });
  const [, url = ""] = await child.printed(/^url (.*)$/m);
  const halves = await sendHalves(Number(new URL(url).port), 200);
  assertEquals((await get(`${url}/row`))?.[0], 200);
  assertEquals(child.stderr(), "");
  for (const connection of halves) connection.close();
});

for (const { name } of sqliteLibraries) {
  Deno.test(`a slow read while no descriptor was free ended the process (${name})`, async () => {
    const file = new URL("./scarce_threads_process.ts", import.meta.url).pathname;
    await using child = startChild([file, name], { descriptors: 256 });
    await child.printed(/^without descriptors overloaded$/m);
    // In the thread of all requests the read would keep the other one waiting.
    await child.printed(/^another request\nwith descriptors too-slow\nclosed$/m);
  });
}
