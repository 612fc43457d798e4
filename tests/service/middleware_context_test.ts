import { assertEquals } from "@std/assert";
import { Hono } from "@hono/hono";
import type { Middleware } from "../../src/service/middleware.ts";
import { byHeader, post, read, withNotes } from "./hono_support.ts";

const early: Middleware = async (context, next) => {
  context.header("x-early", "yes");
  context.header("vary", "X-Early", { append: true });
  await next();
};

const paths = ["/api/notes", "/api/notes/none", "/healthz", "/nothing", "/api/notes/a%2Fb"];

Deno.test("a header that a middleware sets before next() is on every answer", async () => {
  const pass: Middleware = async (_, next) => await next();
  for (const middleware of [[early], [pass, early], [early, pass]]) {
    await withNotes({ middleware }, async ({ hono }) => {
      const parent = new Hono().route("/", hono);
      for (const app of [hono, parent]) {
        for (const path of paths) {
          const { headers } = await app.request(path);
          assertEquals([headers.get("x-early"), headers.get("x-frame-options")], ["yes", "DENY"]);
          assertEquals(headers.get("vary")?.includes("X-Early"), true, path);
        }
      }
    });
  }
});

Deno.test("a header before next() reaches the routes for authentication and added ones", async () => {
  const routes = new Hono().get("/x", (context) => context.json({ ok: true }));
  await withNotes({ auth: { routes }, middleware: [early] }, async ({ hono }) => {
    hono.get("/added", () => new Response("plain"));
    for (const path of ["/api/auth/x", "/added"]) {
      assertEquals((await hono.request(path)).headers.get("x-early"), "yes", path);
    }
  });
});

const created: Awaited<ReturnType<typeof read>> = [201, { id: "two", title: "é", deletedAt: null }];
const body = '{"id":"two","title":"é"}';

const readers: Readonly<Record<string, Middleware>> = {
  json: async (context, next) => {
    assertEquals(await context.req.json(), { id: "two", title: "é" });
    assertEquals(await context.req.json(), { id: "two", title: "é" });
    await next();
  },
  text: async (context, next) => {
    assertEquals(await context.req.text(), body);
    await next();
  },
  arrayBuffer: async (context, next) => {
    assertEquals((await context.req.arrayBuffer()).byteLength, 25);
    await next();
  },
  blob: async (context, next) => {
    assertEquals((await context.req.blob()).size, 25);
    await next();
  },
  "a clone": async (context, next) => {
    assertEquals(await context.req.raw.clone().json(), { id: "two", title: "é" });
    await next();
  },
  "json, then text": async (context, next) => {
    await context.req.json();
    assertEquals(await context.req.text(), body);
    await next();
  },
};

Deno.test("a body that a middleware has read is read again by the route", async () => {
  for (const [name, reader] of Object.entries(readers)) {
    await withNotes({ middleware: [reader] }, async ({ app }) => {
      assertEquals(await read(await app.fetch(post("/api/notes", body))), created, name);
    });
    await withNotes({}, async ({ hono }) => {
      const parent = new Hono<{ Variables: { user: undefined } }>();
      // The reader of this test asks for no variable.
      parent.use(reader as unknown as Parameters<typeof parent.use>[0]);
      const answer = await parent.route("/", hono).fetch(post("/api/notes", body));
      assertEquals(await read(answer), created, `${name} in a parent`);
    });
  }
});

Deno.test("a body that is no UTF-8 is refused after a middleware has read it as text", async () => {
  const text: Middleware = async (context, next) => {
    await context.req.text();
    await next();
  };
  const bytes = new TextEncoder().encode('{"id":"two","title":"x"}');
  bytes[bytes.indexOf(120)] = 0xff;
  const request = () =>
    new Request("http://test/api/notes", {
      method: "POST",
      headers: { "content-type": "application/json", "x-user": "ada" },
      body: bytes,
    });
  const refused: readonly [number, unknown] = [400, "INVALID_BODY"];
  await withNotes({ middleware: [text] }, async ({ app }) => {
    assertEquals(await codeOf(await app.fetch(request())), refused);
    // The character that stands for malformed bytes may itself be sent.
    const replacement = await app.fetch(post("/api/notes", '{"id":"two","title":"\ufffd"}'));
    assertEquals(replacement.status, 201);
  });
  await withNotes({}, async ({ hono }) => {
    const parent = new Hono().use(async (context, next) => {
      await context.req.text();
      await next();
    }).route("/", hono);
    assertEquals(await codeOf(await parent.fetch(request())), refused);
  });
});

