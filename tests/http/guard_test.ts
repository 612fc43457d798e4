import { assert, assertEquals, assertRejects } from "@std/assert";
import { z } from "zod";
import { Problem, procedure } from "../../mod.ts";
import type { TrustQuestion } from "../../exports/options.ts";
import { testOnEngines, withService } from "../support/http.ts";
import { budget, solved, statusCounts, withGuard } from "./guard_support.ts";
import { ada, counts, everyTable, musicResources } from "./nested_support.ts";

const pow = { secret: "a secret for the tests only", difficulty: 6 };
const items = (count: number) => ({
  items: Array.from({ length: count }, (_, n) => ({ title: `note ${n}` })),
});

Deno.test("200 parallel requests on a budget of 10: exactly 10 are served, the others are 429", async () => {
  await withGuard({ abuseProtection: { budget: budget(10) } }, {}, async ({ send }) => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => send("GET", "/api/notes")),
    );
    assertEquals(statusCounts(answers), { 200: 10, 429: 190 });
  });
});

Deno.test("a 429 of the budget says when to retry, and is not cacheable", async () => {
  const classes = { anonymous: { capacity: 2, refillPerMinute: 6 } };
  await withGuard({ abuseProtection: { budget: { classes } } }, {}, async ({ send }) => {
    const [first] = [await send("GET", "/api/notes"), await send("GET", "/api/notes")];
    assertEquals(first.headers.get("ratelimit-policy"), `"budget";q=2;w=20`);
    assertEquals(first.headers.get("ratelimit"), `"budget";r=1;t=10`);
    const refused = await send("GET", "/api/notes");
    assertEquals(refused.status, 429);
    assertEquals((await refused.json()).code, "BUDGET_EXHAUSTED");
    assertEquals(refused.headers.get("retry-after"), "10");
    assertEquals(refused.headers.get("ratelimit"), `"budget";r=0;t=10`);
    assertEquals(refused.headers.get("cache-control"), "no-store");
  });
});

Deno.test("a 429 without refill has Retry-After, too: a day", async () => {
  await withGuard({ abuseProtection: { budget: budget(1) } }, {}, async ({ send }) => {
    assertEquals((await send("GET", "/api/notes")).headers.get("ratelimit-policy"), `"budget";q=1`);
    const refused = await send("GET", "/api/notes");
    assertEquals([refused.status, refused.headers.get("retry-after")], [429, "86400"]);
  });
});

Deno.test("rateLimit counts every operation of a resource equally, for each caller", async () => {
  const greet = procedure({ input: z.any(), output: z.any(), public: true, handler: () => 1 });
  const options = {
    rateLimit: { windowMs: 60_000, maxRequests: 4 },
    procedures: { greet },
  };
  await withGuard({}, options, async ({ send }) => {
    const answers = [
      await send("GET", "/api/notes"),
      await send("GET", "/api/notes/1"),
      await send("GET", "/api/notes/count"),
      await send("POST", "/api/notes/rpc/greet", { body: {}, user: null }),
      await send("GET", "/api/notes/aggregate"),
      await send("HEAD", "/api/notes"),
    ];
    assertEquals(answers.map(({ status }) => status), [200, 404, 200, 200, 429, 429]);
    const refused = await send("GET", "/api/notes");
    assertEquals((await refused.json()).code, "RATE_LIMIT_EXCEEDED");
    assertEquals(refused.headers.get("ratelimit-policy"), `"requests";q=4;w=60`);
    assert(Number(refused.headers.get("retry-after")) > 50);
    assertEquals((await send("GET", "/api/notes", { user: "ann" })).status, 200);
    assertEquals((await send("GET", "/api/notes", { address: "192.0.2.2" })).status, 200);
  });
});

Deno.test("rateLimit precedes the budget, and costs it nothing", async () => {
  const rateLimit = { windowMs: 60_000, maxRequests: 2 };
  await withGuard(
    { abuseProtection: { budget: budget(1), pow } },
    { rateLimit },
    async ({ send }) => {
      const statuses = [];
      for (let n = 0; n < 3; n++) statuses.push((await send("GET", "/api/notes")).status);
      assertEquals(statuses, [200, 428, 429]);
    },
  );
});

