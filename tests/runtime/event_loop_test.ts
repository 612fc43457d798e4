import { assertEquals } from "@std/assert";
import { createYieldTurn } from "../../src/runtime/runtime.ts";
import { handClock } from "../db/hand_clock.ts";

Deno.test("long work continues at once until 5 ms are over, then others come first", async () => {
  const { clock, advance } = handClock();
  const giveTurn = createYieldTurn(clock);
  const waits = async () => {
    let othersCame = false;
    const others = setTimeout(() => othersCame = true, 0);
    await giveTurn();
    clearTimeout(others);
    return othersCame;
  };
  assertEquals(await waits(), false);
  advance(4);
  assertEquals(await waits(), false);
  advance(1);
  assertEquals(await waits(), true);
  assertEquals(await waits(), false, "the next turn begins after the wait");
  advance(5);
  assertEquals(await waits(), true);
});
