import { assert, assertEquals, assertRejects } from "@std/assert";
import { Problem } from "../../src/problem/problem.ts";
import {
  RequestScheduler,
  type WaitingRequest,
} from "../../src/resource/http/request_scheduler.ts";
import { handClock } from "../db/hand_clock.ts";

Deno.test("requests that take no time wait for nothing, however many come at once", async () => {
  const turns = new RequestScheduler(handClock().clock);
  let begun = 0;
  const work = () => Promise.resolve(begun++);
  await inTurn(async () => await turns.run(requestOf("a"), work));
  await inTurn(async () => await turns.run(requestOf("a"), work));
  const all = Array.from({ length: 200 }, () => turns.run(requestOf("a"), work));
  assertEquals(begun, 202);
  await Promise.all(all);
});

Deno.test("a request of another identity waits for one of those that came before it", async () => {
  const { clock, advance } = handClock();
  const turns = new RequestScheduler(clock);
  const order: string[] = [];
  const run = (name: string) =>
    turns.run(requestOf(name.slice(0, 1)), () => {
      advance(30);
      order.push(name);
      return Promise.resolve();
    });
  await Promise.all(["a1", "a2", "a3", "a4", "b1", "c1", "b2"].map(run));
  assertEquals(order, ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
});

Deno.test("one identity fills the queue, and another one is refused", async () => {
  const { clock, advance } = handClock();
  const turns = new RequestScheduler(clock);
  const outcomes: Promise<unknown>[] = [];
  const dear = () => {
    advance(100);
    return Promise.resolve();
  };
  const quick = () => Promise.resolve();
  const first = turns.run(requestOf("a"), dear);
  for (let at = 0; at < 501; at++) {
    outcomes.push(
      Promise.resolve(turns.run(requestOf("a"), quick)).then(() => "done", (error) => error),
    );
  }
  const ofOther = turns.run(requestOf("b"), quick);
  await first;
  await ofOther;
  const results = await Promise.all(outcomes);
  assert(results.slice(0, 500).every((outcome) => outcome === "done"));
  const refused = results[500];
  assert(refused instanceof Problem);
  assertEquals([refused.status, refused.slug], [503, "overloaded"]);
});

Deno.test("the work of a client that has left is begun", async () => {
  const { clock, advance } = handClock();
  const turns = new RequestScheduler(clock);
  const client = new AbortController();
  client.abort();
  const dear = () => {
    advance(300);
    return Promise.resolve();
  };
  const first = turns.run(requestOf("a"), dear);
  let begun = 0;
  const left = turns.run(requestOf("b"), dear);
  const late = turns.run({ identity: "b", signal: client.signal }, () => Promise.resolve(begun++));
  await Promise.all([
    first,
    left,
    assertRejects(async () => await late, Problem, "its client has left"),
  ]);
  assertEquals(begun, 0);
});

Deno.test("dear work was begun for a client that had just left", async () => {
  const { clock, advance } = handClock();
  const turns = new RequestScheduler(clock);
  const client = new AbortController();
  client.abort();
  const dear = () => {
    advance(20);
    return Promise.resolve();
  };
  // What it costs is known after two turns.
  for (let turn = 0; turn < 2; turn++) {
    await inTurn(async () => await turns.run(requestOf("a"), dear));
  }
  const first = turns.run(requestOf("a"), dear);
  const late = turns.run({ identity: "b", signal: client.signal }, dear);
  await first;
  await assertRejects(async () => await late, Problem, "its client has left");
});

Deno.test("a request that fails at once in its turn ends the turns of all others", async () => {
  const { clock, advance } = handClock();
  const turns = new RequestScheduler(clock);
  const first = turns.run(requestOf("a"), () => {
    advance(100);
    return Promise.resolve();
  });
  const failing = turns.run(requestOf("b"), () => {
    throw new Error("malformed");
  });
  const next = turns.run(requestOf("c"), () => Promise.resolve("done"));
  await Promise.all([first, assertRejects(() => failing, Error, "malformed")]);
  assertEquals(await next, "done");
});

/** Runs it in a turn of the event loop of its own. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const result = await work();
  await new Promise((resolve) => setTimeout(resolve));
  return result;
}

function requestOf(identity: string): WaitingRequest {
  return { identity, signal: new AbortController().signal };
}
