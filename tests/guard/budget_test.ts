import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  type AbuseProtectionOptions,
  resolveAbuseProtection,
} from "../../src/guard/abuse_protection_options.ts";
import { createGuard } from "../../src/guard/guard.ts";
import type { GuardedRequest, OperationProtection } from "../../src/guard/operation_protection.ts";
import { Problem } from "../../src/problem/problem.ts";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { budget, statusCounts, withGuard } from "../http/guard_support.ts";
import { startChild } from "../serve/child_process.ts";
import { faultyKv } from "../support/faulty_kv.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { scratchFolder } from "../support/scratch.ts";

/** A test over a file, and over a database. */
function overEachStore(name: string, work: (place: string) => Promise<void>): void {
  Deno.test(`${name}: file`, async () => {
    await using folder = await scratchFolder();
    await work(`${folder.path}/limits.kv`);
  });
  testOnPostgres(name, work);
}

overEachStore(
  "four processes on one store serve each budget of 10 exactly 10 times in 200 requests",
  async (place) => {
    const script = new URL("budget_process.ts", import.meta.url).pathname;
    const children = Array.from(
      { length: 4 },
      () => startChild([script, place, "4", "50"]),
    );
    try {
      const ends = await Promise.all(
        children.map((child) => child.printed(/served (\d+) refused (\d+) of (\d+)/)),
      );
      const sum = (group: number) => ends.reduce((total, end) => total + Number(end[group]), 0);
      assertEquals([sum(1), sum(2), sum(3)], [200, 3_800, 4_000], "20 callers");
    } finally {
      for (const child of children) await child[Symbol.asyncDispose]();
    }
  },
);

Deno.test(
  "a process that is killed loses the share that it holds, and no other serves more for it",
  async () => {
    await using folder = await scratchFolder();
    const place = `${folder.path}/limits.kv`;
    const script = new URL("share_process.ts", import.meta.url).pathname;
    const capacity = 1_000;
    const served: number[] = [];
    for (const requests of [100, 150, 2 * capacity]) {
      await using child = startChild([
        script,
        place,
        `${capacity}`,
        `${requests}`,
      ]);
      const [, count] = await child.printed(/served (\d+)/);
      assertEquals(await child.ended(), 137, "kill -9");
      served.push(Number(count));
    }
    assertEquals(served.slice(0, 2), [100, 150]);
    const lost = capacity - served.reduce((sum, count) => sum + count, 0);
    // A share is a sixteenth, and the next one is fetched when half of it is spent.
    const most = 2 * 1.5 * capacity / 16;
    assert(lost > 0 && lost <= most, `${lost} of ${capacity} are lost, ${most} at most`);
  },
);

Deno.test("a file that is locked at every second operation costs no request its answer", async () => {
  await using folder = await scratchFolder();
  const kv = await Deno.openKv(`${folder.path}/limits.kv`);
  const store = createDenoKeyValue(
    faultyKv(kv, (n) => n % 2 === 0 ? "locked" : null),
    systemRuntime(() => {}),
  );
  await withGuard(
    { kv: store, abuseProtection: { budget: budget(10) } },
    {},
    async ({ send, observations }) => {
      const answers = await Promise.all(
        Array.from({ length: 200 }, () => send("GET", "/api/notes")),
      );
      assertEquals(statusCounts(answers), { 200: 10, 429: 190 });
      // A process that gave up would still serve 10 by itself.
      assertEquals(observations.filter(({ kind }) => kind === "limits_unshared"), []);
    },
  );
});

Deno.test("a store that is gone leaves a limit and answers, no 500 and no free service", async () => {
  const kv = await Deno.openKv(":memory:");
  const store = createDenoKeyValue(faultyKv(kv, () => "thrown before"), systemRuntime(() => {}));
  await withGuard(
    { kv: store, abuseProtection: { budget: budget(10) } },
    {},
    async ({ send, observations }) => {
      const answers = [];
      for (let n = 0; n < 30; n++) answers.push(await send("GET", "/api/notes"));
      assertEquals(statusCounts(answers), { 200: 10, 429: 20 });
      assert(observations.some(({ kind }) => kind === "limits_unshared"));
    },
  );
});

