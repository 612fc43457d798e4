import { assert, assertEquals, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import { html, navigation, shown, withPage } from "./web_support.ts";

const script = "export const one = 1;\n".repeat(100);
const assets = {
  "assets/app-BxA1_9zK.js": script,
  "assets/fonts/inter-0123456789abcdef.woff2": "font",
  "assets/logo-portrait.svg": "<svg/>",
  "favicon.svg": "<svg/>",
  "empty.txt": "",
  "a b/ü.txt": "blank",
  "docs/index.html": "<title>Docs</title>",
};
const sha256 = (content: string, form: "base64" | "base64url" = "base64url") =>
  createHash("sha256").update(content).digest(form);
const problem = [404, "application/problem+json", "no-store"];

Deno.test("assets with a hash in their name are immutable, other files are asked for again", () =>
  withPage(assets, {}, async ({ get }) => {
    const immutable = "public, max-age=31536000, immutable";
    const rows: readonly [path: string, type: string, cache: string, content: string][] = [
      ["/assets/app-BxA1_9zK.js", "text/javascript; charset=utf-8", immutable, script],
      ["/assets/fonts/inter-0123456789abcdef.woff2", "font/woff2", immutable, "font"],
      // A word is no hash.
      ["/assets/logo-portrait.svg", "image/svg+xml; charset=utf-8", "no-cache", "<svg/>"],
      ["/favicon.svg?v=1", "image/svg+xml; charset=utf-8", "no-cache", "<svg/>"],
      ["/a%20b/%C3%BC.txt", "text/plain; charset=utf-8", "no-cache", "blank"],
      ["/", "text/html; charset=utf-8", "no-cache", html],
      ["/index.html", "text/html; charset=utf-8", "no-cache", html],
      ["/empty.txt", "text/plain; charset=utf-8", "no-cache", ""],
      ["/docs/", "text/html; charset=utf-8", "no-cache", "<title>Docs</title>"],
    ];
    for (const [path, type, cache, content] of rows) {
      const response = await get(path);
      const etag = `"${sha256(content)}"`;
      assertEquals(shown(response, "content-type", "cache-control", "etag"), [
        ...[200, type, cache, etag],
      ], path);
      assertEquals(response.headers.get("x-content-type-options"), "nosniff");
      assertEquals(await response.text(), content);
      const head = await get(path, {}, "HEAD");
      assertEquals(shown(head, "content-length", "etag"), [
        ...[200, String(new TextEncoder().encode(content).length), etag],
      ], path);
      assertEquals(await head.text(), "");
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await get(path, { "if-none-match": known });
        assertEquals([...shown(again, "etag", "cache-control"), again.body], [
          ...[304, etag, cache, null],
        ]);
      }
    }
  }));

Deno.test("a folder without its last slash was the first page, and .well-known was hidden", () => {
  const files = { ...assets, ".well-known/security.txt": "contact", "b:c ü/index.html": "<p>" };
  return withPage(files, {}, async ({ get }) => {
    for (const headers of [navigation, {}]) {
      const folder = await get("/docs?a=1&b", headers);
      assertEquals(shown(folder, "location", "cache-control"), [
        ...[308, "./docs/?a=1&b", "no-cache"],
      ]);
      const nested = await get("/b:c%20%C3%BC", headers);
      assertEquals(shown(nested, "location"), [308, "./b:c%20%C3%BC/"]);
    }
    assertEquals(await (await get("/.well-known/security.txt")).text(), "contact");
  });
});

