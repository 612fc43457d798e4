import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { exportSPKI } from "jose";
import { jwtAuth } from "../../exports/auth.ts";
import type { JwtAlgorithm, JwtAuthOptions } from "../../exports/auth.ts";
import { all, createApp, integer, openDatabase, resource, table } from "../../mod.ts";
import type { Runtime } from "../../exports/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";
import {
  keyServer,
  nowSeconds,
  rawToken,
  signed,
  signedWith,
  signedWithExtension,
  signingKey,
} from "./jwt_support.ts";

const secret = "a secret for tokens of the tests";
const notes = table("notes", { id: integer().primaryKey() });

/** What an answer says of the caller: the status, and the user that the scope has seen. */
interface Seen {
  readonly status: number;
  readonly user: unknown;
  readonly detail: string;
  readonly challenge: string | null;
}

interface JwtService {
  ask(authorization: string | null): Promise<Seen>;
  advance(ms: number): void;
  readonly observed: readonly string[];
}

async function withJwt(
  options: JwtAuthOptions,
  work: (service: JwtService) => Promise<void>,
): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const hand = handClock();
  const startedAt = Date.now();
  const observed: string[] = [];
  const system = systemRuntime(({ kind }) => observed.push(kind));
  const runtime: Runtime = {
    ...system,
    clock: {
      // The timers are those of the machine: a server that hangs is given up in time.
      ...system.clock,
      now: () => startedAt + hand.clock.now(),
      elapsedMs: () => hand.clock.elapsedMs(),
    },
  };
  let user: unknown = null;
  const app = await createApp({
    db,
    runtime,
    secret: "a secret for the tests only",
    auth: { use: [jwtAuth(options)] },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: {
          read: (given) => {
            user = given;
            return all();
          },
        },
      }),
    ],
  });
  try {
    await work({
      observed,
      advance: hand.advance,
      async ask(authorization) {
        user = null;
        const headers = authorization === null ? {} : { authorization };
        const answer = await app.fetch(new Request("http://localhost/api/notes", { headers }));
        const body = await answer.json();
        const challenge = answer.headers.get("www-authenticate");
        return { status: answer.status, user, detail: body.detail ?? "", challenge };
      },
    });
  } finally {
    await app.close();
  }
}

Deno.test("a token identifies its user, with its claims", async () => {
  await withJwt({ secret }, async ({ ask }) => {
    const claims = { sub: "ada", email: "a@b.c", name: "Ada", roles: ["editor"], team: 7 };
    const exp = nowSeconds() + 60;
    const { status, user } = await ask(`Bearer ${await signedWith(secret, { ...claims, exp })}`);
    assertEquals([status, user], [200, {
      id: "ada",
      email: "a@b.c",
      name: "Ada",
      roles: ["editor"],
      claims: { exp, ...claims },
    }]);
    // The scheme has no case, and there may be more than one space.
    assertEquals((await ask(`bearer   ${await signedWith(secret, { sub: "eve" })}`)).status, 200);
    const anonymous = await ask(null);
    assertEquals([anonymous.status, anonymous.challenge], [401, "Bearer"]);
  });
});

for (
  const algorithm of ["RS256", "PS256", "ES256", "ES384", "EdDSA"] satisfies JwtAlgorithm[]
) {
  Deno.test(`a token is verified by a public key, as a PEM and as a JWK: ${algorithm}`, async () => {
    const pair = await signingKey(algorithm, "one");
    const token = await signed(pair, { sub: "ada" });
    const other = await signed(await signingKey(algorithm, "one"), { sub: "ada" });
    const pem = await exportSPKI(pair.publicKey);
    const algorithms: JwtAlgorithm[] | undefined = algorithm === "PS256" ? ["PS256"] : undefined;
    for (const key of [pem, { ...pair.jwk, kty: pair.jwk.kty ?? "" }]) {
      await withJwt({ key, algorithms }, async ({ ask }) => {
        assertEquals((await ask(`Bearer ${token}`)).status, 200);
        assertEquals((await ask(`Bearer ${other}`)).status, 401);
      });
    }
  });
}