Deno.test("each operation has the cost of its kind", async () => {
  const cost = { read: 0, create: 10, update: 100, delete: 1_000 };
  const config = { abuseProtection: { budget: budget(100_000) } };
  await withGuard(config, { cost }, async ({ send }) => {
    const left = async (method: string, path: string, body?: unknown) => {
      const answer = await send(method, path, { body });
      assert(answer.status < 300, `${method} ${path} ${answer.status}`);
      return Number(/;r=(\d+)/.exec(answer.headers.get("ratelimit") ?? "")?.[1] ?? -1);
    };
    assertEquals(await left("POST", "/api/notes", { title: "a" }), 99_990);
    assertEquals(await left("GET", "/api/notes"), -1, "a free operation has no limit");
    assertEquals(await left("POST", "/api/notes/batch", items(5)), 99_940);
    assertEquals(await left("PATCH", "/api/notes/1", { title: "b" }), 99_840);
    assertEquals(await left("PUT", "/api/notes/1", { title: "b" }), 99_740);
    assertEquals(await left("PATCH", "/api/notes/batch", { filter: "id>0", patch: {} }), 99_140);
    assertEquals(
      await left("PUT", "/api/notes/batch", { items: [1, 2].map((id) => ({ id, title: "c" })) }),
      98_940,
    );
    assertEquals(
      await left("POST", "/api/notes/batch/upsert", { items: [{ id: 1, title: "d" }] }),
      98_930,
    );
    assertEquals(await left("DELETE", "/api/notes/1"), 97_930);
    assertEquals(await left("DELETE", "/api/notes/batch", { filter: "id>0" }), 92_930);
  });
});

Deno.test("a batch that costs more than the balance is refused before any hook or write", async () => {
  let hooks = 0;
  const hook = () => void hooks++;
  for (const isHooked of [false, true]) {
    hooks = 0;
    const options = isHooked
      ? { hooks: { onBeforeCreate: hook, onBeforeUpdate: hook, onBeforeDelete: hook } }
      : {};
    const config = { abuseProtection: { budget: budget(10, 20) } };
    await withGuard(config, options, async ({ send }) => {
      const ann = { user: "ann" };
      assertEquals(
        (await send("POST", "/api/notes/batch", { ...ann, body: items(15) })).status,
        201,
      );
      hooks = 0;
      const refusals = [
        await send("POST", "/api/notes/batch", { body: items(11), ...ann }),
        await send("PATCH", "/api/notes/batch", {
          body: { filter: "id>0", patch: { title: "x" } },
          ...ann,
        }),
        await send("DELETE", "/api/notes/batch", { body: { filter: "id>0" }, ...ann }),
      ];
      assertEquals(refusals.map(({ status }) => status), [429, 429, 429]);
      assertEquals(hooks, 0);
      const rest = await send("GET", "/api/notes?limit=100&filter=title!=x");
      assertEquals((await rest.json()).items.length, 15);
      const last = await send("POST", "/api/notes/batch", { body: items(5), ...ann });
      assertEquals(last.status, 201, "a 429 was never charged, not even its first item");
    });
  }
});

testOnEngines("each embedded row has its price, wherever the body holds it", (engine) => {
  const config = { abuseProtection: { budget: budget(5) }, resources: musicResources({}) };
  return withService(engine, everyTable, () => config, async ({ db, send }) => {
    const albums = [{ title: "a", tracks: [{ title: "x" }, { title: "y" }] }, { title: "b" }];
    const first = await send("POST", "/api/artists/batch", {
      items: [{ name: "Nina", albums: [{ title: "c" }] }],
    }, ada);
    assertEquals([first.status, first.headers.get("ratelimit")], [201, `"budget";r=3`]);
    const refused = await send("POST", "/api/artists", { name: "Miles", albums }, ada);
    assertEquals([refused.status, refused.body.code], [429, "BUDGET_EXHAUSTED"]);
    assertEquals(await counts(db), { artists: 1, albums: 1 });
    const last = await send(
      "POST",
      "/api/artists",
      { name: "Miles", albums: [{ title: "a" }] },
      ada,
    );
    assertEquals([last.status, last.headers.get("ratelimit")], [201, `"budget";r=1`]);
  });
});

