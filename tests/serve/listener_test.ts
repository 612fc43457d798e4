import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { handClock } from "../db/hand_clock.ts";
import { testUnless } from "../support/skip.ts";
import { type Child, runChild, startChild } from "./child_process.ts";
import { listen, type Listenable, urlOf } from "../../src/listen/listener.ts";
import { type Observation, sleep } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { assertThrows } from "@std/assert";

const processFile = new URL("./listener_process.ts", import.meta.url).pathname;

async function urlFrom(child: Child): Promise<string> {
  const [, url = ""] = await child.printed(/^url (.*)$/m);
  return url;
}

async function textOf(url: string): Promise<string> {
  return await (await fetch(url)).text();
}

Deno.test("the same process answers again soon after a flood of idle connections", async () => {
  await using child = startChild([processFile], { descriptors: 64 });
  const url = await urlFrom(child);
  assertEquals(await textOf(url), String(child.pid));

  const idle = await openIdleConnections(Number(new URL(url).port), 120);
  await sleep(500);
  for (const connection of idle) connection.close();

  const deadline = performance.now() + 2_000;
  let answer = "";
  while (answer === "" && performance.now() < deadline) {
    answer = await fetch(url, { signal: AbortSignal.timeout(500) })
      .then((response) => response.text(), () => "");
    if (answer === "") await sleep(50);
  }
  assertEquals(answer, String(child.pid), child.stderr());
  assertStringIncludes(child.stderr(), '"event":"listener_failed"');
});

/** As many connections as the server accepts. */
async function openIdleConnections(port: number, count: number): Promise<Deno.Conn[]> {
  const tries = Array.from({ length: count }, () => Deno.connect({ hostname: "127.0.0.1", port }));
  const results = await Promise.allSettled(tries);
  return results.flatMap((result) => result.status === "fulfilled" ? [result.value] : []);
}

Deno.test("stopping lets a request in flight finish, then closes the app", async () => {
  await using child = startChild([processFile]);
  const url = await urlFrom(child);
  const slow = textOf(`${url}/slow`);
  await child.printed(/slow request/);
  child.signal("SIGTERM");
  assertEquals(await slow, "slow but whole");
  assertEquals(await child.ended(), 0);
  assertMatch(child.stdout(), /drained\nclosed\nfinished/);
});

Deno.test("stopping waits for an endless stream no longer than its deadline", async () => {
  await using child = startChild([processFile]);
  const url = await urlFrom(child);
  const stream = await fetch(`${url}/stream`);
  child.signal("SIGTERM");
  assertEquals(await child.ended(), 0);
  await stream.text().catch(() => "cut off");
});

Deno.test("an app that throws shows no stack to the client, and the whole error to the observer", async () => {
  await using child = startChild([processFile]);
  const response = await fetch(`${await urlFrom(child)}/throw`);
  assertEquals(response.status, 500);
  assertEquals(response.headers.get("content-type"), "application/problem+json");
  const body = await response.text();
  assert(!body.includes("secret"), body);
  while (!child.stderr().includes("\n")) await sleep(20);
  assertStringIncludes(child.stderr(), "the secret of the house");
});

const emptyApp: Listenable = {
  fetch: () => new Response("ok"),
  drain() {},
  close: () => Promise.resolve(),
};

Deno.test("a taken port is an error of one clear sentence", async () => {
  const runtime = systemRuntime(() => {});
  const server = listen(emptyApp, { port: 0 }, runtime);
  assertThrows(
    () => listen(emptyApp, { port: server.port }, runtime),
    Error,
    `Cannot listen on http://127.0.0.1:${server.port}: the port is taken`,
  );
  await server.stop();
});

testUnless(
  Deno.build.os === "linux" ? null : "only Linux shares ports",
  "several processes share a port",
  async () => {
    const args = (port: string) => [processFile, port, "reusePort"];
    await using first = startChild(args("0"));
    const { port } = new URL(await urlFrom(first));
    await using second = startChild(args(port));
    const url = await urlFrom(second);
    const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const answers = new Set<string>();
    while (answers.size < 2) answers.add(await (await fetch(url, { client })).text());
    client.close();
    assertEquals(answers, new Set([String(first.pid), String(second.pid)]));
  },
);

Deno.test("without Deno's flag a shared port is an error of one clear sentence", async () => {
  // The flag is in the deno.json of this repository.
  const { stderr } = await runChild(["--no-config", processFile, "0", "reusePort"]);
  assertStringIncludes(
    stderr,
    "Cannot listen on http://127.0.0.1:0: reusePort needs Deno with --unstable-net",
  );
});