Deno.test("tokens that are forged in the known ways are 401", async () => {
  const rsa = await signingKey("RS256", "one");
  const attacker = await signingKey("RS256", "one");
  const pem = await exportSPKI(rsa.publicKey);
  const claims = { sub: "ada", exp: nowSeconds() + 3_600 };
  const good = await signed(rsa, { sub: "ada" });
  const [head = "", body = "", signature = ""] = good.split(".");
  const forged: Record<string, string> = {
    "alg none": rawToken({ alg: "none" }, claims),
    "alg None": rawToken({ alg: "None" }, claims),
    "no alg": rawToken({}, claims),
    "the public key as a secret": await signedWith(pem, { sub: "ada" }, { kid: "one" }),
    "the public key as a secret, trimmed": await signedWith(pem.trim(), { sub: "ada" }),
    "crit of an unknown extension": await signedWithExtension(rsa, claims),
    "an own key in the header": await signed(attacker, { sub: "ada" }, { jwk: attacker.jwk }),
    "the address of an own key": await signed(attacker, { sub: "ada" }, {
      jku: "http://127.0.0.1:1/jwks.json",
      x5u: "http://127.0.0.1:1/x",
    }),
    "a key id that is a path": await signed(attacker, { sub: "ada" }, { kid: "../../dev/null" }),
    "expired": await signed(rsa, { sub: "ada", exp: nowSeconds() - 60 }),
    "not yet valid": await signed(rsa, { sub: "ada", nbf: nowSeconds() + 60 }),
    "another audience": await signed(rsa, { sub: "ada", iss: "https://id.test", aud: "other" }),
    "another issuer": await signed(rsa, { sub: "ada", iss: "https://evil.test", aud: "api" }),
    "no audience": await signed(rsa, { sub: "ada", iss: "https://id.test" }),
    "other claims": `${head}.${
      rawToken({}, { ...claims, sub: "root" }).split(".")[1]
    }.${signature}`,
    "no signature": `${head}.${body}.`,
    "two parts": `${head}.${body}`,
    "four parts": `${good}.x`,
    "empty parts": "..",
    "a signature of another form": `${head}.${body}.${signature}=`,
    "exp as a text": rawToken({ alg: "RS256" }, { ...claims, exp: "9999999999" }, signature),
    "no JSON": `${head}.bm90IGpzb24.${signature}`,
  };
  await withJwt({ key: pem, issuer: "https://id.test", audience: ["api"] }, async ({ ask }) => {
    const right = await signed(rsa, { sub: "ada", iss: "https://id.test", aud: ["x", "api"] });
    assertEquals((await ask(`Bearer ${right}`)).status, 200);
    for (const [name, token] of Object.entries(forged)) {
      const { status, challenge } = await ask(`Bearer ${token}`);
      assertEquals([status, challenge], [401, 'Bearer error="invalid_token"'], name);
    }
  });
  await withJwt({ key: pem }, async ({ ask }) => {
    for (
      const name of Object.keys(forged).filter((name) => !/audience|issuer/.test(name))
    ) assertEquals((await ask(`Bearer ${forged[name]}`)).status, 401, name);
  });
});

Deno.test("keys in the header of a token are ignored: the configured key alone decides", async () => {
  const rsa = await signingKey("RS256", "one");
  const attacker = await signingKey("RS256", "one");
  await using server = keyServer([attacker.jwk]);
  const headers = { jwk: attacker.jwk, jku: server.url, x5u: server.url };
  await withJwt({ key: await exportSPKI(rsa.publicKey) }, async ({ ask }) => {
    for (const [name, header] of Object.entries(headers)) {
      const right = await signed(rsa, { sub: "ada" }, { [name]: header });
      assertEquals((await ask(`Bearer ${right}`)).status, 200, name);
      const forged = await signed(attacker, { sub: "ada" }, { [name]: header });
      assertEquals((await ask(`Bearer ${forged}`)).status, 401, name);
    }
  });
  assertEquals(server.requests, 0);
});

Deno.test("claims that an issuer and an audience are not asked of may be missing, exp and sub may not", async () => {
  await withJwt({ secret }, async ({ ask }) => {
    const status = async (claims: object) =>
      (await ask(`Bearer ${await signedWith(secret, { ...claims })}`)).status;
    assertEquals(await status({ sub: "ada" }), 200);
    assertEquals(await status({ sub: "ada", exp: undefined }), 401);
    assertEquals(await status({ sub: "" }), 401);
    assertEquals(await status({}), 401);
  });
  await withJwt({ secret, requireExpiry: false }, async ({ ask }) => {
    const token = await signedWith(secret, Object({ sub: "ada", exp: undefined }));
    assertEquals((await ask(`Bearer ${token}`)).status, 200);
  });
});

Deno.test("the clocks may differ by clockToleranceMs", async () => {
  await withJwt({ secret, clockToleranceMs: 30_000 }, async ({ ask }) => {
    const status = async (claims: object) =>
      (await ask(`Bearer ${await signedWith(secret, { sub: "ada", ...claims })}`)).status;
    assertEquals(await status({ exp: nowSeconds() - 20 }), 200);
    assertEquals(await status({ exp: nowSeconds() - 40 }), 401);
    assertEquals(await status({ nbf: nowSeconds() + 20 }), 200);
    assertEquals(await status({ nbf: nowSeconds() + 40 }), 401);
  });
});

