import { assert, assertEquals } from "@std/assert";
import {
  addEnqueuedChange,
  addIntent,
  confirmIntent,
  failEntry,
  finishEntry,
  intentTimeoutMs,
  leaseEntry,
  type OutboxEntry,
  queuePositionOf,
  releaseEntry,
  removeWriteIntent,
  revive,
} from "../../../src/search/outbox/outbox_entry.ts";
import { retryDelayMs } from "../../../src/search/outbox/outbox_entry.ts";
import { randomOf } from "../../billing/ledger_model.ts";

const name = { index: "notes", docId: "1" };
const schedule = { backoffBaseMs: 1_000, maxAttempts: 10 };

function intent(id: string, at = 0) {
  return { id, at };
}

/** An entry with the work of one committed write. */
function written(at = 0): OutboxEntry {
  return confirmIntent(addIntent(null, name, intent("a", at)), name, intent("a", at));
}

function taken(entry: OutboxEntry, now: number, owner = "x"): OutboxEntry {
  const found = leaseEntry(entry, { owner, until: now + 120_000 }, now);
  assert(found !== null, "it is due");
  return found;
}

function failed(entry: OutboxEntry, now: number): OutboxEntry {
  return failEntry(taken(entry, now), "x", { now, reason: "down", schedule });
}