Deno.test("other bytes had the ETag of the listed ones, if size and time were the same", () =>
  withPage({ "big.txt": "x".repeat(200_000), "sw.js": "sw" }, {}, async ({ get, folder }) => {
    const { mtime } = await Deno.stat(`${folder}/big.txt`);
    const sending = (await get("/big.txt")).body?.getReader();
    await sending?.read();
    await Deno.writeTextFile(`${folder}/big.txt`, "y".repeat(200_000));
    // The client gets no complete response with bytes of two builds.
    let received = 65_536;
    await assertRejects(
      async () => {
        for (let part = await sending?.read(); part?.done === false; part = await sending?.read()) {
          received += part.value.length;
        }
      },
      Error,
      "The file was overwritten",
    );
    assert(received < 200_000, String(received));
    // A build with fixed times, or rsync, puts another file in its place.
    await Deno.writeTextFile(`${folder}/next`, "y".repeat(200_000));
    await Deno.utime(`${folder}/next`, mtime ?? 0, mtime ?? 0);
    await Deno.rename(`${folder}/next`, `${folder}/big.txt`);
    const response = await get("/big.txt");
    assertEquals(shown(response, "etag", "cache-control"), [200, null, "no-store"]);
    assertEquals((await response.text())[0], "y");
    await Deno.remove(`${folder}/sw.js`);
    await Deno.mkdir(`${folder}/sw.js`);
    assertEquals((await get("/sw.js")).status, 404);
  }));

Deno.test("a file that the browser has is not read again", () =>
  withPage(assets, {}, async ({ get, folder }) => {
    const etag = (await get("/favicon.svg")).headers.get("etag") ?? "";
    await Deno.remove(`${folder}/favicon.svg`);
    assertEquals((await get("/favicon.svg", { "if-none-match": etag })).status, 304);
    assertEquals(shown(await get("/favicon.svg"), "content-type", "cache-control"), problem);
  }));

Deno.test("HTML has the policy, with the hashes of its inline scripts", async () => {
  const inline = 'const a = "</p>";\nrun(a);';
  const page = `<!doctype html><script src="/a.js"></script><SCRIPT type="module">${
    inline.replace("\n", "\r\n")
  }</SCRIPT ><script data-a=">">two</script><script></script>`;
  const hashes = [inline, "two"].map((one) => `'sha256-${sha256(one, "base64")}'`).join(" ");
  const policy = (replaced: Record<string, string>) =>
    Object.entries({
      "default-src": "'self'",
      "script-src": `'self' 'wasm-unsafe-eval' ${hashes}`,
      "worker-src": "'self' data:",
      "style-src": "'self' 'unsafe-inline'",
      "img-src": "'self' data: blob:",
      "object-src": "'none'",
      "base-uri": "'none'",
      "form-action": "'self'",
      "frame-ancestors": "'none'",
      ...replaced,
    }).map((directive) => directive.join(" ").trim()).join("; ");
  const cdn = "'self' https://cdn.example";
  const cases: readonly (readonly [csp: false | Record<string, string>, sent: string | null])[] = [
    [{}, policy({})],
    [{ "img-src": cdn }, policy({ "img-src": cdn })],
    [{ "upgrade-insecure-requests": "" }, policy({ "upgrade-insecure-requests": "" })],
    // A hash would disable 'unsafe-inline'.
    [{ "script-src": "'unsafe-inline'" }, policy({ "script-src": "'unsafe-inline'" })],
    [{ "script-src": cdn }, policy({ "script-src": `${cdn} ${hashes}` })],
    [false, null],
  ];
  for (const [csp, sent] of cases) {
    await withPage(
      { "index.html": page, "a.js": "1" },
      { web: { folder: "", csp } },
      async ({ get }) => {
        for (const path of ["/", "/deep/link", "/index.html"]) {
          const response = await get(path, navigation);
          assertEquals(shown(response, "content-security-policy"), [200, sent]);
          assertEquals(await response.text(), page);
          const etag = response.headers.get("etag") ?? "";
          const again = await get(path, { ...navigation, "if-none-match": etag });
          assertEquals(shown(again, "content-security-policy"), [304, sent]);
        }
        const asset = await get("/a.js");
        assertEquals(shown(asset, "content-security-policy"), [200, null]);
        await asset.body?.cancel();
      },
    );
  }
});

