import { assertEquals } from "@std/assert";
import type { Position } from "../../src/db/changes/log_position.ts";
import { GroupHeldRows } from "../../src/live/dispatch/group_held_rows.ts";
import type { LiveSubscriber } from "../../src/live/dispatch/group_listener.ts";
import { HeldRows } from "../../src/live/match/held_rows.ts";

const at = (seq: number): Position => ({ kind: "sequence", epoch: "e", seq, mark: seq });
const subscriber = (): LiveSubscriber => ({
  invalidate() {},
  fail() {},
  deliver() {},
  lag() {},
});
const rowChange = {
  seq: 2,
  before: null,
  after: null,
  changed: 0,
  between: [],
  optimisticId: null,
};

/**
 * Change 2 lets row 1 pass, or not. The group has evaluated it at change 1, and read it when change
 * 2 was committed. A stream caught up with change 1 before that, joins, and change 2 is published.
 */
function joinBeforeChange(passesAhead: boolean) {
  const group = new GroupHeldRows();
  const [first, late] = [subscriber(), subscriber()];
  group.join(first, HeldRows.unknown(), new Set());
  group.held.set("1", passesAhead, { at: at(2), to: at(1) });
  group.join(late, HeldRows.unknown(), new Set([first]));
  const was = group.held.has("1") ?? false;
  return (passes: boolean) => {
    const { events, individual } = group.eventsOf([{ id: "1", rowChange, was, passes }]);
    const kinds = (some: typeof events) => some.map(({ kind }) => kind);
    const own = individual.get(late);
    return {
      first: kinds(events),
      late: own === null ? "begins again" : kinds(own ?? events),
    };
  };
}

Deno.test("a stream is sent no `changed` of a row that only the others hold for certain", () => {
  assertEquals(joinBeforeChange(true)(true), { first: ["changed"], late: "begins again" });
});

Deno.test("a stream is sent no `added` of a row that it may hold", () => {
  assertEquals(joinBeforeChange(false)(true), { first: ["added"], late: "begins again" });
});

Deno.test("a stream whose rows are forgotten when it leaves is reported", () => {
  const group = new GroupHeldRows();
  const [first, late] = [subscriber(), subscriber()];
  group.join(first, HeldRows.unknown(), new Set());
  group.held.set("1", true, { at: at(2), to: at(1) });
  group.join(late, HeldRows.unknown(), new Set([first]));
  assertEquals(group.leave(late, new Set([first])), null);
  assertEquals(group.leave(first, new Set())?.has("1"), true);
});