Deno.test("stopping twice stops once, and the port is free afterwards", async () => {
  const seen: Observation["kind"][] = [];
  const runtime = systemRuntime((observation) => seen.push(observation.kind));
  const server = listen(emptyApp, { port: 0 }, runtime);
  assertEquals(await textOf(server.url), "ok");
  await Promise.all([server.stop(), server.stop()]);
  await server.finished;
  assertEquals(seen, ["listening", "draining"]);
  const again = listen(emptyApp, { port: server.port }, runtime);
  await again.stop();
});

Deno.test("a new connection was refused while the service drained", async () => {
  const { clock, advance } = handClock();
  const runtime = { ...systemRuntime(() => {}), clock };
  let isDraining = false;
  const app: Listenable = {
    ...emptyApp,
    fetch: () => new Response(null, { status: isDraining ? 503 : 200 }),
    announceStop: () => void (isDraining = true),
  };
  const server = listen(app, { port: 0, drainMs: 5_000 }, runtime);
  const firstLine = async () => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    const request = "GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    await connection.write(new TextEncoder().encode(request));
    const bytes = new Uint8Array(100);
    const length = await connection.read(bytes) ?? 0;
    return new TextDecoder().decode(bytes.subarray(0, length)).split("\r\n")[0];
  };
  assertEquals(await firstLine(), "HTTP/1.1 200 OK");
  const stopped = server.stop();
  assertEquals(await firstLine(), "HTTP/1.1 503 Service Unavailable");
  advance(4_999);
  assertEquals(await firstLine(), "HTTP/1.1 503 Service Unavailable");
  advance(1);
  await stopped;
  await assertRejects(firstLine, Deno.errors.ConnectionRefused);
});

Deno.test("the client of a stream that ended by a stop was refused its next one on that connection", async () => {
  const { clock, advance } = handClock();
  const runtime = { ...systemRuntime(() => {}), clock };
  let stream: ReadableStreamDefaultController<Uint8Array>;
  const app: Listenable = {
    ...emptyApp,
    fetch: () =>
      new Response(
        new ReadableStream<Uint8Array>({
          start(controller) {
            stream = controller;
            controller.enqueue(new TextEncoder().encode("begun"));
          },
        }),
      ),
    drain() {
      stream.enqueue(new TextEncoder().encode("ended"));
      stream.close();
    },
  };
  const server = listen(app, { port: 0, drainMs: 1_000 }, runtime);
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  const text = connectionText(connection);
  await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
  assertStringIncludes(await text.until("begun"), "200 OK");
  const stopped = server.stop();
  advance(999);
  assertEquals(text.sofar().includes("ended"), false);
  advance(1);
  // The connection ends with the stream, and not at the end of the stop alone.
  assertMatch(await text.toEnd(), /ended\r\n0\r\n\r\n$/);
  await stopped;
});

Deno.test("answers while the service drains ask their clients to end the connection", async () => {
  const { clock, advance } = handClock();
  const runtime = { ...systemRuntime(() => {}), clock };
  const server = listen(
    { ...emptyApp, fetch: () => Response.redirect("http://x/") },
    { port: 0, drainMs: 1_000 },
    runtime,
  );
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  const text = connectionText(connection);
  const request = new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await connection.write(request);
  assertEquals(/connection: close/i.test(await text.until("\r\n\r\n")), false);
  const stopped = server.stop();
  await connection.write(request);
  assertMatch(await text.until("close\r\n"), /302 Found[^]*302 Found[^]*\r\nconnection: close/i);
  advance(1_000);
  await stopped;
});

function connectionText(connection: Deno.TcpConn) {
  let text = "";
  const read = async () => {
    const bytes = new Uint8Array(4_096);
    const length = await connection.read(bytes);
    if (length !== null) text += new TextDecoder().decode(bytes.subarray(0, length));
    return length !== null;
  };
  return {
    sofar: () => text,
    async until(part: string) {
      while (!text.includes(part) && await read());
      return text;
    },
    async toEnd() {
      while (await read());
      return text;
    },
  };
}

Deno.test("an IPv6 address is in brackets in a URL", () => {
  assertEquals(urlOf("::1", 80), "http://[::1]:80");
  assertEquals(urlOf("127.0.0.1", 8000), "http://127.0.0.1:8000");
});