Deno.test("a navigation to an unknown path receives the page, anything else a 404", () =>
  withPage(assets, {}, async ({ get }) => {
    const old = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    for (const headers of [navigation, old]) {
      for (const method of ["GET", "HEAD"]) {
        for (const path of ["/notes/5", "/v1.2/notes", "/a%2Fb", "/assets/app", "/apis"]) {
          const response = await get(path, headers, method);
          assertEquals(shown(response, "etag"), [200, `"${sha256(html)}"`], path);
          assertEquals(await response.text(), method === "HEAD" ? "" : html);
        }
        // The chunk of an earlier build must not be a page.
        for (const path of ["/assets/old-BxA1_9zK.js", "/ann@example.com", "/assets/.x", "/.env"]) {
          const response = await get(path, headers, method);
          assertEquals(shown(response, "content-type", "cache-control"), problem, path);
        }
      }
    }
    const others: readonly Record<string, string>[] = [
      ...[{}, { accept: "*/*" }, { accept: "application/json" }],
      ...["cors", "no-cors", "same-origin"].map((mode) => ({ ...old, "sec-fetch-mode": mode })),
    ];
    for (const headers of others) {
      const response = await get("/notes/5", headers);
      assertEquals(shown(response, "content-type", "cache-control"), problem);
      assertEquals((await response.json()).detail, "There is nothing at this path");
    }
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"]) {
      assertEquals((await get("/favicon.svg", navigation, method)).status, 404, method);
    }
  }));

Deno.test("spa names another file, or false none", async () => {
  await withPage(
    { "200.html": "all" },
    { web: { folder: "", spa: "200.html" } },
    async ({ get }) => {
      assertEquals(await (await get("/deep", navigation)).text(), "all");
      assertEquals(await (await get("/", navigation)).text(), html);
    },
  );
  await withPage({}, { web: { folder: "", spa: false } }, async ({ get }) => {
    assertEquals((await get("/deep", navigation)).status, 404);
    assertEquals(await (await get("/", navigation)).text(), html);
  });
  await withPage(assets, { web: { folder: "", maxAge: 60 } }, async ({ get }) => {
    const response = await get("/assets/app-BxA1_9zK.js");
    assertEquals(shown(response, "cache-control"), [200, "public, max-age=60, immutable"]);
  });
});

Deno.test("no file is below the paths of the service", async () => {
  const names = ["api/notes/new", "api/x.txt", "__service/x.txt", "healthz", "readyz/x.txt"];
  const files = Object.fromEntries(names.map((name) => [name, "a file"]));
  await withPage({ ...files, "v1/x.txt": "a file" }, { health: false }, async ({ get }) => {
    for (const name of [...names, "%61pi/x.txt", "api%2Fx.txt", "a%70i", "__service", "readyz"]) {
      const response = await get(`/${name}`, navigation);
      assertEquals(shown(response, "content-type")[1], "application/problem+json", name);
      assert([404, 400].includes(response.status), `${name} ${response.status}`);
      assertEquals((await response.text()).includes("a file"), false);
    }
    assertEquals((await get("/api/notes")).status, 200);
    assertEquals((await get("/v1/x.txt")).status, 200);
  });
  await withPage({ "v1/x.txt": "a file" }, { basePath: "/v1" }, async ({ get }) => {
    assertEquals((await get("/v1/x.txt", navigation)).status, 404);
    assertEquals((await get("/v1/nope", navigation)).status, 404);
    assertEquals((await get("/api/nope", navigation)).status, 200);
  });
});

