import { assertEquals, assertRejects } from "@std/assert";
import { SharedTimeout } from "../../src/runtime/shared_timeout.ts";
import { handClock } from "../db/hand_clock.ts";

Deno.test("each of several waits has the whole time, whichever of them end before", async () => {
  const { clock, advance } = handClock();
  const timeout = new SharedTimeout(clock, 100);
  const late = (name: string) => () => new Error(name);
  const never = new Promise<never>(() => {});
  const quick = Promise.withResolvers<string>();
  const first = timeout.within(quick.promise, late("first"));
  advance(40);
  const second = assertRejects(() => timeout.within(never, late("second")), Error, "second");
  let ended = false;
  void second.then(() => ended = true);
  quick.resolve("in time");
  assertEquals(await first, "in time");
  advance(99);
  await Promise.resolve().then().then();
  assertEquals(ended, false, "the time of the first wait does not end the second");
  advance(1);
  await second;
  const third = assertRejects(() => timeout.within(never, late("third")), Error, "third");
  advance(100);
  await third;
  assertEquals(await timeout.within(Promise.resolve(5), late("fourth")), 5);
});
