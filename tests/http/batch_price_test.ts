import { assert, assertEquals } from "@std/assert";
import { resource } from "../../mod.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";
import {
  budget,
  type GuardedService,
  notes,
  open,
  solved,
  statusCounts,
  withGuard,
} from "./guard_support.ts";

const patch = (title: string) => ({ filter: "id>0", patch: { title } });
const requests = [["PATCH", patch("x")], ["DELETE", { filter: "id>0" }]] as const;

/** Bob writes these; ann, whose budget is separate, has so many tokens left. */
async function prepare({ send }: GuardedService, rows: number, left: number): Promise<void> {
  const items = Array.from({ length: rows }, (_, n) => ({ title: `note ${n}` }));
  assertEquals(
    (await send("POST", "/api/notes/batch", { body: { items }, user: "bob" })).status,
    201,
  );
  for (let n = 10; n > left; n--) await send("GET", "/api/notes", { user: "ann" });
}

const five = { items: Array.from({ length: 5 }, (_, n) => ({ title: `note ${n}` })) };

Deno.test("twenty parallel batches of 5 on a capacity of 10 serve two, never fewer", async () => {
  await withGuard({ abuseProtection: { budget: budget(10) } }, {}, async ({ send }) => {
    for (let caller = 0; caller < 20; caller++) {
      const options = { body: five, user: `user ${caller}` };
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => send("POST", "/api/notes/batch", options)),
      );
      assertEquals(statusCounts(answers), { 201: 2, 429: 18 }, options.user);
    }
  });
});

Deno.test("twenty parallel batches of 5 on a capacity of 10 serve two, never fewer, in two processes", async () => {
  const kv = createMemoryKeyValue(systemRuntime(() => {}).clock);
  // Closing one service does not close the store of the other.
  const config = {
    kv: { ...kv, close: () => Promise.resolve() },
    abuseProtection: { budget: budget(10) },
  };
  await withGuard(config, {}, (one) =>
    withGuard(config, {}, async (other) => {
      for (let caller = 0; caller < 20; caller++) {
        const options = { body: five, user: `user ${caller}` };
        // At once: a refund of one service is available to the other.
        const isFirst = (n: number) => n % 20 < caller;
        const answers = await Promise.all(
          Array.from(
            { length: 20 },
            (_, n) => (isFirst(n) ? one : other).send("POST", "/api/notes/batch", options),
          ),
        );
        assertEquals(statusCounts(answers), { 201: 2, 429: 18 }, options.user);
      }
    }));
});

for (const [method, body] of requests) {
  Deno.test(`twenty parallel ${method} /batch of five rows on a capacity of 10 serve two, never fewer`, async () => {
    await withGuard({ abuseProtection: { budget: budget(10) } }, {}, async ({ send }) => {
      assertEquals(
        (await send("POST", "/api/notes/batch", { body: five, user: "bob" })).status,
        201,
      );
      // Deleted rows have no price.
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => send(method, "/api/notes/batch", { body })),
      );
      const { 200: served = 0, 429: refused = 0 } = statusCounts(answers);
      assertEquals(served + refused, 20);
      assert(method === "PATCH" ? served === 2 : served >= 2, `${served} were served`);
    });
  });
}

/** A provider whose answer is `passed`. */
function riddle(passed: () => Promise<boolean>) {
  return { verifier: { provider: "riddle", siteKey: "the-sphinx", verify: passed } };
}

const token = { "service-captcha-token": "a-token" };
const overflow = { overflow: "captcha" } as const;

