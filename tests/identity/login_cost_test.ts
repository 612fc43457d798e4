import { assert, assertEquals } from "@std/assert";
import { solve } from "../../exports/proof_of_work.ts";
import type { LoginFacts } from "../../exports/auth.ts";
import type { Answer } from "../support/http.ts";
import { ada, password, withAccounts } from "./accounts_support.ts";

const wrong = { ...ada, password: "a wrong but long password" };

/** A budget of the whole service, without refill, so that no test depends on time. */
function budget(capacity: number, more: object = {}) {
  const classes = { anonymous: { capacity, refillPerMinute: 0 } };
  return { abuseProtection: { budget: { classes }, ...more } };
}

function remaining({ headers }: Answer): number {
  return Number(/;r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
}

Deno.test("a login that fails is charged, one that succeeds is not", async () => {
  await withAccounts({ login: { cost: { failed: 3 } } }, async ({ signUp, post }) => {
    await signUp();
    const start = remaining(await post("/api/auth/login", ada));
    assertEquals(remaining(await post("/api/auth/login", ada)), start);
    assertEquals(remaining(await post("/api/auth/login", wrong)), start - 3);
    assertEquals(remaining(await post("/api/auth/login", wrong)), start - 6);
    assertEquals(remaining(await post("/api/auth/login", ada)), start - 6);
  }, { config: budget(100) });
});

Deno.test("a storm of failures is charged, and then refused before any password is looked at", async () => {
  await withAccounts({}, async ({ signUp, post, observations }) => {
    await signUp();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => post("/api/auth/login", wrong)),
    );
    const counts = Object.groupBy(answers, ({ status }) => status);
    // One of the ten was the cost of the signup.
    assertEquals([counts[401]?.length, counts[429]?.length], [9, 91]);
    assert(counts[429]?.every(({ headers }) => headers.has("retry-after")));
    const failed = observations.filter((one) =>
      one.kind === "account_event" && one.event === "login-failed"
    );
    assertEquals(failed.length, 9);
  }, { config: budget(10) });
});

Deno.test("a hundred logins that succeed cost nothing, and a refund lifts no bucket over its capacity", async () => {
  await withAccounts({}, async ({ signUp, post }) => {
    await signUp();
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => post("/api/auth/login", ada, { address: "192.0.2.77" })),
      );
      assertEquals(answers.every(({ status }) => status === 200), true);
    }
    const last = await post("/api/auth/login", ada, { address: "192.0.2.77" });
    assertEquals(remaining(last), 10);
    const after = await post("/api/auth/login", wrong, { address: "192.0.2.77" });
    assertEquals(remaining(after), 9);
  }, { config: budget(10) });
});

Deno.test("an office that logs in at once is not refused for what its logins hold until they succeed", async () => {
  await withAccounts({}, async ({ signUp, post }) => {
    await signUp();
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => post("/api/auth/login", ada, { address: "192.0.2.78" })),
    );
    assertEquals(answers.map(({ status }) => status), Array(64).fill(200));
    // More than 128 that wait are too many.
    const flood = await Promise.all(
      Array.from({ length: 200 }, () => post("/api/auth/login", ada, { address: "192.0.2.79" })),
    );
    const counts = Object.groupBy(flood, ({ status }) => status);
    const [served = 0, refused = 0] = [counts[200]?.length, counts[503]?.length];
    assertEquals(served + refused, 200);
    assert(served >= 132 && refused > 0, `${served} and ${refused}`);
  }, { config: budget(5) });
});

Deno.test("another e-mail address in each request does not reset the bucket of the address", async () => {
  await withAccounts({}, async ({ post }) => {
    const statuses: number[] = [];
    for (let index = 0; index < 15; index++) {
      const email = `user-${index}@example.com`;
      statuses.push((await post("/api/auth/login", { email, password })).status);
    }
    assertEquals(statuses, [...Array(10).fill(401), ...Array(5).fill(429)]);
  }, { config: budget(10) });
});

Deno.test("a stranger cannot lock a user out: failures from elsewhere do not count for the user", async () => {
  await withAccounts({}, async ({ signUp, post }) => {
    await signUp();
    for (let index = 0; index < 200; index++) {
      const options = { address: `198.51.${index % 100}.7` };
      await post("/api/auth/login", { ...wrong, password: `a wrong password ${index}` }, options);
    }
    assertEquals((await post("/api/auth/login", ada, { address: "203.0.113.9" })).status, 200);
  }, { config: budget(5) });
});

Deno.test("without a budget in the configuration, passwords can all the same not be guessed without a limit", async () => {
  await withAccounts({}, async ({ post }) => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => post("/api/auth/login", wrong, { address: "192.0.2.5" })),
    );
    const counts = Object.groupBy(answers, ({ status }) => status);
    assertEquals([counts[401]?.length, counts[429]?.length], [20, 20]);
  });
});

Deno.test("a gate of proof of work stands before the credentials, and a solution opens it once", async () => {
  await withAccounts(
    { login: { pow: { difficulty: 8 } } },
    async ({ signUp, post, observations }) => {
      await signUp();
      const challenge = await post("/api/auth/login", ada);
      assertEquals([challenge.status, challenge.body.code], [428, "PROOF_OF_WORK_REQUIRED"]);
      assertEquals(observations.some((one) => Reflect.get(one, "event") === "login"), false);
      const token = challenge.headers.get("service-pow-challenge") ?? "";
      const nonce = await solve({ token, difficulty: 8 });
      const headers = { "service-pow-challenge": token, "service-pow-nonce": nonce };
      // It is bound to this body: another password needs work of its own.
      assertEquals((await post("/api/auth/login", wrong, { headers })).status, 428);
      assertEquals((await post("/api/auth/login", ada, { headers })).status, 200);
      assertEquals((await post("/api/auth/login", ada, { headers })).status, 428);
    },
    { config: { abuseProtection: { pow: { secret: "a secret for the tests only" } } } },
  );
});

