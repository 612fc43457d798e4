import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { startChild } from "./child_process.ts";

const processFile = new URL("./serve_process.ts", import.meta.url).pathname;

Deno.test("a signal stops the process with exit code 0, whatever else holds it", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    await using child = startChild([processFile, "200"]);
    const [, url = ""] = await child.printed(/^url (.*)$/m);
    const stream = await fetch(`${url}/stream`);
    child.signal(signal);
    assertEquals(await child.ended(), 0, child.stderr());
    await stream.text().catch(() => "cut off");
  }
});

Deno.test("a second signal does not wait for the first one's deadline", async () => {
  await using child = startChild([processFile, "20000"]);
  const [, url = ""] = await child.printed(/^url (.*)$/m);
  const stream = await fetch(`${url}/stream`);
  child.signal("SIGTERM");
  await child.printed(/drained/);
  const before = performance.now();
  const impatience = setInterval(() => {
    try {
      child.signal("SIGTERM");
    } catch (error) {
      // It has ended since: the test is about how soon.
      if (!(error instanceof TypeError)) throw error;
    }
  }, 20);
  const code = await child.ended().finally(() => clearInterval(impatience));
  assert(code !== 0);
  assert(performance.now() - before < 5_000);
  await stream.text().catch(() => "cut off");
});

Deno.test("a process that was replaced refused new connections at once", async () => {
  await using child = startChild([processFile, "20000"]);
  const [, url = ""] = await child.printed(/^url (.*)$/m);
  child.signal("SIGTERM");
  await child.printed(/announced/);
  assertEquals(await (await fetch(`${url}/`)).text(), "ok");
  assertEquals(await child.ended(), 0, child.stderr());
});

Deno.test("a signal that comes twice at once is one", async () => {
  await using child = startChild([processFile, "20000"]);
  await child.printed(/^url (.*)$/m);
  child.signal("SIGTERM");
  child.signal("SIGINT");
  assertEquals(await child.ended(), 0, child.stderr());
});

Deno.test("an unhandled rejection is observed and ends nothing, and a SIGHUP reaches the app", async () => {
  await using child = startChild([processFile, "200"]);
  const [, url = ""] = await child.printed(/^url (.*)$/m);
  child.signal("SIGHUP");
  await child.printed(/^hung up$/m);
  for (let i = 0; i < 3; i++) {
    assertEquals(await (await fetch(`${url}/forgotten`)).text(), "ok");
  }
  child.signal();
  assertEquals(await child.ended(), 0, child.stderr());
  assertStringIncludes(child.stderr(), '"event":"unhandled_rejection"');
  assertStringIncludes(child.stderr(), "an unhandled rejection");
});

Deno.test("a hook that threw in a timer ended the process", async () => {
  await using child = startChild([processFile, "200"]);
  const [, url = ""] = await child.printed(/^url (.*)$/m);
  assertEquals(await (await fetch(`${url}/timer`)).text(), "ok");
  await child.printed(/^threw$/m);
  assertEquals(await (await fetch(`${url}/`)).text(), "ok");
  child.signal();
  assertEquals(await child.ended(), 0, child.stderr());
  assertStringIncludes(child.stderr(), '"event":"uncaught_error"');
  assertStringIncludes(child.stderr(), "an error in a timer");
});