for (const [method, body] of requests) {
  Deno.test(`a CAPTCHA provider that hangs during a ${method} /batch delays no other write`, async () => {
    const called = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<boolean>();
    let questions = 0;
    const captcha = riddle(() => {
      questions++;
      called.resolve();
      return answer.promise;
    });
    const abuseProtection = { budget: budget(10), captcha };
    await withGuard({ abuseProtection }, overflow, async (service) => {
      await prepare(service, 5, 3);
      const waiting = service.send(method, "/api/notes/batch", { body, headers: token });
      await called.promise;
      const other = { body: { title: "other" }, user: "bob" };
      assertEquals((await service.send("POST", "/api/notes", other)).status, 201);
      answer.resolve(true);
      const served = await waiting;
      assertEquals([served.status, await served.json()], [200, { count: 5 }]);
      assertEquals(served.headers.get("ratelimit"), `"budget";r=0`);
      assertEquals(questions, 1);
      const rest = await service.send("GET", "/api/notes/count?filter=title==other");
      assertEquals(await rest.json(), { count: 1 }, "what came in between is not written");
    });
  });

  Deno.test(`a ${method} /batch is refunded for rows that were deleted after the count`, async () => {
    const services: GuardedService[] = [];
    const captcha = riddle(async () => {
      const some = { body: { filter: "id<=6" }, user: "eve" };
      assertEquals((await services[0]?.send("DELETE", "/api/notes/batch", some))?.status, 200);
      return true;
    });
    const abuseProtection = { budget: budget(10), captcha };
    await withGuard({ abuseProtection }, overflow, async (service) => {
      services.push(service);
      await prepare(service, 8, 5);
      const served = await service.send(method, "/api/notes/batch", { body, headers: token });
      assertEquals([served.status, await served.json()], [200, { count: 2 }]);
      assertEquals(served.headers.get("ratelimit"), `"budget";r=3`);
    });
  });
}

Deno.test("rows inserted between the count of a batch and its write are neither written nor charged", async () => {
  const services: GuardedService[] = [];
  const trust = async ({ request, base }: { request: Request; base: number }) => {
    if (request.headers.has("service-pow-nonce")) {
      await services.pop()?.send("POST", "/api/notes", {
        body: { title: "one more" },
        user: "eve",
      });
    }
    return base;
  };
  const pow = { secret: "a secret for the tests only", difficulty: 4, trust };
  await withGuard({ abuseProtection: { budget: budget(10), pow } }, {}, async (service) => {
    await prepare(service, 8, 3);
    services.push(service);
    const send = (headers = {}) =>
      service.send("PATCH", "/api/notes/batch", { body: patch("x"), headers });
    const challenge = await send();
    assertEquals(challenge.status, 428);
    const headers = await solved(challenge);
    const served = await send(headers);
    assertEquals([served.status, await served.json(), services.length], [200, { count: 8 }, 0]);
    assertEquals((await send(headers)).status, 428, "once");
  });
});

testOnEngines(
  "PATCH and DELETE /batch cost what their rows cost, and nothing where they fail",
  async (engine) => {
    for (const isHooked of [false, true]) {
      let isBroken = true;
      const after = () => {
        if (isBroken) throw new Error("ours");
      };
      const before = isHooked ? { onBeforeUpdate: () => {}, onBeforeDelete: () => {} } : {};
      const config = {
        kv: ":memory:",
        abuseProtection: { budget: budget(10) },
        resources: [resource(notes, {
          id: notes.id,
          auth: open,
          cost: { update: 0.1, delete: 2 },
          hooks: { ...before, onAfterUpdate: after, onAfterDelete: after },
        })],
      };
      await withService(engine, [notes], () => config, async ({ db, send }) => {
        await insertRows(db, notes, [1, 2, 3].map((id) => ({ id, title: "a" })));
        const ann = { "x-user": "ann" };
        const call = async (method: string, body: unknown) => {
          const { status, headers } = await send(method, "/api/notes/batch", body, ann);
          return [status, /;r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]];
        };
        const removal = { filter: "id>0" };
        for (let n = 0; n < 3; n++) {
          assertEquals((await call("PATCH", patch("x")))[0], 500);
          assertEquals((await call("DELETE", removal))[0], 500);
        }
        isBroken = false;
        // The header shows whole tokens.
        for (const left of ["9", "9", "9", "8"]) {
          assertEquals(await call("PATCH", patch("x")), [200, left]);
        }
        assertEquals(await call("DELETE", removal), [200, "2"]);
        assertEquals(await call("DELETE", removal), [200, "0"], "nothing is found, and costs one");
        assertEquals(await call("DELETE", removal), [429, "0"]);
      });
    }
  },
);
