import { assert, assertEquals, assertRejects } from "@std/assert";
import { ConflictError, createClient, ServiceError } from "../../../exports/client.ts";
import { testOnDialects } from "../../support/http.ts";
import { type PostsApi, withPosts } from "./posts_service.ts";

/** A client of a service that answers with this. */
function clientOf(answer: () => Response | Promise<Response>) {
  return createClient<PostsApi>({ baseUrl: "http://test", fetch: answer });
}

testOnDialects(
  "a problem is an error with its slug, its status and its details",
  (engine) =>
    withPosts(engine, async (api) => {
      const error = await assertRejects(
        () => api.posts.create({ title: JSON.parse("7") }),
        ServiceError,
        "title must be a string",
      );
      assertEquals([error.slug, error.status, error.name], [
        "validation-error",
        422,
        "ServiceError",
      ]);
      assertEquals(error.problem?.code, "VALIDATION_ERROR");
      assertEquals(error.problem?.details?.errors, [{
        path: "title",
        message: "must be a string",
      }]);
      assertEquals([error.retryAfterMs, error.captcha], [null, null]);
      assert(!(error instanceof ConflictError));
      await api.posts.create({ id: 1, title: "Tea" });
      const taken = await assertRejects(
        () => api.posts.create({ id: 1, title: "Tea" }),
        ServiceError,
      );
      assertEquals([taken.slug, taken.status], ["conflict", 409]);
    }),
);

Deno.test("a 429 is thrown at once, with the time that the service asks to wait", async () => {
  let calls = 0;
  const api = clientOf(() => {
    calls++;
    return Response.json(
      {
        code: "RATE_LIMIT_EXCEEDED",
        detail: "Too many",
        type: "/__service/problems/rate-limit-exceeded",
        title: "y",
        status: 429,
      },
      { status: 429, headers: { "retry-after": "17" } },
    );
  });
  const error = await assertRejects(() => api.posts.list(), ServiceError);
  assertEquals([error.slug, error.retryAfterMs, calls], ["rate-limit-exceeded", 17_000, 1]);
});

Deno.test("Retry-After is a number of seconds or a date, and at most a day", async () => {
  const now = Date.parse("2026-11-30T12:00:00Z");
  const waits: [string, number | null][] = [
    ["Mon, 30 Nov 2026 12:01:30 GMT", 90_000],
    ["Mon, 30 Nov 2026 11:59:59 GMT", null],
    ["Fri, 30 Nov 2046 12:00:00 GMT", 86_400_000],
    ["99999999999", 86_400_000],
    ["120", 120_000],
    ["0", null],
    ["-5", null],
    ["soon", null],
  ];
  for (const [header, expected] of waits) {
    const api = createClient<PostsApi>({
      baseUrl: "http://test",
      environment: {
        now: () => now,
        fetch: () =>
          Promise.resolve(new Response("", { status: 503, headers: { "retry-after": header } })),
      },
    });
    const { retryAfterMs } = await assertRejects(() => api.posts.list(), ServiceError);
    assertEquals(retryAfterMs, expected, header);
  }
});