Deno.test("a batch costs at most the capacity of a bucket", async () => {
  await withGuard({ abuseProtection: { budget: budget(10) } }, {}, async ({ send }) => {
    const answer = await send("POST", "/api/notes/batch", { body: items(50) });
    assertEquals([answer.status, answer.headers.get("ratelimit")], [201, `"budget";r=0`]);
  });
});

Deno.test("a debit is kept for refusals of the resource, and refunded for failures of the service", async () => {
  const options = {
    hooks: {
      onBeforeCreate: (_context: unknown, { title }: { title?: string }) => {
        if (title === "broken") throw new Error("ours");
        if (title === "busy") throw new Problem("overloaded", "Later");
        if (title === "bare") throw new Problem("precondition-required", "Nothing to go by");
        throw new Problem("validation-error", "Not that");
      },
    },
  };
  await withGuard({ abuseProtection: { budget: budget(3) } }, options, async ({ send }) => {
    const create = async (title: string) =>
      (await send("POST", "/api/notes", { body: { title } })).status;
    for (let n = 0; n < 10; n++) assertEquals(await create("broken"), 500);
    for (let n = 0; n < 10; n++) assertEquals(await create("busy"), 503);
    for (let n = 0; n < 10; n++) assertEquals(await create("bare"), 428);
    for (let n = 0; n < 3; n++) assertEquals(await create("other"), 422);
    assertEquals(await create("other"), 429);
  });
});

Deno.test("refusals of the resource have the headers as well", async () => {
  await withGuard({ abuseProtection: { budget: budget(3) } }, {}, async ({ send }) => {
    const answer = await send("GET", "/api/notes/99");
    assertEquals([answer.status, answer.headers.get("ratelimit")], [404, `"budget";r=2`]);
  });
});

Deno.test("an answer without limits has no rate limit headers", async () => {
  await withGuard({}, {}, async ({ send }) => {
    const { headers } = await send("GET", "/api/notes");
    assertEquals([headers.get("ratelimit"), headers.get("ratelimit-policy")], [null, null]);
  });
});

Deno.test("the classes are isolated, and a caller that classify does not place is anonymous", async () => {
  const tiny = (capacity: number) => ({ capacity, refillPerMinute: 0 });
  const classify = (request: Request) => {
    const name = request.headers.get("x-class") ?? "";
    if (name === "broken") throw new Error("classify is broken");
    return name === "late" ? Promise.reject(new Error("late")) : name;
  };
  const classes = { anonymous: tiny(2), authenticated: tiny(3), gold: tiny(5) };
  await withGuard({ abuseProtection: { budget: { classes, classify } } }, {}, async (service) => {
    const served = async (name: string, user: string) => {
      for (let n = 0;; n++) {
        const headers = { "x-class": name };
        if ((await service.send("GET", "/api/notes", { headers, user })).status !== 200) return n;
      }
    };
    assertEquals(await served("gold", "ann"), 5);
    assertEquals(await served("authenticated", "ann"), 3);
    assertEquals(await served("gold", "bob"), 5);
    assertEquals(await served("broken", "ann"), 2);
    assertEquals(await served("late", "bob"), 2);
    assertEquals(await served("constructor", "eve"), 2);
    const failed = service.observations.filter(({ kind }) => kind === "classify_failed");
    assertEquals(failed.length, 9);
  });
});

Deno.test("a class that is not named has no limit", async () => {
  const classes = { anonymous: { capacity: 1, refillPerMinute: 0 } };
  await withGuard({ abuseProtection: { budget: { classes } } }, {}, async ({ send }) => {
    const answers = [];
    for (let n = 0; n < 5; n++) answers.push(await send("GET", "/api/notes", { user: "ann" }));
    assertEquals(statusCounts(answers), { 200: 5 });
    assertEquals(answers[0]?.headers.get("ratelimit"), null);
  });
});

