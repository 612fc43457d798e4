import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Child, startChild } from "./child_process.ts";

const processFile = new URL("./export_process.ts", import.meta.url).pathname;
const headers = { accept: "text/csv" };

async function urlFrom(child: Child): Promise<string> {
  const [, url = ""] = await child.printed(/^url (.*)$/m);
  return url;
}

/** Sends a raw request, because an HTTP client would interpret the answer. */
async function sendRequest(url: string, path: string): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) });
  const request =
    `GET ${path} HTTP/1.1\r\nhost: x\r\naccept: text/csv\r\nconnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  return connection;
}

Deno.test("an export that fails ends as a broken transfer, and the process keeps serving without output", async () => {
  await using child = startChild([processFile]);
  const url = await urlFrom(child);
  const answer = await new Response((await sendRequest(url, "/api/broken")).readable).text();
  assert(answer.startsWith("HTTP/1.1 200 "), answer.slice(0, 200));
  assert(answer.includes("\r\nid,body\r\n1,"), "the first page has been sent");
  assertEquals(answer.endsWith("\r\n0\r\n\r\n"), false, "the chunk that ends a body has not");
  await assertRejects(async () => await (await fetch(`${url}/api/broken`, { headers })).text());

  const whole = await new Response((await sendRequest(url, "/api/rows?limit=1000")).readable)
    .text();
  assertEquals(whole.endsWith("\r\n0\r\n\r\n"), true);
  child.signal();
  assertEquals(await child.ended(), 0);
  const events = child.stderr().trim().split("\n").map((line) => JSON.parse(line).event);
  assertEquals(events, ["answer_broke_off", "answer_broke_off", "draining"]);
});

Deno.test("a client that disconnects ends its export, and one that reads slowly pauses it", async () => {
  await using child = startChild([processFile]);
  const url = await urlFrom(child);
  const slow = await fetch(`${url}/api/rows`, { headers });
  const leaving = await sendRequest(url, "/api/rows");
  await leaving.read(new Uint8Array(1_000));
  leaving.close();
  const [, pages] = await child.printed(/ended after (\d+) pages/);
  assert(Number(pages) < 150, `${pages} of 199 pages`);

  // Other clients are answered while the slow one still lacks most of its rows.
  assertEquals((await (await fetch(`${url}/api/rows?limit=1`)).json()).hasMore, true);
  assertEquals(child.stdout().match(/ended/g)?.length, 1);
  const text = await slow.text();
  assertEquals(text.match(/\n/g)?.length, 100_001);
  child.signal();
  assertEquals(await child.ended(), 0);
  assertEquals(child.stderr().trim().split("\n").length, 1, child.stderr());
});