Deno.test("the delays are 2, 4, 8, … 256 and 300 seconds", () => {
  const delays = Array.from({ length: 10 }, (_, n) => retryDelayMs(n + 1, schedule) / 1_000);
  assertEquals(delays, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
});

Deno.test("an announced write is due after 30 seconds, a committed one at once", () => {
  const announced = addIntent(null, name, intent("a", 5));
  assertEquals(queuePositionOf(announced), { kind: "due", at: 5 + intentTimeoutMs });
  assertEquals(leaseEntry(announced, { owner: "x", until: 9e9 }, 5 + intentTimeoutMs - 1), null);
  assertEquals(queuePositionOf(written(5)), { kind: "due", at: 5 });
});

Deno.test("a write that was rolled back leaves nothing, and no other write is forgotten", () => {
  const announced = addIntent(null, name, intent("a"));
  assertEquals(removeWriteIntent(announced, intent("a")), null);
  const both = addIntent(announced, name, intent("b"));
  assertEquals(removeWriteIntent(both, intent("a"))?.intents, [intent("b")]);
  assert(removeWriteIntent(addIntent(written(), name, intent("b")), intent("b")) !== null);
});

Deno.test("an entry that was changed while it was worked on stays", () => {
  const working = taken(written(), 10);
  const changed = confirmIntent(working, name, intent("b", 11));
  const left = finishEntry(changed, "x", 12);
  assertEquals(left?.readyRevision, changed.readyRevision);
  assertEquals(finishEntry(taken(left ?? written(), 13), "x", 14), null);
});

Deno.test("a write that is announced while another is worked on stays announced", () => {
  const left = finishEntry(addIntent(taken(written(), 10), name, intent("b", 11)), "x", 12);
  assertEquals([left?.readyRevision, left?.intents.length], [null, 1]);
});

Deno.test("a drainer whose lease was taken over changes nothing", () => {
  const stalled = taken(written(), 0);
  const next = taken(stalled, 120_000, "y");
  assertEquals(finishEntry(next, "x", 120_001), next);
  assertEquals(failEntry(next, "x", { now: 120_001, reason: "late", schedule }), next);
  assertEquals(releaseEntry(next, "x"), next);
  assertEquals(finishEntry(next, "y", 120_002), null);
});

Deno.test("a lease is exclusive until it ends, and taking it twice is taking it once", () => {
  const working = taken(written(), 0);
  assertEquals(leaseEntry(working, { owner: "y", until: 9e9 }, 119_999), null);
  assertEquals(taken(working, 1), working);
});

Deno.test("after ten attempts an entry is dead, and a new write or a replay revives it", () => {
  let entry = written();
  const delays: number[] = [];
  while (entry.deadSince === null) {
    const now = entry.notBefore;
    entry = failed(entry, now);
    if (entry.deadSince === null) delays.push((entry.notBefore - now) / 1_000);
  }
  assertEquals([entry.attempts, delays], [10, [2, 4, 8, 16, 32, 64, 128, 256, 300]]);
  assertEquals(queuePositionOf(entry).kind, "dead");
  assertEquals(leaseEntry(entry, { owner: "x", until: 9e9 }, 8e9), null);
  for (
    const alive of [
      addIntent(entry, name, intent("b", 1e6)),
      confirmIntent(entry, name, intent("b", 1e6)),
      revive(entry, 1e6),
      addEnqueuedChange(entry, name, null, 1e6),
    ]
  ) {
    assertEquals([queuePositionOf(alive), alive.attempts], [{ kind: "due", at: 1e6 }, 0]);
  }
});

Deno.test("the tenth failure does not make an entry dead whose row is being written", () => {
  const last = { ...addIntent(written(), name, intent("b", 0)), attempts: 9 };
  const left = failed(last, 0);
  assertEquals([left.deadSince, left.attempts], [null, 10]);
  // The process that wrote the row has ended: what it wrote has ten attempts of its own.
  assertEquals(taken(left, left.notBefore).attempts, 0);
});

/**
 * One document, its row and its index, in a world of writers and drainers that are interrupted
 * between any two steps; the index takes a write by its version.
 */
class World {
  now = 1_000_000;
  row = 0;
  entry: OutboxEntry | null = null;
  indexed = { value: 0, version: 0 };
  /** Writes to the index that a newer one came before. */
  late = 0;
  #versions = 0;
  #ids = 0;
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** A step after which the process may have ended. */
  *writer(): Generator<void> {
    const one = intent(`w${this.#ids++}`, this.now);
    this.entry = addIntent(this.entry, name, one);
    yield;
    if (this.#random() < 0.2) {
      if (this.entry !== null) this.entry = removeWriteIntent(this.entry, one);
      return;
    }
    this.row = ++this.#ids;
    yield;
    this.entry = confirmIntent(this.entry, name, one);
  }

  *drainer(isFaulty: boolean): Generator<void> {
    const owner = `d${this.#ids++}`;
    const begin = this.now;
    const entry = this.entry === null
      ? null
      : leaseEntry(this.entry, { owner, until: begin + 60_000 }, begin);
    if (entry === null) return;
    this.entry = entry;
    yield;
    const version = ++this.#versions;
    yield;
    const value = this.row;
    yield;
    if (isFaulty && this.#random() < 0.2) {
      const failure = { now: this.now, reason: "", schedule };
      if (this.entry !== null) this.entry = failEntry(this.entry, owner, failure);
      return;
    }
    if (version > this.indexed.version) this.indexed = { value, version };
    else this.late++;
    yield;
    if (this.entry !== null) this.entry = finishEntry(this.entry, owner, this.now);
  }
}

Deno.test("20,000 seeded interleavings of writers, drainers, crashes and rollbacks converge", () => {
  let late = 0;
  for (let seed = 1; seed <= 20_000; seed++) {
    const random = randomOf(seed);
    const world = new World(random);
    const running: { isWriter: boolean; steps: Generator<void> }[] = [];
    const stalled: Generator<void>[] = [];
    let started = 0;
    while (started < 12 || running.length > 0) {
      const choice = random();
      if (started < 12 && (running.length === 0 || choice < 0.3)) {
        started++;
        const isWriter = random() < 0.5;
        running.push({ isWriter, steps: isWriter ? world.writer() : world.drainer(true) });
        continue;
      }
      const at = Math.floor(random() * running.length);
      if (choice < 0.33) {
        // A process ends.
        running.splice(at, 1);
      } else if (choice < 0.45 && !running.some(({ isWriter }) => isWriter)) {
        // Drainers stall for longer than their leases; no write takes 30 seconds.
        world.now += 70_000;
        stalled.push(...running.splice(0).map(({ steps }) => steps));
      } else if (running[at]?.steps.next().done === true) running.splice(at, 1);
      world.now += Math.floor(random() * 300);
      if (random() < 0.1 || started === 12) {
        for (const steps of stalled.splice(0)) Array.from(steps);
      }
    }
    for (let rounds = 0; world.entry !== null; rounds++) {
      world.now += 310_000;
      if (world.entry.deadSince !== null) world.entry = revive(world.entry, world.now);
      // A drainer without faults, to its end.
      Array.from(world.drainer(false));
      assert(rounds < 5, `seed ${seed}: the entry stays`);
    }
    assertEquals(world.indexed.value, world.row, `seed ${seed}`);
    late += world.late;
  }
  assert(late > 100, `only ${late} late writes`);
});