Deno.test("a forged X-Forwarded-For creates no budget", async () => {
  for (const trustProxy of [0, 1]) {
    const config = { abuseProtection: { budget: budget(5), trustProxy } };
    await withGuard(config, {}, async ({ send }) => {
      const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => {
        const claimed = Array.from({ length: 9 }, (_, k) => `198.51.100.${9 * n % 90 + k}`);
        const seen = trustProxy === 0 ? [] : ["203.0.113.7"];
        const headers = { "x-forwarded-for": [...claimed, ...seen].join(", ") };
        return send("GET", "/api/notes", { headers });
      }));
      assertEquals(statusCounts(answers), { 200: 5, 429: 25 });
    });
  }
});

Deno.test("addresses of one IPv6 /64 share a budget, and an IPv4 client is one by either socket", async () => {
  await withGuard({ abuseProtection: { budget: budget(4) } }, {}, async ({ send }) => {
    const from = (address: string) => send("GET", "/api/notes", { address });
    const six = Array.from({ length: 9 }, (_, n) => from(`2001:db8:1:2::${n}:1`));
    assertEquals(statusCounts(await Promise.all(six)), { 200: 4, 429: 5 });
    assertEquals((await from("2001:db8:1:3::1")).status, 200);
    const four = Array.from(
      { length: 4 },
      (_, n) => n % 2 === 0 ? "192.0.2.9" : "::ffff:192.0.2.9",
    );
    assertEquals(statusCounts(await Promise.all(four.map(from))), { 200: 4 });
    assertEquals((await from("192.0.2.9")).status, 429);
  });
});

Deno.test("a user's id is no address, and callers without an address share one budget", async () => {
  await withGuard({ abuseProtection: { budget: budget(2, 2) } }, {}, async ({ app, send }) => {
    assertEquals((await send("GET", "/api/notes", { user: "192.0.2.1" })).status, 200);
    for (let n = 0; n < 2; n++) assertEquals((await send("GET", "/api/notes")).status, 200);
    assertEquals((await send("GET", "/api/notes")).status, 429);
    const bare = [];
    for (let n = 0; n < 3; n++) bare.push(await app.fetch(new Request("http://test/api/notes")));
    assertEquals(statusCounts(bare), { 200: 2, 429: 1 });
    for (const answer of bare) await answer.body?.cancel();
  });
});

Deno.test("a request that no user may send costs nothing: an unknown path, and a caller without a user", async () => {
  const config = { abuseProtection: { budget: budget(1) } };
  await withGuard(config, { auth: { public: true, create: () => "id>0" } }, async ({ send }) => {
    for (let n = 0; n < 3; n++) {
      assertEquals((await send("GET", "/api/other")).status, 404);
      const write = { body: { title: "a" }, user: null };
      assertEquals((await send("POST", "/api/notes", write)).status, 401);
    }
    assertEquals((await send("GET", "/api/notes")).status, 200);
  });
});

Deno.test("an empty budget requires work, and the work pays for the missing tokens", async () => {
  await withGuard({ abuseProtection: { budget: budget(1), pow } }, {}, async ({ send }) => {
    assertEquals((await send("GET", "/api/notes")).status, 200);
    const challenge = await send("GET", "/api/notes");
    assertEquals(challenge.status, 428);
    assertEquals((await challenge.json()).code, "PROOF_OF_WORK_REQUIRED");
    assertEquals(challenge.headers.get("cache-control"), "no-store");
    assertEquals(challenge.headers.get("service-challenge-type"), "pow");
    const headers = await solved(challenge);
    const served = await send("GET", "/api/notes", { headers });
    assertEquals([served.status, served.headers.get("ratelimit")], [200, `"budget";r=0`]);
    assertEquals((await send("GET", "/api/notes", { headers })).status, 428, "once");
    assertEquals(
      (await send("GET", "/api/notes?limit=1", { headers })).status,
      428,
      "this request",
    );
  });
});

Deno.test("proof of work is bound to the body and to the user", async () => {
  await withGuard({}, { pow: { difficulty: 4, operations: ["create"] } }, async ({ send }) => {
    const body = { title: "mine" };
    const challenge = await send("POST", "/api/notes", { body, user: "ann" });
    const headers = await solved(challenge);
    for (const [other, user] of [[{ title: "else" }, "ann"], [body, "bob"]] as const) {
      const refused = await send("POST", "/api/notes", { body: other, user, headers });
      assertEquals(refused.status, 428);
    }
    assertEquals((await send("POST", "/api/notes", { body, user: "ann", headers })).status, 201);
    assertEquals((await send("GET", "/api/notes")).status, 200, "the gate is for creates alone");
  });
});

