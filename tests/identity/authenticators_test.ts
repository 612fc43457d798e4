import { assertEquals, assertRejects } from "@std/assert";
import { Hono } from "@hono/hono";
import { all, type AppConfig, createApp, integer, openDatabase } from "../../mod.ts";
import { Problem, resource, table, type User } from "../../mod.ts";
import type { Authenticator, AuthenticatorDefinition } from "../../exports/auth.ts";
import type { Observation } from "../../exports/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

const notes = table("notes", { id: integer().primaryKey() });

/** Recognizes `kind NAME` in the header `x-who`, at once or later. */
function byWord(kind: string, isLate = false): Authenticator {
  return {
    name: kind,
    identify(request) {
      const [given, name] = request.headers.get("x-who")?.split(" ") ?? [];
      if (given !== kind) return isLate ? Promise.resolve(null) : null;
      if (name === undefined) throw new Problem("unauthorized", `No ${kind} without a name`);
      const found = { user: { id: `${kind} ${name}` } };
      return isLate ? Promise.resolve(found) : found;
    },
  };
}

async function withAuth(
  auth: AppConfig["auth"],
  work: (
    ask: (who: string | null, path?: string) => Promise<readonly [status: number, user: unknown]>,
    observations: readonly Observation[],
  ) => Promise<void>,
  more: Partial<AppConfig> = {},
): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const observations: Observation[] = [];
  const seen: User[] = [];
  const starting = createApp({
    db,
    runtime: systemRuntime((observation) => observations.push(observation)),
    secret: "a secret for the tests only",
    auth,
    resources: [
      resource(notes, {
        id: notes.id,
        auth: {
          read(given) {
            seen.push(given);
            return all();
          },
        },
        rateLimit: { windowMs: 60_000, maxRequests: 20 },
      }),
    ],
    ...more,
  });
  const app = await starting.catch(async (error) => {
    await db.close();
    throw error;
  });
  app.hono.get("/who", (context) => context.json(context.get("user") ?? null));
  try {
    await work(async (who, path = "/api/notes") => {
      seen.length = 0;
      const headers: Record<string, string> = who === null ? {} : { "x-who": who };
      const answer = await app.fetch(new Request(`http://localhost${path}`, { headers }));
      const body = await answer.json();
      return [
        answer.status,
        path === "/who" ? body?.id ?? body?.code ?? null : seen[0]?.id ?? null,
      ];
    }, observations);
  } finally {
    await app.close();
  }
}

const middleware: NonNullable<AppConfig["auth"]>["middleware"] = async (context, next) => {
  const own = context.req.header("x-who")?.match(/^own (.*)/)?.[1];
  if (own !== undefined) context.set("user", { id: `own ${own}` });
  await next();
};

for (const isLate of [false, true]) {
  for (const own of [undefined, middleware]) {
    const name = `${isLate ? "later" : "at once"}, ${
      own === undefined ? "alone" : "with a middleware"
    }`;
    Deno.test(`the first authenticator that recognizes a credential identifies the user: ${name}`, async () => {
      const use = [byWord("key"), byWord("token", isLate), byWord("key", isLate)];
      await withAuth({ use, middleware: own }, async (ask) => {
        for (const path of ["/api/notes", "/who"]) {
          assertEquals(await ask("key one", path), [200, "key one"]);
          assertEquals(await ask("token two", path), [200, "token two"]);
        }
        assertEquals(await ask("token"), [401, null], "recognized and wrong");
        assertEquals(await ask("token", "/who"), [401, "UNAUTHORIZED"]);
        assertEquals(await ask(null), [401, null]);
        assertEquals(await ask(null, "/who"), [200, null]);
        assertEquals(await ask("own three"), own === undefined ? [401, null] : [200, "own three"]);
      });
    });
  }
}

Deno.test("a credential that is wrong is 401, and no later authenticator and no middleware is asked", async () => {
  let asked = 0;
  const later: Authenticator = {
    name: "later",
    identify() {
      asked++;
      return { user: { id: "anyone" } };
    },
  };
  const counting: typeof middleware = async (_context, next) => {
    asked++;
    await next();
  };
  for (const own of [undefined, counting]) {
    await withAuth({ use: [byWord("key"), later], middleware: own }, async (ask) => {
      assertEquals(await ask("key"), [401, null]);
    });
  }
  assertEquals(asked, 0);
});

