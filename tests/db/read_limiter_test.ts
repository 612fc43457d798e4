import { assert, assertEquals } from "@std/assert";
import type { ReadLimits } from "../../src/db/driver.ts";
import { type QueuedRead, ReadLimiter } from "../../src/db/read_limiter.ts";
import { fails } from "../conformance/driver.ts";
import { handClock } from "./hand_clock.ts";

Deno.test("one identity never has every turn, so that another one reads beside its slow reads", () => {
  const turns = readLimiter({ maxRunning: 3 });
  assert(!(turns.enter(limits("a")) instanceof Promise));
  assert(!(turns.enter(limits("a")) instanceof Promise));
  assert(turns.enter(limits("a")) instanceof Promise);
  assert(!(turns.enter(limits("b")) instanceof Promise));
  assert(turns.enter(limits("b")) instanceof Promise);
});

Deno.test("a single turn is free for every identity", () => {
  const turns = readLimiter({ maxRunning: 1 });
  assert(!(turns.enter(limits("a")) instanceof Promise));
  assert(turns.enter(limits("b")) instanceof Promise);
});

Deno.test("identities that wait take turns, whatever their number of reads", async () => {
  const turns = readLimiter({ maxRunning: 1 });
  const holder = begun(turns.enter(limits("x")));
  const order: string[] = [];
  const reads = ["a1", "a2", "a3", "b1", "c1", "b2"].map(async (name) => {
    const turn = await turns.enter(limits(name.slice(0, 1)));
    order.push(name);
    turns.leave(turn);
  });
  turns.leave(holder);
  await Promise.all(reads);
  assertEquals(order, ["a1", "b1", "c1", "a2", "b2", "a3"]);
});

Deno.test("a read of an identity that has all turns but one does not keep the next identity waiting", async () => {
  const turns = readLimiter({ maxRunning: 2 });
  const [first, second] = [begun(turns.enter(limits("a"))), begun(turns.enter(limits("b")))];
  const barred = Promise.resolve(turns.enter(limits("a")));
  const next = Promise.resolve(turns.enter(limits("c")));
  turns.leave(second);
  const third = await next;
  turns.leave(first);
  assertEquals((await barred).identity, "a");
  turns.leave(third);
});

Deno.test("a read was begun for a client that had left while it waited", async () => {
  const turns = readLimiter({ maxRunning: 1 });
  const holder = begun(turns.enter(limits("x")));
  const client = new AbortController();
  const left = Promise.resolve(turns.enter({ ...limits("a"), signal: client.signal }));
  const next = Promise.resolve(turns.enter(limits("b")));
  client.abort();
  turns.leave(holder);
  await fails(left, "overloaded");
  assertEquals((await next).identity, "b");
});

Deno.test("the queue is bounded, and half of it is the most of one identity", async () => {
  const { turns, advance } = turnsByHand({ maxRunning: 1, maxWaiting: 4 });
  const holder = begun(turns.enter(limits("x")));
  const waits = ["a", "a", "b", "c"].map((identity, index) => {
    if (index === 2) void fails(Promise.resolve(turns.enter(limits("a"))), "overloaded");
    return fails(Promise.resolve(turns.enter(limits(identity))), "overloaded");
  });
  await fails(Promise.resolve(turns.enter(limits("d"))), "overloaded");
  advance(50);
  advance(950);
  await Promise.all(waits);
  turns.leave(holder);
  assert(!(turns.enter(limits("d")) instanceof Promise));
});

Deno.test("a read whose client has left waits no longer, and takes no turn", async () => {
  const { turns, advance } = turnsByHand({ maxRunning: 1 });
  const holder = begun(turns.enter(limits("x")));
  const client = new AbortController();
  const left = fails(Promise.resolve(turns.enter(limits("a", client.signal))), "overloaded");
  const next = Promise.resolve(turns.enter(limits("b")));
  advance(50);
  client.abort();
  await left;
  turns.leave(holder);
  assertEquals((await next).identity, "b");
});

Deno.test("neither signal nor identity of a read is made where turns are free", () => {
  const turns = readLimiter({ maxRunning: 4 });
  const untouched: ReadLimits = {
    get identity(): string {
      throw new Error("made without need");
    },
    get signal(): AbortSignal {
      throw new Error("made without need");
    },
    maxBytes: 1,
    timeoutMs: 1,
  };
  const begunTurns = [1, 2, 3].map(() => begun(turns.enter(untouched)));
  for (const turn of begunTurns) turns.leave(turn);
});

interface Bounds {
  readonly maxRunning: number;
  readonly maxWaiting?: number;
}

function readLimiter(bounds: Bounds): ReadLimiter {
  return turnsByHand(bounds).turns;
}

function turnsByHand(
  bounds: Bounds,
): { readonly turns: ReadLimiter; readonly advance: (ms: number) => void } {
  const { clock, advance } = handClock();
  const turns = new ReadLimiter({ maxWaiting: 100, waitLimitMs: 1_000, ...bounds, clock });
  return { turns, advance };
}

function limits(identity: string, signal = new AbortController().signal): ReadLimits {
  return { identity, signal, maxBytes: 1_000, timeoutMs: 1_000 };
}

function begun(turn: QueuedRead | Promise<QueuedRead>): QueuedRead {
  assert(!(turn instanceof Promise));
  return turn;
}