Deno.test("a batch whose rest requires work has written nothing, and a solution for the whole pays for the whole", async () => {
  await withGuard({ abuseProtection: { budget: budget(10), pow } }, {}, async ({ send }) => {
    assertEquals((await send("POST", "/api/notes/batch", { body: items(8) })).status, 201);
    for (
      const [method, path, body] of [
        ["POST", "/api/notes/batch", items(5)],
        ["PATCH", "/api/notes/batch", { filter: "id>0", patch: { title: "x" } }],
      ] as const
    ) {
      const challenge = await send(method, path, { body });
      assertEquals(challenge.status, 428);
      assertEquals(
        challenge.headers.get("ratelimit"),
        method === "POST" ? `"budget";r=2` : `"budget";r=0`,
      );
      let served = await send(method, path, { body, headers: await solved(challenge) });
      if (method === "PATCH") {
        // The number of rows is unknown before the first of them is paid for.
        assertEquals(served.status, 428);
        served = await send(method, path, { body, headers: await solved(served) });
      }
      assert(served.status < 300, `${method} ${served.status}`);
    }
    const challenge = await send("GET", "/api/notes/count?filter=title==x");
    const count = await send("GET", "/api/notes/count?filter=title==x", {
      headers: await solved(challenge),
    });
    assertEquals(await count.json(), { count: 13 });
  });
});

Deno.test("a hundred creates do not cost the work of one GET, however little the budget holds", async () => {
  const deficits: number[] = [];
  const trust = ({ base, deficit }: TrustQuestion) => {
    deficits.push(deficit);
    return base;
  };
  const cheap = { ...pow, difficulty: 4, trust };
  await withGuard({ abuseProtection: { budget: budget(10), pow: cheap } }, {}, async ({ send }) => {
    for (let n = 0; n < 10; n++) await send("GET", "/api/notes", { user: "ann" });
    const get = await send("GET", "/api/notes", { user: "ann" });
    assertEquals(get.headers.get("service-pow-difficulty"), "5", "4 + ceil(log2(1 + 1 / 10))");
    const create = (headers = {}) =>
      send("POST", "/api/notes/batch", { body: items(100), headers });
    const one = await create();
    assertEquals(one.headers.get("service-pow-difficulty"), "5");
    const all = await create(await solved(one));
    assertEquals(
      [all.status, all.headers.get("service-pow-difficulty"), deficits.at(-1)],
      [428, "8", 100],
      "4 + ceil(log2(1 + 100 / 10)), and work for one item is not accepted for that",
    );
    assertEquals((await create(await solved(all))).status, 201);
  });
});

Deno.test("the balance of a budget reduces the work for a batch, and a full one pays for any", async () => {
  const cheap = { ...pow, difficulty: 4 };
  await withGuard({ abuseProtection: { budget: budget(10), pow: cheap } }, {}, async ({ send }) => {
    const create = (user: string) => send("POST", "/api/notes/batch", { body: items(100), user });
    assertEquals((await create("ann")).status, 201);
    await send("GET", "/api/notes", { user: "bob" });
    const short = await create("bob");
    assertEquals([short.status, short.headers.get("service-pow-difficulty")], [428, "8"]);
    const spent = await send("GET", "/api/notes", { user: "bob" });
    assertEquals(spent.headers.get("ratelimit"), `"budget";r=8`, "nothing of it was taken");
  });
});

Deno.test("one solution satisfies the gate and the overflow when it is hard enough for both", async () => {
  const config = { abuseProtection: { budget: budget(1), pow: { ...pow, difficulty: 5 } } };
  await withGuard(config, { pow: { difficulty: 9 } }, async ({ send }) => {
    const challenges = [await send("GET", "/api/notes")];
    assertEquals(
      (await send("GET", "/api/notes", { headers: await solved(challenges[0]!) })).status,
      200,
    );
    const both = await send("GET", "/api/notes");
    assertEquals([both.status, both.headers.get("service-pow-difficulty")], [428, "9"]);
    assertEquals((await send("GET", "/api/notes", { headers: await solved(both) })).status, 200);
  });
});