Deno.test("files in the same folder ending in .br and .gz are used, text is compressed otherwise", () =>
  withPage(
    {
      ...assets,
      "both.js": script,
      "both.js.br": "br",
      "both.js.gz": "gz",
      "zipped.js": script,
      "zipped.js.gz": "gz",
      "picture.png": script,
      "index.html": html.padEnd(2_000),
    },
    {},
    async ({ get, folder }) => {
      const sent = async (path: string, accepted: string, method = "GET") => {
        const headers: HeadersInit = accepted === "-" ? {} : { "accept-encoding": accepted };
        const response = await get(path, { ...navigation, ...headers }, method);
        const bytes = new Uint8Array(await response.arrayBuffer());
        return { response, bytes, text: new TextDecoder().decode(bytes) };
      };
      const every = "gzip, deflate, br, zstd";
      const rows: readonly [
        path: string,
        accepted: string,
        encoding: string | null,
        body: string,
      ][] = [
        ["/both.js", every, "br", "br"],
        ["/both.js", "gzip", "gzip", "gz"],
        ["/both.js", "br;q=0, gzip", "gzip", "gz"],
        ["/both.js", "-", null, script],
        ["/both.js", "gzip;q=0", null, script],
        ["/zipped.js", every, "gzip", "gz"],
        ["/zipped.js", "br", null, script],
      ];
      for (const [path, accepted, encoding, body] of rows) {
        const etag = `"${sha256(script)}${encoding === null ? "" : `-${encoding}`}"`;
        const { response, text } = await sent(path, accepted);
        assertEquals(shown(response, "content-encoding", "vary", "etag"), [
          ...[200, encoding, "accept-encoding", etag],
        ], `${path} ${accepted}`);
        assertEquals(text, body);
        const again = await get(path, { "accept-encoding": accepted, "if-none-match": etag });
        assertEquals(shown(again, "etag"), [304, accepted === "-" ? `"${sha256(script)}"` : etag]);
      }
      for (const path of ["/assets/app-BxA1_9zK.js", "/", "/deep"]) {
        const { response, bytes } = await sent(path, every);
        assertEquals(shown(response, "content-encoding", "vary"), [200, "gzip", "accept-encoding"]);
        const whole = new Response(
          new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")),
        );
        assertEquals(await whole.text(), (await sent(path, "-")).text);
        const head = await sent(path, every, "HEAD");
        assertEquals(shown(head.response, "content-length"), [200, String(bytes.length)]);
        assertEquals(response.headers.get("content-length"), String(bytes.length));
      }
      // What was compressed is kept.
      await Deno.remove(`${folder}/assets/app-BxA1_9zK.js`);
      assertEquals((await sent("/assets/app-BxA1_9zK.js", every)).response.status, 200);
      for (const path of ["/picture.png", "/favicon.svg"]) {
        assertEquals(shown((await sent(path, every)).response, "content-encoding", "vary"), [
          ...[200, null, null],
        ]);
      }
    },
  ));

Deno.test("text of more than the room for compressed files is sent as it is", () =>
  withPage({ "big.txt": new Uint8Array(33 * 1024 * 1024) }, {}, async ({ get }) => {
    const response = await get("/big.txt", { "accept-encoding": "gzip" });
    assertEquals(shown(response, "content-encoding", "vary", "content-length"), [
      ...[200, null, "accept-encoding", "34603008"],
    ]);
    await response.body?.cancel();
  }));

Deno.test("a file is read in parts, as fast as its client receives it, and closed in any case", () =>
  withPage({ "movie.mp4": new Uint8Array(200_000).fill(7) }, {}, async ({ get, folder }) => {
    const whole = new Uint8Array(await (await get("/movie.mp4")).arrayBuffer());
    assertEquals([whole.length, whole.every((byte) => byte === 7)], [200_000, true]);
    const left = (await get("/movie.mp4")).body?.getReader();
    assertEquals((await left?.read())?.value?.length, 65_536);
    // What the client has not received has not been read.
    await Deno.truncate(`${folder}/movie.mp4`, 100_000);
    assertEquals((await left?.read())?.value?.length, 100_000 - 65_536);
    await assertRejects(async () => await left?.read(), Error, "The file was overwritten");
    const cancelled = await get("/movie.mp4");
    assertEquals(cancelled.headers.get("content-length"), "100000");
    await cancelled.body?.cancel();
  }));