Deno.test("the stream of a resource is 429 without tokens, before it opens, and is not challenged", async () => {
  const abuseProtection = {
    budget: budget(2),
    pow: { secret: "a secret for the tests only", difficulty: 3 },
  };
  await withGuard({ abuseProtection }, { pow: { operations: ["create"] } }, async ({ app }) => {
    const open = async () => {
      const answer = await app.fetch(new Request("http://test/api/notes/subscribe"));
      const left = answer.headers.get("ratelimit");
      await answer.body?.cancel();
      return [answer.status, answer.headers.get("content-type")?.split(";")[0], left];
    };
    assertEquals(await open(), [200, "text/event-stream", `"budget";r=1`]);
    assertEquals(await open(), [200, "text/event-stream", `"budget";r=0`]);
    assertEquals(await open(), [429, "application/problem+json", `"budget";r=0`]);
  });
});

Deno.test("streams of one IPv6 /64, or through an own proxy, count as one address", async () => {
  const config = { subscribe: { maxPerAddress: 2 }, abuseProtection: { trustProxy: 1 } };
  await withGuard(config, {}, async ({ app }) => {
    const bodies: (ReadableStream | null)[] = [];
    const open = async (forwarded: string) => {
      const headers = { "x-forwarded-for": forwarded };
      const answer = await app.fetch(
        new Request("http://test/api/notes/subscribe", { headers }),
        { remoteAddr: { hostname: "10.0.0.1" } },
      );
      bodies.push(answer.body);
      return answer.status;
    };
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push(await open(`9.9.9.${n}, 2001:db8:1:2::${n}`));
    statuses.push(await open("2001:db8:1:3::1"));
    assertEquals(statuses, [200, 200, 429, 200]);
    for (const body of bodies) await body?.cancel();
  });
});

/** The guard of a live stream; `options` are those of the app. */
function streamGuard(options: AbuseProtectionOptions) {
  const runtime = systemRuntime(() => {});
  const store = createMemoryKeyValue(runtime.clock);
  const guard = createGuard({
    abuse: resolveAbuseProtection(options, false, runtime),
    store: { need: () => store },
    runtime,
  });
  const protections = guard.protect({ pow: true }, { subject: "Cannot", url: "/api/notes" });
  const request = new Request("http://test/api/notes/subscribe");
  const guarded: GuardedRequest = {
    request,
    target: { path: "/api/notes/subscribe", query: "" },
    user: null,
    address: () => "192.0.2.1",
    body: () => Promise.resolve(new Uint8Array()),
  };
  return {
    protections,
    admission: (one: OperationProtection) => guard.admission(one, guarded),
    guard,
  };
}

Deno.test("a stream is a read that the budget refuses with 429, and that nothing challenges", async () => {
  const pow = { secret: "a secret for the tests only" };
  const { protections, admission, guard } = streamGuard({ budget: budget(1), pow });
  const stream = protections.get("subscribe");
  assert(stream !== undefined);
  const first = admission(stream);
  await first.countRequest();
  await first.admit();
  const second = admission(stream);
  await second.countRequest();
  const error = await Promise.try(() => second.admit()).then(() => null, (thrown) => thrown);
  assert(error instanceof Problem);
  assertEquals([error.slug, error.status], ["budget-exhausted", 429]);
  await guard.close();
});

Deno.test("where nothing is limited a stream passes a gate without a check", () => {
  const { protections } = streamGuard({ pow: { secret: "a secret for the tests only" } });
  assertEquals(protections.get("subscribe"), undefined);
  assertEquals([...protections.keys()], ["read", "create", "update", "delete"]);
});

Deno.test("without a rate limit, a cost and a gate no operation is protected", () => {
  const runtime = systemRuntime(() => {});
  const guard = createGuard({
    abuse: resolveAbuseProtection(undefined, true, runtime),
    store: {
      need() {
        throw new Error("no store is needed");
      },
    },
    runtime,
  });
  assertEquals(guard.protect({}, { subject: "Cannot", url: "/api/notes" }).size, 0);
  assertThrows(
    () => guard.protect({ pow: true }, { subject: "Cannot", url: "/api/notes" }),
    Error,
    "SERVICE_POW_SECRET",
  );
});