Deno.test("a challenge of a gate costs no budget", async () => {
  const config = { abuseProtection: { budget: budget(2), pow } };
  await withGuard(config, { pow: true }, async ({ send }) => {
    for (let n = 0; n < 5; n++) {
      const { status, headers } = await send("GET", "/api/notes");
      assertEquals([status, headers.get("ratelimit")], [428, `"budget";r=2;t=0`]);
    }
  });
});

Deno.test("the trust hook receives the reason, and 0 admits a caller without work", async () => {
  const questions: unknown[] = [];
  const trust = ({ user, reason, deficit, base }: TrustQuestion) => {
    questions.push([user?.id, reason, deficit, base]);
    return user?.id === "friend" ? 0 : base;
  };
  const config = { abuseProtection: { budget: budget(1, 2), pow: { ...pow, trust } } };
  await withGuard(config, { pow: { difficulty: 3, operations: ["create"] } }, async ({ send }) => {
    const friend = { user: "friend", body: { title: "a" } };
    for (let n = 0; n < 4; n++) {
      assertEquals((await send("POST", "/api/notes", friend)).status, 201);
    }
    const { status } = await send("POST", "/api/notes", { user: "ann", body: { title: "a" } });
    assertEquals(status, 428);
    assertEquals(questions[0], ["friend", "endpoint", 0, 3]);
    assertEquals(questions.at(-2), ["friend", "budget", 1, 7]);
    assertEquals(questions.at(-1), ["ann", "endpoint", 0, 3]);
  });
});

Deno.test("a CAPTCHA precedes proof of work, pays for the overflow, and falls back without a provider", async () => {
  const verifier = {
    provider: "riddle",
    siteKey: "the-sphinx",
    verify: ({ token }: { token: string }) => token.startsWith("a-human"),
  };
  const abuse = { budget: budget(2), pow };
  const options = {
    captcha: { operations: ["create" as const], action: "write" },
    pow: true,
  } as const;
  await withGuard(
    { abuseProtection: { ...abuse, captcha: { verifier } } },
    options,
    async ({ send }) => {
      const body = { title: "a" };
      const challenge = await send("POST", "/api/notes", { body });
      assertEquals(challenge.status, 428);
      assertEquals(challenge.headers.get("service-challenge-type"), "captcha");
      assertEquals(challenge.headers.get("service-captcha-action"), "write");
      const headers = { "service-captcha-token": "a-human-1" };
      assertEquals((await send("POST", "/api/notes", { body, headers })).status, 201);
      assertEquals((await send("POST", "/api/notes", { body, headers })).status, 428, "once");
      assertEquals((await send("GET", "/api/notes")).headers.get("service-challenge-type"), "pow");
    },
  );
  const overflow = { overflow: "captcha" } as const;
  await withGuard(
    { abuseProtection: { ...abuse, captcha: { verifier } } },
    overflow,
    async ({ send }) => {
      for (let n = 0; n < 2; n++) assertEquals((await send("GET", "/api/notes")).status, 200);
      assertEquals(
        (await send("GET", "/api/notes")).headers.get("service-challenge-type"),
        "captcha",
      );
      const headers = { "service-captcha-token": "a-human-2" };
      assertEquals((await send("GET", "/api/notes", { headers })).status, 200);
    },
  );
  await withGuard({ abuseProtection: abuse }, overflow, async ({ send }) => {
    for (let n = 0; n < 2; n++) await send("GET", "/api/notes");
    assertEquals((await send("GET", "/api/notes")).headers.get("service-challenge-type"), "pow");
  });
  await withGuard({ abuseProtection: { budget: budget(2) } }, overflow, async ({ send }) => {
    for (let n = 0; n < 2; n++) await send("GET", "/api/notes");
    assertEquals((await send("GET", "/api/notes")).status, 429);
  });
});