Deno.test("a body that a middleware has consumed is its fault, and says so", async () => {
  const consume: Middleware = async (context, next) => {
    await context.req.raw.text();
    await next();
  };
  await withNotes({ middleware: [consume] }, async ({ app, observations }) => {
    const answer = await app.fetch(post("/api/notes", body));
    const [status, problem] = await read(answer);
    // deno-lint-ignore no-explicit-any -- the assertion says what it is
    assertEquals([status, (problem as any).detail], [
      500,
      "A middleware has consumed the body: it must read it by c.req, or from c.req.raw.clone()",
    ]);
    assertEquals(observations.map(({ kind }) => kind), ["request_failed"]);
    // Without a body, nothing is missing.
    assertEquals((await app.fetch(new Request("http://test/api/notes"))).status, 200);
  });
});

Deno.test("the limit of bodies holds for a middleware that reads one", async () => {
  const routes = new Hono().post(
    "/login",
    async (context) => context.json(await context.req.json()),
  );
  for (const middleware of [[readers["json"] as Middleware], []]) {
    const auth = { routes, middleware: byHeader };
    await withNotes({ bodyLimit: 10, middleware, auth }, async ({ app }) => {
      for (const path of ["/api/notes", "/api/auth/login"]) {
        const answer = await app.fetch(post(path, body));
        assertEquals(await codeOf(answer), [413, "PAYLOAD_TOO_LARGE"], path);
      }
    });
  }
});

Deno.test("a repeated request is the same one, whether or not a middleware has read its body", async () => {
  let isReading = false;
  const middleware: Middleware[] = [async (context, next) => {
    if (isReading) await context.req.json();
    await next();
  }];
  await withNotes({ middleware }, async ({ app }) => {
    const request = () => post("/api/notes", ` ${body}\n`, { "idempotency-key": "one-key" });
    assertEquals((await app.fetch(request())).status, 201);
    isReading = true;
    const again = await app.fetch(request());
    assertEquals([again.status, again.headers.get("idempotency-replayed")], [201, "true"]);
  });
});

async function codeOf(answer: Response): Promise<readonly [number, unknown]> {
  const [status, problem] = await read(answer);
  // deno-lint-ignore no-explicit-any -- the assertion says what it is
  return [status, (problem as any).code];
}

Deno.test("a body that a middleware failed to read does not end the process at the route's refusal", async () => {
  const unhandled: PromiseRejectionEvent[] = [];
  const onUnhandled = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    unhandled.push(event);
  };
  addEventListener("unhandledrejection", onUnhandled);
  const tolerant: Middleware = async (context, next) => {
    await context.req.text().catch(() => "");
    await next();
  };
  const consuming: Middleware = async (context, next) => {
    await context.req.raw.text();
    await next();
  };
  try {
    for (const middleware of [tolerant, consuming]) {
      await withNotes({ middleware: [middleware], bodyLimit: 10 }, async ({ app }) => {
        const plain = { "content-type": "text/plain" };
        const answer = await app.fetch(post("/api/notes", "x".repeat(20), plain));
        assertEquals((await read(answer))[0], 415);
        // Unhandled rejections are reported at the end of a turn.
        await new Promise((resolve) => setTimeout(resolve));
      });
    }
  } finally {
    removeEventListener("unhandledrejection", onUnhandled);
  }
  assertEquals(unhandled, []);
});

Deno.test("a middleware reads the body after the route, which has read it", async () => {
  const seen: string[] = [];
  const auditing: Middleware = async (context, next) => {
    await next();
    seen.push(await context.req.text());
  };
  await withNotes({ middleware: [auditing] }, async ({ app }) => {
    const answer = await app.fetch(post("/api/notes", '{"id":"two"}'));
    assertEquals([(await read(answer))[0], seen], [201, ['{"id":"two"}']]);
  });
});
