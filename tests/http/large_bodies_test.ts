import { assertEquals } from "@std/assert";
import { LargeBodyLimiter } from "../../src/resource/http/large_bodies.ts";
import { handClock } from "../db/hand_clock.ts";

const megabyte = 1024 * 1024;

/** Each piece of work runs until it is ended by its name. */
function runner() {
  const { clock, advance } = handClock();
  const bodies = new LargeBodyLimiter(clock);
  const running = new Map<string, () => void>();
  const pendingWork = () => new Promise((resolve) => setTimeout(resolve, 0));
  return {
    advance,
    start(name: string, bytes: number, identity = "ada") {
      void bodies.run(identity, bytes, () =>
        new Promise<void>((resolve) => {
          running.set(name, () => {
            running.delete(name);
            resolve();
          });
        }));
    },
    async end(name: string) {
      running.get(name)?.();
      await pendingWork();
    },
    async running() {
      await pendingWork();
      return [...running.keys()];
    },
  };
}

Deno.test("fifty writes of a megabyte ran at once, and others waited while all came back", async () => {
  const { start, end, running } = runner();
  for (const name of ["a", "b", "c", "d"]) start(name, megabyte);
  assertEquals(await running(), ["a", "b"]);
  await end("a");
  assertEquals(await running(), ["b", "c"]);
  await end("c");
  assertEquals(await running(), ["b", "d"]);
});

Deno.test("a body over the limit runs alone, and small ones of another user before more of the first", async () => {
  const { start, end, running } = runner();
  start("huge", 3 * megabyte);
  start("second", megabyte);
  start("third", 2 * megabyte);
  start("of bob", megabyte, "bob");
  assertEquals(await running(), ["huge"]);
  await end("huge");
  assertEquals(await running(), ["second", "of bob"]);
});

Deno.test("a body over the limit waited for as long as smaller ones of others came", async () => {
  const { start, end, running } = runner();
  for (const name of ["first", "second"]) start(name, megabyte, "bob");
  start("huge", 3 * megabyte);
  start("third", megabyte, "bob");
  assertEquals(await running(), ["first", "second"]);
  await end("first");
  assertEquals(await running(), ["second"]);
  await end("second");
  assertEquals(await running(), ["huge"]);
  await end("huge");
  assertEquals(await running(), ["third"]);
});

Deno.test("work that waits for something else keeps no other waiting, and ends once", async () => {
  const { advance, start, end, running } = runner();
  for (const name of ["a", "b", "c", "d", "e"]) start(name, 2 * megabyte);
  assertEquals(await running(), ["a"]);
  advance(250);
  assertEquals(await running(), ["a", "b"]);
  await end("a");
  assertEquals(await running(), ["b"]);
  await end("b");
  assertEquals(await running(), ["c"]);
});

Deno.test("beyond 64 MiB that wait, a large body is refused", async () => {
  const bodies = new LargeBodyLimiter(handClock().clock);
  const held = Promise.withResolvers<void>();
  const all = Array.from(
    { length: 66 },
    () => bodies.run("ada", megabyte, () => held.promise),
  );
  const refused = await bodies.run("bob", megabyte, () => held.promise).catch(({ status }) =>
    status
  );
  assertEquals(refused, 503);
  held.resolve();
  await Promise.all(all);
  assertEquals(await bodies.run("bob", megabyte, () => Promise.resolve("done")), "done");
});

Deno.test("work that fails makes room", async () => {
  const bodies = new LargeBodyLimiter(handClock().clock);
  const failing = bodies.run("ada", 2 * megabyte, () => Promise.reject(new Error("refused")));
  const waiting = bodies.run("ada", 2 * megabyte, () => Promise.resolve("done"));
  assertEquals(await failing.catch(({ message }) => message), "refused");
  assertEquals(await waiting, "done");
});