Deno.test("a procedure has a price and a gate of its own", async () => {
  const say = { input: z.any(), output: z.any(), public: true, handler: () => 1 } as const;
  const procedures = {
    dear: procedure({ ...say, cost: 7 }),
    free: procedure({ ...say, cost: 0 }),
    hard: procedure({ ...say, pow: { difficulty: 3 } }),
  };
  await withGuard(
    { abuseProtection: { budget: budget(10) } },
    { procedures, cost: { create: 9 } },
    async ({ send }) => {
      const call = (name: string, headers = {}) =>
        send("POST", `/api/notes/rpc/${name}`, { body: {}, headers });
      assertEquals((await call("dear")).headers.get("ratelimit"), `"budget";r=3`);
      assertEquals((await call("free")).headers.get("ratelimit"), null);
      const challenge = await call("hard");
      assertEquals(challenge.status, 428);
      assertEquals((await call("hard", await solved(challenge))).status, 200);
      assertEquals((await call("dear")).status, 429);
    },
  );
});

Deno.test("a page on another origin may read and send every header of the guard", async () => {
  await withGuard({ cors: true, abuseProtection: { budget: budget(9) } }, {}, async ({ send }) => {
    const answer = await send("GET", "/api/notes", { headers: { origin: "https://page.example" } });
    const exposed = answer.headers.get("access-control-expose-headers")?.toLowerCase() ?? "";
    for (const name of ["ratelimit", "ratelimit-policy", "retry-after", "service-pow-challenge"]) {
      assert(exposed.split(",").map((part) => part.trim()).includes(name), name);
    }
  });
});

Deno.test("options that cannot work fail the start, with a sentence that names the option", async () => {
  const one = { capacity: 5, refillPerMinute: 1 };
  const cases: readonly (readonly [Record<string, unknown>, Record<string, unknown>, string])[] = [
    [
      { abuseProtection: { budget: { classes: { anonymous: one } } } },
      { cost: { read: 6 } },
      "cost.read is 6",
    ],
    [
      { abuseProtection: { budget: { classes: { anonymous: { ...one, capacity: 0.5 } } } } },
      {},
      "cost.read is 1",
    ],
    [{}, { cost: { read: -1 } }, "cost.read"],
    [{}, { cost: { read: 1e-7 } }, "cost.read must be 0, or a number from 0.001 on, not 1e-7"],
    [
      { abuseProtection: { budget: { classes: { anonymous: { ...one, capacity: 1e300 } } } } },
      {},
      "capacity must be a number from 0.001 to 1000000000000, not 1e+300",
    ],
    [
      { idempotency: { ttlMs: 2 ** 53 - 1 } },
      {},
      "idempotency.ttlMs must be a whole number from 1 to 31622400000, not 9007199254740991",
    ],
    [{}, { cost: { reads: 1 } }, 'did you mean "read"'],
    [{}, { captcha: {} }, "abuseProtection.captcha"],
    [{}, { overflow: "pow" }, 'overflow must be "captcha", not "pow"'],
    [{}, { pow: { operations: ["write"] } }, "pow.operations"],
    [{}, { pow: { difficulty: 0 } }, "pow.difficulty"],
    [{}, { rateLimit: { windowMs: 0, maxRequests: 1 } }, "rateLimit.windowMs"],
    [{}, { rateLimit: { windowMs: 1 } }, "rateLimit.maxRequests"],
    [{ abuseProtection: { budget: { classes: {} } } }, {}, "classes must name"],
    [
      { abuseProtection: { budget: { classes: { gold: one } } } },
      {},
      "classes.gold needs classify",
    ],
    [
      { abuseProtection: { budget: { classes: { gold: one }, classify: () => "gold" } } },
      {},
      "must name anonymous",
    ],
    [
      { abuseProtection: { budget: { classes: { anonymous: { capacity: 1 } } } } },
      {},
      "refillPerMinute",
    ],
    [{ abuseProtection: { trustProxy: true } }, {}, "trustProxy"],
    [{ abuseProtection: { budgets: {} } }, {}, 'did you mean "budget"'],
    [{ abuseProtection: { pow: true } }, {}, "abuseProtection.pow"],
  ];
  for (const [config, options, message] of cases) {
    await assertRejects(() => withGuard(config, options, () => Promise.resolve()), Error, message);
  }
});
