import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { LiveRow } from "../../../src/client/live/live_messages.ts";
import { RowSet } from "../../../src/client/live/row_set.ts";

const description = { primaryKey: ["id"], types: { id: "integer", rank: "integer", name: "text" } };

const opened = { type: "opened", description, asked: 1 } as const;

const write = fc.record({
  kind: fc.constantFrom("put", "put", "put", "remove"),
  id: fc.integer({ min: 1, max: 12 }),
  rank: fc.option(fc.integer({ min: 0, max: 3 })),
  name: fc.constantFrom("a", "B", "\uffff", "😀", ""),
  commits: fc.boolean(),
});

Deno.test("after each commit a row set has the rows of its events, in their order", () => {
  fc.assert(
    fc.property(fc.array(write, { maxLength: 80 }), fc.nat(3), (writes, size) => {
      const set = new RowSet(["-rank", "name"]);
      const model = new Map<number, LiveRow>();
      set.take(opened);
      const first = Array.from(
        { length: size },
        (_, id) => ({ id: id + 1, rank: null, name: "x" }),
      );
      for (const row of first) model.set(row.id, row);
      set.take({ type: "existing", items: first });
      set.take({ type: "token", token: "t" });
      for (const { kind, id, rank, name, commits } of writes) {
        const shown = set.items;
        if (kind === "remove") {
          set.take({ type: "removed", id });
          model.delete(id);
        } else {
          const item = { id, rank, name };
          set.take({ type: model.has(id) ? "changed" : "added", id, item });
          model.set(id, item);
        }
        if (commits) set.take({ type: "token", token: "t" });
        assertEquals(set.items, commits ? [...model.values()].sort(byRankAndName) : shown);
      }
    }),
    { numRuns: 300 },
  );
});

/** Written apart from the code: nulls last, texts by code point, the key at the end. */
function byRankAndName(left: LiveRow, right: LiveRow): number {
  const rank = (row: LiveRow) => row.rank === null ? 99 : 3 - Number(row.rank);
  const name = (row: LiveRow) => [...String(row.name)].map((c) => c.codePointAt(0) ?? 0);
  return rank(left) - rank(right) || compareLists(name(left), name(right)) ||
    Number(left.id) - Number(right.id);
}

function compareLists(left: readonly number[], right: readonly number[]): number {
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = (left[i] ?? 0) - (right[i] ?? 0);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

Deno.test("after an invalidation the old rows show until all new ones are there", () => {
  const set = new RowSet([]);
  set.take(opened);
  set.take({ type: "existing", items: [{ id: 1 }, { id: 2 }] });
  set.take({ type: "token", token: "t" });
  set.take({ type: "invalidate" });
  set.take({ type: "existing", items: [{ id: 3 }] });
  assertEquals(set.items, [{ id: 1 }, { id: 2 }]);
  set.take({ type: "existing", items: [{ id: 4 }] });
  set.take({ type: "removed", id: 3 });
  set.take({ type: "token", token: "t" });
  assertEquals(set.items, [{ id: 4 }]);
});