Deno.test("a token that was verified is good until it expires, and not a moment longer", async () => {
  await withJwt({ secret, clockToleranceMs: 0 }, async ({ ask, advance }) => {
    const token = await signedWith(secret, { sub: "ada", exp: nowSeconds() + 100 });
    const statuses: number[] = [];
    for (let second = 0; second < 104; second += 2) {
      statuses.push((await ask(`Bearer ${token}`)).status);
      advance(2_000);
    }
    assertEquals(statuses.slice(0, 49), Array(49).fill(200));
    assertEquals(statuses.slice(-2), [401, 401]);
  });
});

Deno.test("a token that comes again is not verified again, and its user is the same object", async () => {
  let made = 0;
  const user: JwtAuthOptions["user"] = ({ sub }) => ({ id: `${sub}-${++made}` });
  await withJwt({ secret, user }, async ({ ask }) => {
    const bearer = `Bearer ${await signedWith(secret, { sub: "ada" })}`;
    const first = await ask(bearer);
    for (let request = 0; request < 50; request++) {
      assertStrictEquals((await ask(bearer)).user, first.user);
    }
    assertEquals(made, 1);
  });
});

Deno.test("a token of a megabyte, and two headers, are 401 without work", async () => {
  await withJwt({ secret }, async ({ ask }) => {
    const long = await signedWith(secret, { sub: "ada", padding: "x".repeat(1_000_000) });
    // Its signature is good: the length is looked at before.
    const { status, detail } = await ask(`Bearer ${long}`);
    assertEquals([status, detail], [401, "Cannot accept this token: it is too long"]);
    const one = await signedWith(secret, { sub: "ada" });
    const two = await signedWith(secret, { sub: "eve" });
    for (
      const joined of [`Bearer ${one}, Bearer ${two}`, `Bearer ${one},${two}`, "Bearer", "Bearer "]
    ) {
      assertEquals((await ask(joined)).status, 401, joined.slice(0, 30));
    }
    // Another scheme is no token: the caller is anonymous here, and 401 by the scope.
    const basic = await ask("Basic YTpi");
    assertEquals([basic.status, basic.challenge], [401, "Bearer"]);
  });
});

Deno.test("a list of secrets rotates: tokens of the old one are good until it is taken away", async () => {
  const old = "the secret of the year before this";
  const token = await signedWith(old, { sub: "ada" });
  await withJwt({ secret: [secret, old] }, async ({ ask }) => {
    assertEquals((await ask(`Bearer ${token}`)).status, 200);
    assertEquals((await ask(`Bearer ${await signedWith(secret, { sub: "ada" })}`)).status, 200);
  });
  await withJwt({ secret }, async ({ ask }) => {
    assertEquals((await ask(`Bearer ${token}`)).status, 401);
  });
});

Deno.test("the user of a token may be made otherwise, and refused", async () => {
  const user: JwtAuthOptions["user"] = ({ uid, banned }) =>
    Promise.resolve(banned === true ? null : { id: `u${uid}` });
  await withJwt({ secret, user }, async ({ ask }) => {
    assertEquals((await ask(`Bearer ${await signedWith(secret, { uid: 7 })}`)).user, { id: "u7" });
    const { status } = await ask(`Bearer ${await signedWith(secret, { uid: 7, banned: true })}`);
    assertEquals(status, 401);
  });
});

Deno.test("the keys of a set are fetched once, and again for an unknown key: once a minute at most", async () => {
  const [first, second, stranger] = await Promise.all(
    ["one", "two", "three"].map((id) => signingKey("ES256", id)),
  );
  if (first === undefined || second === undefined || stranger === undefined) throw new Error();
  await using server = keyServer([first.jwk]);
  await withJwt({ jwks: server.url }, async ({ ask, advance }) => {
    const bearer = async (key: typeof first) => `Bearer ${await signed(key, { sub: "ada" })}`;
    const [byFirst, bySecond] = [await bearer(first), await bearer(second)];
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(byFirst)));
    assertEquals(answers.every(({ status }) => status === 200), true);
    assertEquals(server.requests, 1, "requests that arrive together share it");
    for (let index = 0; index < 50; index++) {
      assertEquals((await ask(await bearer(stranger))).status, 401);
    }
    assertEquals(server.requests, 1, "it was fetched less than a minute ago");
    advance(60_000);
    await Promise.all(Array.from({ length: 50 }, async () => await ask(await bearer(stranger))));
    assertEquals(server.requests, 2);

    // The provider rotates: the new key is known with the first token of it, the old one is gone.
    server.answer = () => Response.json({ keys: [second.jwk] });
    advance(60_000);
    assertEquals((await ask(bySecond)).status, 200);
    assertEquals(server.requests, 3);
    assertEquals((await ask(byFirst)).status, 401, "what the old key has verified is forgotten");
  });
});

