import { assertEquals, assertRejects } from "@std/assert";
import { createClient, ServiceError, type TokenSource } from "../../../exports/client.ts";
import { all, createApp, integer, openDatabase, resource, table } from "../../../mod.ts";

const things = table("things", { id: integer().primaryKey() });

interface Api {
  things: {
    path: "/api/things";
    key: number;
    row: { id: number };
    create: { id?: number };
    update: never;
    relations: Record<never, never>;
    etag: false;
    procedures: Record<never, never>;
  };
}

/** Runs `work` with a service whose users send one of the tokens in `valid`. */
async function withTokens(
  valid: Set<string>,
  work: (
    clientWith: (token?: string | TokenSource) => ReturnType<typeof createClient<Api>>,
    sent: (string | null)[],
  ) => Promise<void>,
): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([things]);
  const sent: (string | null)[] = [];
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    auth: {
      middleware: async (context, next) => {
        const token = context.req.header("authorization")?.replace("Bearer ", "") ?? null;
        sent.push(token);
        if (token !== null && valid.has(token)) context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [resource(things, { id: things.id, auth: { read: () => all() } })],
  });
  try {
    await work(
      (token) => createClient<Api>({ baseUrl: "http://test", token, fetch: app.fetch }),
      sent,
    );
  } finally {
    await app.close();
    await db.close();
  }
}

Deno.test("a token is sent with every request, and asked for each", async () => {
  await withTokens(new Set(["a", "b"]), async (clientWith, sent) => {
    await clientWith("a").things.list();
    const tokens = ["a", "b"];
    const asked: boolean[] = [];
    const api = clientWith(({ refresh }) => {
      asked.push(refresh);
      return tokens.shift() ?? null;
    });
    await api.things.list();
    await api.things.list();
    assertEquals([sent, asked], [["a", "a", "b"], [false, false]]);
  });
});

Deno.test("after a 401 the token is refreshed once, and a second 401 is thrown", async () => {
  const valid = new Set(["new"]);
  await withTokens(valid, async (clientWith, sent) => {
    const asked: boolean[] = [];
    const api = clientWith(({ refresh }) => {
      asked.push(refresh);
      return Promise.resolve(refresh ? "new" : "old");
    });
    assertEquals((await api.things.list()).items, []);
    assertEquals([sent, asked], [["old", "new"], [false, true]]);
    valid.clear();
    const error = await assertRejects(() => api.things.list(), ServiceError);
    assertEquals([error.slug, error.status], ["unauthorized", 401]);
    assertEquals(sent, ["old", "new", "old", "new"]);
  });
});

Deno.test("a 401 is thrown at once where there is no other token", async () => {
  await withTokens(new Set(), async (clientWith, sent) => {
    for (const token of [undefined, "fixed", () => null]) {
      const error = await assertRejects(() => clientWith(token).things.list(), ServiceError);
      assertEquals(error.slug, "unauthorized");
    }
    assertEquals(sent, [null, "fixed", null]);
    const failing = clientWith(({ refresh }) => {
      if (refresh) throw new RangeError("signed out");
      return "old";
    });
    await assertRejects(() => failing.things.list(), RangeError, "signed out");
  });
});

Deno.test("requests that are refused together share one refresh", async () => {
  await withTokens(new Set(["token 1"]), async (clientWith) => {
    let current = 0;
    let refreshes = 0;
    const refreshing = Promise.withResolvers<void>();
    const api = clientWith(async ({ refresh }) => {
      if (refresh) {
        refreshes++;
        await refreshing.promise;
        current++;
      }
      return `token ${current}`;
    });
    const together = Array.from({ length: 5 }, () => api.things.list());
    while (refreshes === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    // This one begins while the refresh runs, and waits for it.
    together.push(api.things.list());
    refreshing.resolve();
    assertEquals((await Promise.all(together)).length, 6);
    assertEquals(refreshes, 1);
    // What a request was refused with is old news once another has had it refreshed.
    await api.things.list();
    assertEquals(refreshes, 1);
  });
});

Deno.test("a request that is refused after a refresh takes the token of that refresh", async () => {
  const valid = new Set(["token 0"]);
  await withTokens(valid, async (clientWith, sent) => {
    const asked: boolean[] = [];
    let current = 0;
    const slow = Promise.withResolvers<void>();
    const api = clientWith(async ({ refresh }) => {
      asked.push(refresh);
      const token = `token ${refresh ? ++current : current}`;
      // The first request is held back with its token until another has refreshed.
      if (asked.length === 1) await slow.promise;
      return token;
    });
    const first = api.things.list();
    valid.clear();
    valid.add("token 1");
    await api.things.list();
    slow.resolve();
    await first;
    assertEquals(asked, [false, false, true, false]);
    assertEquals(sent, ["token 0", "token 1", "token 0", "token 1"]);
  });
});
