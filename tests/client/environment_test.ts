import { assert, assertEquals, assertMatch } from "@std/assert";
import { browserEnvironment } from "../../exports/client.ts";

const client = new URL("../../exports/client.ts", import.meta.url).href;

Deno.test("the environment works without the parts of a browser", async () => {
  const program = `
    for (const name of ["navigator", "BroadcastChannel", "addEventListener", "indexedDB"]) {
      Object.defineProperty(globalThis, name, { value: undefined });
    }
    const { browserEnvironment } = await import(${JSON.stringify(client)});
    const environment = browserEnvironment();
    environment.onWake(() => {})();
    console.log(JSON.stringify([
      environment.isOnline(), environment.isHidden(), environment.locks,
      environment.indexedDB, environment.channel("tabs"),
    ]));`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-check", program],
    stderr: "inherit",
  }).output();
  assertEquals(JSON.parse(new TextDecoder().decode(stdout)), [true, false, null, null, null]);
});

Deno.test("the environment has time, chance and timers", async () => {
  const environment = browserEnvironment();
  environment.channel("a channel")?.close();
  assert(environment.random() < 1);
  assert(Math.abs(environment.now() - Date.now()) < 60_000);
  const ids = new Set(Array.from({ length: 100 }, environment.randomId));
  assertEquals(ids.size, 100);
  // An idempotency key has the printable characters of ASCII.
  for (const id of ids) assertMatch(id, /^\d+(-\d+){3}$/);
  let isCalled = false;
  const cancel = environment.after(5, () => {
    isCalled = true;
  });
  cancel();
  await new Promise<void>((resolve) => void environment.after(10, resolve));
  assertEquals(isCalled, false);
});

Deno.test("the environment calls when the network or the page comes back", () => {
  let calls = 0;
  const stop = browserEnvironment().onWake(() => calls++);
  for (const event of ["online", "pageshow", "visibilitychange", "offline"]) {
    globalThis.dispatchEvent(new Event(event));
  }
  stop();
  globalThis.dispatchEvent(new Event("online"));
  assertEquals(calls, 3);
});