Deno.test("what authenticators refuse counts against the rate limit, with and without a middleware", async () => {
  for (const own of [undefined, middleware]) {
    await withAuth({ use: [byWord("key")], middleware: own }, async (ask) => {
      const statuses: number[] = [];
      for (let index = 0; index < 22; index++) statuses.push((await ask("key"))[0]);
      assertEquals(statuses, [...Array(20).fill(401), 429, 429]);
    });
  }
});

Deno.test("an authenticator that fails is a 500 that is observed, and health stays in reach", async () => {
  const use: Authenticator[] = [{
    name: "broken",
    identify: () => Promise.reject(new Error("no directory")),
  }];
  await withAuth({ use }, async (ask, observations) => {
    assertEquals(await ask("x"), [500, null]);
    assertEquals(observations.filter(({ kind }) => kind === "request_failed").length, 1);
    assertEquals((await ask("x", "/healthz"))[0], 200);
  });
});

Deno.test("a user without an id is anonymous, and one with a number is, with a notice", async () => {
  const users: readonly unknown[] = [{}, { id: "" }, { id: 7 }, null, "ada"];
  for (const user of users) {
    const use: Authenticator[] = [{
      name: "odd",
      // Wrong on purpose.
      identify: () => ({ user: user as User }),
    }];
    await withAuth({ use }, async (ask, observations) => {
      assertEquals(await ask("x"), [401, null]);
      assertEquals(
        observations.filter(({ kind }) => kind === "notice").length,
        Object(user).id === 7 ? 1 : 0,
      );
    });
  }
});

Deno.test("the routes of authenticators and auth.routes share a path, and see the user", async () => {
  const routes = new Hono<{ Variables: { user: User | undefined } }>()
    .get("/first", (context) => context.json({ id: context.get("user")?.id ?? null }));
  const more = new Hono().get("/second", (context) => context.json({ id: "second" }));
  const use = [{ ...byWord("key"), routes }, byWord("token")];
  await withAuth({ use, routes: more }, async (ask) => {
    assertEquals((await ask("key one", "/api/auth/first"))[0], 200);
    assertEquals((await ask("key", "/api/auth/first"))[0], 200, "a login must be within reach");
    assertEquals((await ask(null, "/api/auth/second"))[0], 200);
  });
});

Deno.test("authenticators are closed with the app, and one that cannot be opened fails the start", async () => {
  let closed = 0;
  const one: Authenticator = {
    ...byWord("key"),
    close() {
      closed++;
      return Promise.resolve();
    },
  };
  await withAuth({ use: [one] }, async (ask) => {
    assertEquals(await ask("key one"), [200, "key one"]);
    assertEquals(closed, 0);
  });
  assertEquals(closed, 1);
  const broken: AuthenticatorDefinition = {
    name: "broken",
    open: () => Promise.reject(new Error("Cannot start: no directory")),
  };
  await assertRejects(
    () => withAuth({ use: [broken] }, () => Promise.resolve()),
    Error,
    "Cannot start: no directory",
  );
});

Deno.test("what is no authenticator fails the start, and the message says what to write", async () => {
  const start = (use: unknown) =>
    // Wrong on purpose.
    withAuth({ use } as AppConfig["auth"], () => Promise.resolve())
      .then(() => "started", (error) => error.message);
  function jwtAuth() {}
  assertEquals(
    await start([jwtAuth]),
    "Cannot start: auth.use[0] is the function jwtAuth: call it, as in jwtAuth({ … })",
  );
  assertEquals(
    await start([{ identify() {} }]),
    "Cannot start: auth.use[0] must be an authenticator, like jwtAuth(…), or an object with a name " +
      "and a function identify, not an object",
  );
  assertEquals(
    await start(byWord("key")),
    "Cannot start: auth.use must be a list of authenticators, like jwtAuth(…), not an object",
  );
});