Deno.test("an answer that the service would not give is an error of its own", async () => {
  const html = { headers: { "content-type": "text/html" } };
  const json = { headers: { "content-type": "application/json" } };
  const answers: readonly [string, () => Response, number][] = [
    ["a page of a proxy", () => new Response("<html>", html), 200],
    ["JSON of another type", () => new Response('{"items":[]}', html), 200],
    ["half a body", () => new Response('{"items":[', json), 200],
    ["nothing", () => new Response(null, { status: 200 }), 200],
    ["nothing at all", () => new Response(null, { status: 304 }), 304],
    ["an error page", () => new Response("<html>", { ...html, status: 502 }), 502],
    ["an error of another service", () => Response.json({ error: "x" }, { status: 500 }), 500],
    ["an error that is null", () => Response.json(null, { status: 500 }), 500],
    ["an error without a text", () => Response.json({ code: 5 }, { status: 400 }), 400],
    ["an empty error", () => new Response(null, { status: 401 }), 401],
    ["a 412 of a proxy", () => new Response("", { status: 412 }), 412],
    ["a 428 of a proxy", () => new Response("", { status: 428 }), 428],
  ];
  for (const [what, answer, status] of answers) {
    const error = await assertRejects(() => clientOf(answer).posts.list(), ServiceError);
    assertEquals(
      [error.slug, error.status, error.problem],
      ["unexpected-answer", status, null],
      what,
    );
  }
  const busy = () => new Response("", { status: 503, headers: { "retry-after": "2" } });
  const error = await assertRejects(() => clientOf(busy).posts.list(), ServiceError);
  assertEquals(error.retryAfterMs, 2000);
  const dated = () =>
    new Response("", { status: 503, headers: { "retry-after": new Date(0).toUTCString() } });
  const unread = await assertRejects(() => clientOf(dated).posts.list(), ServiceError);
  assertEquals(unread.retryAfterMs, null);
});

Deno.test("a status of a middleware has a slug, too", async () => {
  const api = clientOf(() =>
    Response.json(
      { type: "about:blank", title: "", status: 418, detail: "short and stout", code: "HTTP_418" },
      { status: 418 },
    )
  );
  const error = await assertRejects(() => api.posts.list(), ServiceError, "short and stout");
  assertEquals([error.slug, error.status], ["http-418", 418]);
});

Deno.test("a service that cannot be reached is a network error, with its cause", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const api = createClient<PostsApi>({ baseUrl: `http://127.0.0.1:${port}` });
  const error = await assertRejects(() => api.posts.list(), ServiceError);
  assertEquals([error.slug, error.status], ["network", 0]);
  assert(error.cause instanceof TypeError);
});

Deno.test("a connection that breaks within an answer is a network error", async () => {
  await using server = rawServer('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"items":');
  const api = createClient<PostsApi>({ baseUrl: server.url });
  const error = await assertRejects(() => api.posts.list(), ServiceError);
  assertEquals([error.slug, error.status], ["network", 0]);
});

Deno.test("an answer that takes too long is a timeout, its body included", async () => {
  const late = Promise.withResolvers<void>();
  await using server = Deno.serve({ port: 0, onListen() {} }, async ({ url }) => {
    const body = new ReadableStream({
      async pull(controller) {
        controller.enqueue(new TextEncoder().encode("{"));
        await late.promise;
        controller.close();
      },
    });
    if (url.endsWith("/posts")) await late.promise;
    return new Response(body, { headers: { "content-type": "application/json" } });
  });
  const baseUrl = `http://127.0.0.1:${server.addr.port}`;
  const api = createClient<PostsApi>({ baseUrl, timeoutMs: 50 });
  for (const request of [() => api.posts.list(), () => api.posts.get(1, { timeoutMs: 20 })]) {
    const error = await assertRejects(request, ServiceError);
    assertEquals([error.slug, error.status], ["timeout", 0]);
  }
  late.resolve();
});

Deno.test("a request ends with the reason of its signal, before and while it runs", async () => {
  const reason = new Error("enough");
  const waiting = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  await using server = Deno.serve({ port: 0, onListen() {} }, async () => {
    arrived.resolve();
    await waiting.promise;
    return new Response();
  });
  const api = createClient<PostsApi>({ baseUrl: `http://127.0.0.1:${server.addr.port}` });
  const before = { signal: AbortSignal.abort(reason) };
  assertEquals(await assertRejects(() => api.posts.list(before)), reason);
  const ending = new AbortController();
  const listing = api.posts.list({ signal: ending.signal });
  await arrived.promise;
  ending.abort(reason);
  assertEquals(await assertRejects(() => listing), reason);
  waiting.resolve();
});

/** A server that answers every connection with this text, and ends it. */
function rawServer(answer: string) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const done = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(4096));
      await connection.write(new TextEncoder().encode(answer));
      connection.close();
    }
  })();
  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      await done;
    },
  };
}
