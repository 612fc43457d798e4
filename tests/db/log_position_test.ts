import { assert, assertEquals } from "@std/assert";
import {
  coversPosition,
  logPositionOrdinal,
  type SnapshotPosition,
} from "../../src/db/changes/log_position.ts";

Deno.test("a position that covers more has a greater ordinal, whichever transactions end first", () => {
  let state = 1;
  const dice = (sides: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * sides);
  };
  const running: bigint[] = [];
  let next = 1_000n;
  let lastEnded = 999n;
  // As a snapshot of Postgres: its xmax follows the last transaction that has ended.
  const position = (): SnapshotPosition => {
    const xmax = lastEnded + 1n;
    const seen = running.filter((xid) => xid < xmax);
    return { kind: "snapshot", epoch: "", xmin: seen[0] ?? xmax, xmax, running: seen };
  };
  for (let turn = 0; turn < 5_000; turn++) {
    const before = position();
    const isEnding = running.length > 0 && (running.length > 8 || dice(2) === 0);
    if (isEnding) {
      const [ended = 0n] = running.splice(dice(running.length), 1);
      if (ended > lastEnded) lastEnded = ended;
    } else running.push(next++);
    const after = position();
    assert(coversPosition(after, before));
    const step = logPositionOrdinal(after) - logPositionOrdinal(before);
    assertEquals(step > 0, isEnding, `${step} after the ${isEnding ? "end" : "begin"} of one`);
  }
});
