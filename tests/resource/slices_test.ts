import { assert, assertEquals } from "@std/assert";
import { timedSlices } from "../../src/resource/write/read_rows_to_write.ts";
import { handClock } from "../db/hand_clock.ts";

/** The sizes of the slices in which 100 items are written that take so long each. */
async function sizesAt(msOfItem: (index: number) => number): Promise<readonly number[]> {
  const { clock, advance } = handClock();
  const inSlices = timedSlices(60, clock);
  const items = Array.from({ length: 100 }, (_, index) => index);
  const sizes: number[] = [];
  const seen: number[] = [];
  await inSlices(items, (some) => {
    sizes.push(some.length);
    seen.push(...some);
    for (const index of some) advance(msOfItem(index));
    return Promise.resolve();
  });
  assertEquals(seen, items);
  return sizes;
}

Deno.test("a slice of a batch has as many rows as take 5 ms, one at least", async () => {
  for (const [ms, expected] of [[0, [1, 4, 16, 60, 19]], [1, [1, 4]], [20, [1, 1]]] as const) {
    const sizes = await sizesAt(() => ms);
    assertEquals(sizes.slice(0, expected.length), [...expected]);
    assert(sizes.every((size) => size === 1 || size * ms <= 5), `${sizes}`);
  }
});

Deno.test("a slice is small again once rows are large", async () => {
  const sizes = await sizesAt((index) => index < 20 ? 0.1 : 20);
  assertEquals(sizes.slice(0, 3), [1, 4, 16]);
  assert(sizes.slice(4).every((size) => size === 1), `${sizes}`);
});

Deno.test("other requests have their turn between two slices", async () => {
  const { clock, advance } = handClock();
  let turns = 0;
  let isOver = false;
  const other = (async () => {
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      turns++;
    }
  })();
  await timedSlices(60, clock)(Array(20).fill(null), () => {
    advance(20);
    return Promise.resolve();
  });
  isOver = true;
  await other;
  assert(turns >= 15, `${turns}`);
});
