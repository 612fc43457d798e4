import { assertEquals } from "@std/assert";
import { type Effect, History, type RowState } from "./history.ts";

const write = (value: number): Effect => () => ({ value });
const read = (value: number): Effect => (state) => state?.["value"] === value ? state : undefined;

function historyOf(): History {
  return new History(new Map<number, RowState>([[1, { value: 0 }]]));
}

Deno.test("a history with a stale read has no order", () => {
  const history = historyOf();
  history.end(history.begin(1, "write 1", write(1)), write(1));
  const stale = history.begin(1, "read 0", read(0));
  history.end(stale, read(0));
  assertEquals(history.check()?.startsWith("no order explains row 1"), true);
});

Deno.test("an operation with an unknown outcome may have happened or not", () => {
  for (const value of [0, 1]) {
    const history = historyOf();
    history.begin(1, "write 1", write(1));
    history.end(history.begin(1, "read", read(value)), read(value));
    assertEquals(history.check(), null);
  }
});

Deno.test("concurrent operations may have any order, and later ones may not", () => {
  const history = historyOf();
  const [one, two] = [history.begin(1, "write 1", write(1)), history.begin(1, "write 2", write(2))];
  history.end(two, write(2));
  history.end(one, write(1));
  history.end(history.begin(1, "read 2", read(2)), read(2));
  assertEquals(history.check(), null);
  history.end(history.begin(1, "read 1", read(1)), read(1));
  assertEquals(history.check() === null, false);
});
