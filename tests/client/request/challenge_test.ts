import { assertEquals, assertRejects } from "@std/assert";
import {
  createClient,
  type CreateClientOptions,
  exportUrl,
  handle,
  type RequiredCaptcha,
  ServiceError,
} from "../../../exports/client.ts";
import { solve } from "../../../exports/proof_of_work.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import {
  all,
  type AppConfig,
  createApp,
  integer,
  openDatabase,
  resource,
  type ResourceOptions,
  table,
  text,
} from "../../../mod.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

interface Api {
  notes: {
    path: "/api/notes";
    key: number;
    row: { id: number; title: string };
    create: { title: string };
    update: { title?: string };
    relations: Record<never, never>;
    etag: true;
    procedures: Record<never, never>;
  };
}

type Config =
  & Pick<AppConfig, "abuseProtection">
  & Pick<ResourceOptions<typeof notes.$inferSelect>, "captcha" | "capabilities" | "pow" | "etag">;

async function withGuard(
  { abuseProtection, ...options }: Config,
  client: Partial<CreateClientOptions>,
  work: (api: ReturnType<typeof createClient<Api>>, statuses: number[]) => Promise<void>,
): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const statuses: number[] = [];
  const app = await createApp({
    db,
    kv: ":memory:",
    secret: "a secret for the tests only",
    runtime: systemRuntime(() => {}),
    abuseProtection,
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { read: () => all(), create: () => all(), update: () => all() },
        ...options,
      }),
    ],
  });
  try {
    const api = createClient<Api>({
      baseUrl: "http://test",
      async fetch(request) {
        const response = await app.fetch(request);
        statuses.push(response.status);
        return response;
      },
      ...client,
    });
    await work(api, statuses);
  } finally {
    await app.close();
    await db.close();
  }
}

const pow: Config = {
  abuseProtection: { pow: { secret: "a secret of the tests", difficulty: 8 } },
  pow: { operations: ["create"] },
};

Deno.test("a challenge of proof of work is solved with the own solver", () =>
  withGuard(pow, {}, async (api, statuses) => {
    const { value } = await api.notes.create({ title: "Täa" });
    assertEquals([value.title, statuses], ["Täa", [428, 201]]);
  }));

Deno.test("a download link needs no challenge: its client has solved one for the link", () =>
  withGuard(
    { ...pow, pow: { operations: ["read"] }, capabilities: { enableExport: true } },
    {},
    async (api, statuses) => {
      const url = await exportUrl(api.notes);
      const { environment } = api.notes[handle].transport;
      const response = await environment.fetch(new Request(url));
      assertEquals([await response.text(), statuses], ["id,title\r\n", [428, 200, 200]]);
      const other = await environment.fetch(new Request(url.replace("csv", "ndjson")));
      await other.body?.cancel();
      assertEquals(other.status, 401);
    },
  ));

Deno.test("no more challenges are solved than the client allows, three unless it says", async () => {
  let solved = 0;
  const wrong = () => {
    solved++;
    return Promise.resolve("wrong");
  };
  await withGuard(pow, { pow: { solve: wrong } }, async (api, statuses) => {
    const error = await assertRejects(() => api.notes.create({ title: "a" }), ServiceError);
    assertEquals([error.slug, error.status, solved], ["proof-of-work-required", 428, 3]);
    assertEquals(statuses, [428, 428, 428, 428]);
  });
  await withGuard(pow, { pow: { solve: wrong, maxAttempts: 1 } }, async (api) => {
    await assertRejects(() => api.notes.create({ title: "a" }), ServiceError);
    assertEquals(solved, 4);
  });
});

Deno.test("without proof of work a client throws at once", () =>
  withGuard(pow, { pow: { enabled: false } }, async (api, statuses) => {
    const error = await assertRejects(() => api.notes.create({ title: "a" }), ServiceError);
    assertEquals([error.slug, error.captcha, statuses], ["proof-of-work-required", null, [428]]);
  }));

Deno.test("another solver gets the challenge and the signal", () => {
  const ending = new AbortController();
  const options: Partial<CreateClientOptions> = {
    pow: {
      async solve({ token, difficulty }, { signal }) {
        assertEquals([difficulty, signal], [8, ending.signal]);
        return await solve({ token, difficulty });
      },
    },
  };
  return withGuard(pow, options, async (api) => {
    const { value } = await api.notes.create({ title: "a" }, { signal: ending.signal });
    assertEquals(value.title, "a");
  });
});

Deno.test("a request that is ended while it solves a challenge rejects with the reason", () => {
  const difficult = {
    ...pow,
    abuseProtection: { pow: { secret: "x".repeat(16), difficulty: 32 } },
  };
  return withGuard(difficult, {}, async (api, statuses) => {
    const ending = new AbortController();
    const creating = api.notes.create({ title: "a" }, { signal: ending.signal });
    while (statuses.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    ending.abort(new RangeError("enough"));
    await assertRejects(() => creating, RangeError, "enough");
  });
});

const captcha: Config = {
  abuseProtection: {
    captcha: {
      verifier: {
        provider: "own",
        siteKey: "the-site",
        verify: ({ token }) => token.startsWith("good"),
      },
    },
  },
  captcha: { operations: ["create"], action: "post" },
};

Deno.test("without a solver a CAPTCHA is an error that says what to show", () =>
  withGuard(captcha, {}, async (api) => {
    const error = await assertRejects(() => api.notes.create({ title: "a" }), ServiceError);
    assertEquals([error.slug, error.status], ["captcha-required", 428]);
    assertEquals(error.captcha, { provider: "own", siteKey: "the-site", action: "post" });
  }));

Deno.test("a CAPTCHA is solved by the client's function, three times at most", async () => {
  const shown: RequiredCaptcha[] = [];
  const tokens = ["bad", "good-1", "bad", "bad", "bad"];
  const solver = (challenge: RequiredCaptcha) => {
    shown.push(challenge);
    return Promise.resolve(tokens.shift() ?? "bad");
  };
  await withGuard(captcha, { captcha: solver }, async (api) => {
    assertEquals((await api.notes.create({ title: "a" })).value.title, "a");
    assertEquals(shown, [
      { provider: "own", siteKey: "the-site", action: "post" },
      { provider: "own", siteKey: "the-site", action: "post" },
    ]);
    const error = await assertRejects(() => api.notes.create({ title: "a" }), ServiceError);
    assertEquals([error.captcha?.siteKey, shown.length], ["the-site", 5]);
  });
});

Deno.test("the CAPTCHA's token is sent in the header that the service reads", () => {
  const { verifier } = captcha.abuseProtection?.captcha ?? {};
  if (verifier === undefined) throw new Error("There is a verifier");
  const config = {
    ...captcha,
    abuseProtection: { captcha: { verifier, tokenHeader: "cf-turnstile-response" } },
  };
  const options = {
    captcha: () => Promise.resolve("good"),
    captchaHeader: "cf-turnstile-response",
  };
  return withGuard(config, options, async (api) => {
    assertEquals((await api.notes.create({ title: "a" })).value.title, "a");
  });
});

Deno.test("a precondition that is missing is no challenge", () =>
  withGuard({ etag: { require: true } }, {}, async (api) => {
    const { value } = await api.notes.create({ title: "a" });
    const error = await assertRejects(
      () => api.notes.update(value.id, { title: "b" }),
      ServiceError,
    );
    assertEquals([error.slug, error.status, error.captcha], ["precondition-required", 428, null]);
  }));
