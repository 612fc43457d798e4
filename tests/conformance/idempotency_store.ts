import { assertEquals } from "@std/assert";
import {
  type IdempotencyClaim,
  idempotencyLeaseMs,
  type IdempotencyStore,
  type KeyClaimResult,
  type StoredAnswer,
  type StoredResponse,
} from "../../src/idempotency/idempotency_store.ts";
import type { Clock } from "../../src/runtime/runtime.ts";

/**
 * Opens a store over the same records at each call of `sibling`, as another process would.
 * It keeps answers for `keptMs`, {@link ttlMs} unless set.
 */
export interface OpenIdempotency extends AsyncDisposable {
  sibling(keptMs?: number): IdempotencyStore;
}

/** How long the stores under test keep an answer. */
export const ttlMs = 3_600_000;

const answer: StoredAnswer = {
  status: 201,
  headers: { "content-type": "application/json", location: "/api/notes/%C3%A9" },
  body: '{"title":"naïve – 🙂","nul":"\\u0000"}',
};

/** What every place for the answers to keyed requests must do. */
export function testIdempotencyStore(
  name: string,
  open: (clock: Clock) => Promise<OpenIdempotency>,
): void {
  function test(
    what: string,
    work: (store: IdempotencyStore, sibling: IdempotencyStore, clock: MovedClock) => Promise<void>,
  ): void {
    Deno.test(`${name}: ${what}`, async () => {
      const clock = movedClock();
      await using stores = await open(clock);
      await work(stores.sibling(), stores.sibling(), clock);
    });
  }

  test("of 20 that claim a key at once one has it", async (store, sibling) => {
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? store : sibling).claim(claimOf(`${n}`))),
    );
    assertEquals(kinds(results), { claimed: 1, "in-flight": 19 });
  });

  test(
    "an answer is read as it was stored, also with no body, and in any process",
    async (store, sibling) => {
      const answers: readonly StoredAnswer[] = [
        answer,
        { status: 204, headers: {}, body: null },
        { status: 200, headers: {}, body: "" },
        { status: 422, headers: {}, body: `{"long":"${"aé🙂".repeat(40_000)}"}` },
        { status: 200, headers: {}, body: "x".repeat(96_000) },
        { status: 201, headers: { location: `/api/notes/${"x".repeat(100_000)}` }, body: "{}" },
      ];
      for (const [n, answer] of answers.entries()) {
        const claim = { ...claimOf("first"), id: `id ${n}` };
        assertEquals(await store.claim(claim), { kind: "claimed" });
        await store.finish(claim, kept(answer));
        for (const one of [store, sibling]) {
          assertEquals(await one.claim({ ...claim, owner: "second", fingerprint: "another" }), {
            kind: "finished",
            fingerprint: "the first",
            answer,
          });
        }
      }
    },
  );

  test("a request in flight is reported with its fingerprint", async (store, sibling) => {
    await store.claim(claimOf("first"));
    assertEquals(await sibling.claim({ ...claimOf("second"), fingerprint: "another" }), {
      kind: "in-flight",
      fingerprint: "the first",
    });
  });

  test(
    "a released key is free, and other keys are independent",
    async (store, sibling) => {
      const claim = claimOf("first");
      await store.claim(claim);
      assertEquals(await store.claim({ ...claim, id: "another" }), { kind: "claimed" });
      await store.release(claim);
      assertEquals(await sibling.claim(claimOf("second")), { kind: "claimed" });
    },
  );

  test(
    "a process that died holds its key until the claim runs out",
    async (store, sibling, clock) => {
      await store.claim(claimOf("dead"));
      clock.moveBy(idempotencyLeaseMs - 1);
      assertEquals((await sibling.claim(claimOf("second"))).kind, "in-flight");
      clock.moveBy(1);
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? store : sibling).claim(claimOf(`${n}`))),
      );
      assertEquals(kinds(results), { claimed: 1, "in-flight": 7 });
    },
  );

  test("a claim that is renewed does not run out", async (store, sibling, clock) => {
    const claim = claimOf("first");
    await store.claim(claim);
    for (let round = 0; round < 4; round++) {
      clock.moveBy(idempotencyLeaseMs - 1);
      await store.renew(claim);
    }
    assertEquals((await sibling.claim(claimOf("second"))).kind, "in-flight");
  });

  test(
    "a claim that has lost its key neither finishes, nor renews, nor releases it",
    async (store, sibling, clock) => {
      const slow = claimOf("slow");
      await store.claim(slow);
      clock.moveBy(idempotencyLeaseMs);
      assertEquals(await sibling.claim(claimOf("second")), { kind: "claimed" });
      await store.finish(slow, kept(answer));
      await store.release(slow);
      clock.moveBy(idempotencyLeaseMs - 1);
      await store.renew(slow);
      assertEquals((await store.claim(claimOf("third"))).kind, "in-flight");
      clock.moveBy(1);
      assertEquals((await store.claim(claimOf("third"))).kind, "claimed");
    },
  );

  test("an answer is not released, not renewed and not overwritten", async (store, sibling) => {
    const claim = claimOf("first");
    await store.claim(claim);
    await store.finish(claim, kept(answer));
    await store.release(claim);
    await store.renew(claim);
    await store.finish(claim, kept({ ...answer, status: 200 }));
    assertEquals((await sibling.claim(claimOf("second"))).kind, "finished");
    const again = await sibling.claim(claimOf("third"));
    assertEquals(again.kind === "finished" && again.answer, answer);
  });

  Deno.test(`${name}: a claim holds although answers are kept for less than work takes`, async () => {
    const clock = movedClock();
    await using stores = await open(clock);
    const claim = claimOf("first");
    const store = stores.sibling(1_000);
    await store.claim(claim);
    for (const ms of [5_000, 15_000]) {
      clock.moveBy(ms);
      // Each has its own time to tidy up.
      assertEquals((await stores.sibling(1_000).claim(claimOf("second"))).kind, "in-flight");
      await store.renew(claim);
    }
    await store.finish(claim, kept(answer, 1_000));
    assertEquals((await stores.sibling(1_000).claim(claimOf("second"))).kind, "finished");
    clock.moveBy(idempotencyLeaseMs);
    assertEquals((await stores.sibling(1_000).claim(claimOf("second"))).kind, "claimed");
  });

  test(
    "an answer expires in time, whichever requests have waited for it",
    async (store, sibling, clock) => {
      const claim = claimOf("first");
      await store.claim(claim);
      await store.finish(claim, kept(answer));
      clock.moveBy(ttlMs - 1);
      assertEquals((await sibling.claim(claimOf("second"))).kind, "finished");
      clock.moveBy(2);
      assertEquals(await sibling.claim(claimOf("second")), { kind: "claimed" });
    },
  );
}

function claimOf(owner: string): IdempotencyClaim {
  return { id: "one key", fingerprint: "the first", owner, share: "one client" };
}

function kept(answer: StoredAnswer, keepMs = ttlMs): StoredResponse {
  return { answer, keepMs };
}

function kinds(results: readonly KeyClaimResult[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of results) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Runs like the machine's, and can be moved on. */
interface MovedClock extends Clock {
  moveBy(ms: number): void;
}

function movedClock(): MovedClock {
  // It stands still between two moves, so that a moment can be met exactly.
  let now = 1_800_000_000_000;
  return {
    now: () => now,
    elapsedMs: () => performance.now(),
    after: (delayMs, work) => {
      const timer = setTimeout(work, delayMs);
      return () => clearTimeout(timer);
    },
    moveBy(ms) {
      now += ms;
    },
  };
}
