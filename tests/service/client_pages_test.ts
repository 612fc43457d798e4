import { assert, assertEquals, assertMatch } from "@std/assert";
import { createApp, openDatabase } from "../../mod.ts";

const paths = [
  "/__service/client.js",
  "/__service/client/described_filter.js",
  "/__service/client/find_nonce.js",
];

async function withApp(
  config: { readonly openapi?: false },
  work: (
    get: (path: string, headers?: Record<string, string>) => Promise<Response>,
  ) => Promise<void>,
): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  const app = await createApp({
    ...{ db, secret: "a secret for the tests only", resources: [], ...config },
    // Every request is refused: the client is public all the same.
    auth: { middleware: (context) => Promise.resolve(context.text("Who?", 401)) },
  });
  try {
    await work(async (path, headers = {}) =>
      await app.fetch(new Request(`http://x${path}`, { headers }))
    );
  } finally {
    await app.close();
    await db.close();
  }
}

Deno.test("the client is served to anyone, compressed where that is accepted", () =>
  withApp({ openapi: false }, async (get) => {
    for (const path of paths) {
      const plain = await get(path);
      assertEquals(plain.status, 200);
      assertEquals(plain.headers.get("content-type"), "text/javascript; charset=utf-8");
      assertEquals(plain.headers.get("vary"), "accept-encoding");
      assertEquals(plain.headers.get("content-encoding"), null);
      const text = await plain.text();
      assertMatch(text, /export\s?\{/);
      for (const accepted of ["gzip", "br, GZIP;q=0.5", "deflate , gzip ; q=0.001"]) {
        const zipped = await get(path, { "accept-encoding": accepted });
        assertEquals(zipped.headers.get("content-encoding"), "gzip", accepted);
        const body = zipped.body?.pipeThrough(new DecompressionStream("gzip")) ?? null;
        assertEquals(await new Response(body).text(), text);
      }
      for (const refused of ["br", "gzip;q=0", "gzip; q=0.000", "xgzip", ""]) {
        const answer = await get(path, { "accept-encoding": refused });
        assertEquals(answer.headers.get("content-encoding"), null, refused);
        assertEquals(await answer.text(), text);
      }
    }
  }));

Deno.test("a browser that has the client receives no other copy of it", () =>
  withApp({}, async (get) => {
    for (const path of paths) {
      const first = await get(path);
      await first.body?.cancel();
      const etag = first.headers.get("etag") ?? "";
      assertEquals(first.headers.get("cache-control"), "public, no-cache");
      const again = await get(path, { "if-none-match": `"other", ${etag}` });
      assertEquals([again.status, again.headers.get("etag"), again.body], [304, etag, null]);
      const other = await get(path, { "if-none-match": '"other"' });
      assertEquals(other.status, 200);
      await other.body?.cancel();
    }
  }));

Deno.test("there is nothing else beside the files of the client", () =>
  withApp({}, async (get) => {
    for (const path of ["/__service/client/", "/__service/client/solve.js", "/__service/client"]) {
      const { status, body } = await get(path);
      await body?.cancel();
      assert(status === 401, `${path}: ${status}`);
    }
  }));