Deno.test("signup and reset have costs and gates of their own", async () => {
  const options = { signup: { cost: 4, pow: true }, passwordReset: { cost: 3 } };
  await withAccounts(options, async ({ post }) => {
    assertEquals((await post("/api/auth/signup", ada)).status, 428);
    const forgot = () => post("/api/auth/password/forgot", { email: ada.email });
    const answers = [await forgot(), await forgot(), await forgot(), await forgot()];
    assertEquals(answers.map(({ status }) => status), [202, 202, 202, 429]);
    assertEquals(answers.map(remaining), [7, 4, 1, 1]);
  }, { config: { abuseProtection: { ...budget(10).abuseProtection } } });
});

const captcha = {
  verifier: {
    provider: "riddle",
    siteKey: "the-sphinx",
    verify: ({ token }: { readonly token: string }) => token.startsWith("a-human-being"),
  },
};

Deno.test("a CAPTCHA is demanded by the risk: failures of this account, address and network", async () => {
  const seen: LoginFacts[] = [];
  const required = (_request: Request, facts: LoginFacts) => {
    seen.push(facts);
    return facts.account >= 3;
  };
  await withAccounts(
    { login: { captcha: { required } } },
    async ({ signUp, post, observations }) => {
      await signUp();
      for (let index = 0; index < 3; index++) {
        const answer = await post("/api/auth/login", wrong, { address: `192.0.2.${index + 1}` });
        assertEquals(answer.status, 401);
      }
      const refused = await post("/api/auth/login", ada, { address: "192.0.2.3" });
      assertEquals([refused.status, refused.body.code], [428, "CAPTCHA_REQUIRED"]);
      assertEquals(refused.headers.get("service-captcha-sitekey"), "the-sphinx");
      assertEquals(seen.at(-1), { account: 3, address: 1, network: 3 });
      assertEquals(observations.some((one) => Reflect.get(one, "event") === "login"), false);
      const withToken = (token: string) =>
        post("/api/auth/login", ada, { headers: { "service-captcha-token": token } });
      assertEquals((await withToken("a-robot")).status, 428);
      assertEquals((await withToken("a-human-being-1")).status, 200);
      assertEquals((await withToken("a-human-being-1")).status, 428, "good once");
      // Another account from the same network is not concerned by this predicate.
      const other = { email: "other@example.com", password };
      assertEquals((await post("/api/auth/login", other, { address: "192.0.2.3" })).status, 401);
      assertEquals(seen.at(-1), { account: 0, address: 1, network: 3 });
    },
    { config: { abuseProtection: { captcha } } },
  );
});

Deno.test("the failures of an hour ago no longer count, and IPv6 networks are /48", async () => {
  const seen: LoginFacts[] = [];
  const required = (_request: Request, facts: LoginFacts) => {
    seen.push(facts);
    return false;
  };
  const options = { login: { captcha: { required } } };
  await withAccounts(options, async ({ post, advance }) => {
    await post("/api/auth/login", wrong, { address: "2001:db8:1:1::1" });
    await post("/api/auth/login", wrong, { address: "2001:db8:1:1::2" });
    await post("/api/auth/login", wrong, { address: "2001:db8:1:2::1" });
    await post("/api/auth/login", wrong, { address: "2001:db8:2:1::1" });
    assertEquals(seen, [
      { account: 0, address: 0, network: 0 },
      { account: 1, address: 1, network: 1 },
      { account: 2, address: 0, network: 2 },
      { account: 3, address: 0, network: 0 },
    ]);
    advance(3_600_001);
    await post("/api/auth/login", wrong, { address: "2001:db8:1:1::1" });
    assertEquals(seen.at(-1), { account: 0, address: 0, network: 0 });
  }, { config: { abuseProtection: { captcha } }, movesClock: true });
});

Deno.test("a required function that fails demands the CAPTCHA, and is observed", async () => {
  const required = () => Promise.reject(new Error("no reputation service"));
  await withAccounts({ login: { captcha: { required } } }, async ({ post, observations }) => {
    assertEquals((await post("/api/auth/login", ada)).status, 428);
    assertEquals(observations.at(-1)?.kind, "login_risk_failed");
  }, { config: { abuseProtection: { captcha } } });
});

Deno.test("a CAPTCHA without a verifier, and a cost that no budget holds, fail the start", async () => {
  const start = (options: Parameters<typeof withAccounts>[0], config = {}) =>
    withAccounts(options, () => Promise.resolve(), { config })
      .then(() => "started", (error) => error.message);
  assertEquals(
    await start({ signup: { captcha: true } }),
    "Cannot start: passwordAuth.signup.captcha needs a verifier: set abuseProtection.captcha",
  );
  assertEquals(
    await start({ login: { cost: { failed: 11 } } }, budget(10)),
    'Cannot start: passwordAuth.login.cost is 11, and a budget of the class "anonymous" holds 10',
  );
});