Deno.test("a token of a key set is never verified by a secret, nor by a key of another kind", async () => {
  const rsa = await signingKey("RS256", "one");
  await using server = keyServer([rsa.jwk]);
  const { n = "" } = rsa.jwk;
  const pem = await exportSPKI(rsa.publicKey);
  await withJwt({ jwks: server.url }, async ({ ask }) => {
    for (const asSecret of [pem, n, JSON.stringify(rsa.jwk)]) {
      const token = await signedWith(asSecret, { sub: "ada" }, { kid: "one" });
      assertEquals((await ask(`Bearer ${token}`)).status, 401);
    }
  });
});

Deno.test("a server of keys that is down, slow or wrong is a 503 at first, and changes nothing later", async () => {
  const key = await signingKey("ES256", "one");
  const bearer = `Bearer ${await signed(key, { sub: "ada" })}`;
  const broken: readonly (() => Response)[] = [
    () => new Response("down", { status: 500 }),
    () => new Response("<html>"),
    () => Response.json({ keys: "none" }),
    () => new Response("x".repeat(600 * 1024)),
    () => new Response(null, { status: 302, headers: { location: "/other" } }),
  ];
  await using server = keyServer([key.jwk]);
  const right = server.answer;
  await withJwt({ jwks: server.url }, async ({ ask, advance, observed }) => {
    for (const answer of broken) {
      server.answer = answer;
      const { status } = await ask(bearer);
      assertEquals(status, 503);
      advance(5_000);
    }
    assertEquals(observed.filter((kind) => kind === "keys_not_fetched").length, broken.length);
    const requests = server.requests;
    server.answer = right;
    assertEquals((await ask(bearer)).status, 200);
    assertEquals(server.requests, requests + 1);
    for (const answer of broken) {
      server.answer = answer;
      advance(11 * 60_000);
      assertEquals(
        (await ask(`Bearer ${await signed(key, { sub: "eve", exp: nowSeconds() + 86_400 })}`))
          .status,
        200,
      );
    }
  });
});

Deno.test("a server of keys that hangs delays a request by five seconds, and once keys are known by nothing", async () => {
  const key = await signingKey("ES256", "one");
  const exp = nowSeconds() + 86_400;
  await using server = keyServer([key.jwk]);
  const right = server.answer;
  const hanging = Promise.withResolvers<Response>();
  await withJwt({ jwks: server.url }, async ({ ask, advance }) => {
    assertEquals((await ask(`Bearer ${await signed(key, { sub: "ada", exp })}`)).status, 200);
    server.answer = () => hanging.promise;
    advance(11 * 60_000);
    const startedAt = performance.now();
    for (let index = 0; index < 20; index++) {
      assertEquals(
        (await ask(`Bearer ${await signed(key, { sub: `u${index}`, exp })}`)).status,
        200,
      );
    }
    assert(performance.now() - startedAt < 4_000);
    hanging.resolve(right());
    // The test ends once the fetch has.
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
});

Deno.test("wrong options of tokens fail the start, and say what to do", () => {
  const cases: readonly (readonly [options: unknown, message: string])[] = [
    [{}, "jwtAuth takes one of secret, key and jwks, and none of them is given"],
    [
      { secret, jwks: "https://x.test/" },
      "jwtAuth takes one of secret, key and jwks, and secret and jwks are given",
    ],
    [{ secret: "short" }, "jwtAuth.secret is shorter than 16 characters"],
    [
      { secret, algorithms: ["RS256"] },
      "jwtAuth.algorithms names RS256, which is no algorithm of a secret",
    ],
    [
      { jwks: "https://x.test/", algorithms: ["HS256"] },
      "jwtAuth.algorithms names HS256, which is no algorithm of a public key",
    ],
    [
      { secret, algorithms: ["none"] },
      'jwtAuth.algorithms[0] must be "EdDSA", "Ed25519", "ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "HS256", "HS384" or "HS512", not "none"',
    ],
    [
      { key: "-----BEGIN PRIVATE KEY-----" },
      "jwtAuth.key is a private key: give it the public one, which verifies",
    ],
    [
      { jwks: "http://id.example.com/keys" },
      'jwtAuth.jwks must be an https:// URL, or http:// on this machine, not "http://id.example.com/keys"',
    ],
    [{ secret, audiences: ["x"] }, 'jwtAuth has no option "audiences": did you mean "audience"?'],
  ];
  for (const [options, message] of cases) {
    let found = "";
    try {
      // Wrong on purpose.
      jwtAuth(options as JwtAuthOptions);
    } catch (error) {
      found = error instanceof Error ? error.message : "";
    }
    assertEquals(found, `Cannot start: ${message}`);
  }
});
