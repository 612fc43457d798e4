import { assert, assertEquals } from "@std/assert";
import { all, integer, Problem, resource, table, text } from "../../mod.ts";
import type { ProblemSlug } from "../../exports/problem.ts";
import { claimKey } from "../../src/kv/key_value.ts";
import { claimOnce } from "../kv/claim_once.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { type Answer, type Service, testOnEngines, withService } from "../support/http.ts";
import { solve } from "../../exports/proof_of_work.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const runtime = systemRuntime(() => {});

/** A service of notes with a gate; `refusal` gives why the next create is refused, if it is. */
function configOf(refusal: () => ProblemSlug | null, kv = createMemoryKeyValue(runtime.clock)) {
  const hooks = {
    onBeforeCreate() {
      const slug = refusal();
      if (slug !== null) throw new Problem(slug, "Not now");
    },
  };
  return {
    kv: { ...kv, close: () => Promise.resolve() },
    abuseProtection: { pow: { secret: "a secret for the tests only", difficulty: 4 } },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: true, create: () => all() },
        hooks,
        pow: { operations: ["create"] as const },
      }),
    ],
  };
}

function create({ send }: Service, headers: Record<string, string> = {}): Promise<Answer> {
  return send("POST", "/api/notes", { title: "a" }, { "x-user": "ada", ...headers });
}

async function solutionOf(service: Service): Promise<Record<string, string>> {
  const { status, headers } = await create(service);
  assertEquals(status, 428);
  const token = headers.get("service-pow-challenge") ?? "";
  const nonce = await solve({ token, difficulty: 4 });
  return { "service-pow-challenge": token, "service-pow-nonce": nonce };
}

testOnEngines("a 422 used up the proof of work of its request", async (engine) => {
  for (const key of [{}, { "idempotency-key": "k" }]) {
    let isRefused = true;
    const config = configOf(() => isRefused ? "validation-error" : null);
    await withService(engine, [notes], () => config, async (service) => {
      const solution = await solutionOf(service);
      assertEquals((await create(service, { ...solution, ...key })).status, 422);
      isRefused = false;
      assertEquals((await create(service, solution)).status, 201);
      assertEquals((await create(service, solution)).status, 428, "once");
    });
  }
});

testOnEngines("one solution paid for any number of refused requests", async (engine) => {
  let calls = 0;
  const config = configOf(() => {
    calls++;
    return "validation-error";
  });
  await withService(engine, [notes], () => config, async (service) => {
    const solution = await solutionOf(service);
    const answers = [];
    for (let n = 0; n < 6; n++) answers.push((await create(service, solution)).status);
    assertEquals([answers, calls], [[422, 422, 422, 428, 428, 428], 3]);
  });
});

testOnEngines("a query that was too expensive uses up its solution", async (engine) => {
  const config = configOf(() => "query-too-expensive");
  await withService(engine, [notes], () => config, async (service) => {
    const solution = await solutionOf(service);
    const statuses = [await create(service, solution), await create(service, solution)];
    assertEquals(statuses.map(({ status }) => status), [422, 428]);
  });
});

testOnEngines(
  "a solution that is returned serves one of many requests at once, in two processes",
  async (engine) => {
    for (let round = 0; round < 5; round++) {
      let refused = 0;
      const kv = createMemoryKeyValue(runtime.clock);
      const config = configOf(() => refused++ < 2 ? "validation-error" : null, kv);
      await withService(
        engine,
        [notes],
        () => config,
        (one) =>
          withService(engine, [notes], () => config, async (other) => {
            const solution = await solutionOf(one);
            const statuses: number[] = [];
            const client = async (service: Service) => {
              for (let n = 0; n < 6; n++) {
                statuses.push((await create(service, solution)).status);
              }
            };
            await Promise.all(
              Array.from({ length: 10 }, (_, n) => client(n % 2 === 0 ? one : other)),
            );
            assertEquals(statuses.length, 60);
            const served = statuses.filter((status) => status === 201).length;
            assert(served <= 1, `${served} were served`);
            assert(refused > 0, "it was taken");
          }),
      );
    }
  },
);

Deno.test("a deletion that a store carries out twice does not free the claim of another request", async () => {
  const store = createMemoryKeyValue(runtime.clock);
  const key = ["pow", "id"];
  const claim = await claimKey(store, key, 1_000);
  assert(claim !== null);
  assertEquals(await claimKey(store, key, 1_000), null);
  await claim.revoke();
  assertEquals(await claimOnce(store, key, 1_000), true);
  await claim.revoke();
  assertEquals(await claimOnce(store, key, 1_000), false);
  await store.close();
});
