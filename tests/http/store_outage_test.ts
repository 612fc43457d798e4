import { assert, assertEquals } from "@std/assert";
import { all, integer, resource, table, text } from "../../mod.ts";
import { runAfterPendingIo } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { solve } from "../../exports/proof_of_work.ts";
import { handClock } from "../db/hand_clock.ts";
import { startDenokv } from "../support/denokv.ts";
import { engines } from "../support/engines.ts";
import { type Answer, type Service, withService } from "../support/http.ts";
import { type KvOutage, kvWithOutages } from "../support/kv_with_outages.ts";
import { testUnless } from "../support/skip.ts";

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

const powConfig = {
  abuseProtection: { pow: { secret: "a secret for the tests only", challengeTtlMs: 600_000 } },
  resources: [
    resource(notes, {
      id: notes.id,
      auth: { public: true, create: () => all() },
      pow: { difficulty: 4, operations: ["create"] },
    }),
  ],
} as const;
const keysConfig = {
  resources: [
    resource(notes, { id: notes.id, auth: { public: true, create: () => all() } }),
  ],
} as const;

type Send = () => Promise<Answer>;

/** Six requests with a key. */
function keyed({ send }: Service): readonly Send[] {
  return Array.from(
    { length: 6 },
    (_, n) => () =>
      send("POST", "/api/notes", { title: "a" }, {
        "x-user": "ada",
        "idempotency-key": `key ${n}`,
      }),
  );
}

/** Six requests with a solution. */
async function solved({ send }: Service): Promise<readonly Send[]> {
  return await Promise.all(Array.from({ length: 6 }, async (_, n) => {
    const create = (headers: Record<string, string> = {}) =>
      send("POST", "/api/notes", { title: `note ${n}` }, { "x-user": "ada", ...headers });
    const { status, headers } = await create();
    assertEquals(status, 428);
    const token = headers.get("service-pow-challenge") ?? "";
    const nonce = await solve({ token, difficulty: 4 });
    return () => create({ "service-pow-challenge": token, "service-pow-nonce": nonce });
  }));
}

async function count({ get }: Service): Promise<number> {
  return (await get("/api/notes/count")).body.count;
}

/** After the outage: each is executed, once. */
async function requireOnce(service: Service, requests: readonly Send[]): Promise<void> {
  assertEquals(await count(service), 0, "what was refused was not executed");
  for (const send of requests) {
    const { status, body, headers } = await send();
    assertEquals([status, headers.has("idempotency-replayed")], [201, false], JSON.stringify(body));
  }
  for (const send of requests) {
    const { status, headers } = await send();
    assert(status === 428 || headers.has("idempotency-replayed"), `${status}`);
  }
  assertEquals(await count(service), requests.length);
}

const kinds = [
  ["a solution", "used", powConfig, solved],
  ["a key", "in flight", keysConfig, keyed],
] as const;

for (const [what, refusal, config, prepare] of kinds) {
  for (const outage of ["unreachable", "answers lost"] satisfies KvOutage[]) {
    Deno.test(`${what} that was answered 503 in an outage is not ${refusal} after it (${outage})`, async () => {
      const { clock, advance } = handClock();
      const kv = await Deno.openKv(":memory:");
      const network = kvWithOutages(kv);
      const runtime = { ...systemRuntime(() => {}), clock };
      await withService(
        sqlite,
        [notes],
        () => ({ ...config, kv: network.kv, runtime }),
        async (service) => {
          const requests = await prepare(service);
          network.goDown(outage);
          const commitsBefore = network.sent.commits;
          const refusing = Promise.all(requests.map((send) => send()));
          while (network.sent.commits < commitsBefore + requests.length) {
            await new Promise<void>(runAfterPendingIo);
          }
          // A deadline, and the check whether the commit was applied.
          for (const ms of [3_000, 500]) {
            await new Promise((resolve) => setTimeout(resolve, 0));
            advance(ms);
          }
          for (const { status, body } of await refusing) {
            assertEquals([status, body.code], [503, "STORE_UNAVAILABLE"]);
          }
          await network.comeBack();
          await requireOnce(service, requests);
        },
      );
      kv.close();
    });
  }

  testUnless(
    startDenokv.missing,
    `${what} that was answered 503 while denokv was down is not ${refusal} when it is back`,
    async () => {
      await using server = await startDenokv();
      await withService(sqlite, [notes], () => ({ ...config, kv: server.url }), async (service) => {
        const requests = await prepare(service);
        await server.kill();
        for (const { status, body } of await Promise.all(requests.map((send) => send()))) {
          assertEquals([status, body.code], [503, "STORE_UNAVAILABLE"]);
        }
        await server.start();
        await server.untilAnswered(async () => {
          const ready = await service.get("/readyz");
          return ready.body.checks.store.status === "ok";
        });
        await requireOnce(service, requests);
      });
    },
    // Calls of the outage are repeated, by increasing waits, until denokv has answered them.
    { sanitizeOps: false, sanitizeResources: false },
  );
}
