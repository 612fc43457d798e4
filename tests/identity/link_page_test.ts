import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { Hono } from "@hono/hono";
import { passwordAuth } from "../../exports/auth.ts";
import { ada, untilMailed, withAccounts } from "./accounts_support.ts";

const browser = { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } };
const pages = ["/api/auth/verify", "/api/auth/password/reset"];

Deno.test("the paths of links in mails are pages that only the service's own script can use", async () => {
  await withAccounts({ pages: { title: "Tea & Co" } }, async ({ send }) => {
    for (const path of pages) {
      const { status, headers, body } = await send("GET", path, undefined, browser);
      assertEquals([status, headers.get("content-type")], [200, "text/html; charset=utf-8"]);
      assertMatch(
        headers.get("content-security-policy") ?? "",
        /^default-src 'none'; style-src 'sha256-[\w+/=]+' 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self'$/,
      );
      assertEquals(
        ["cache-control", "referrer-policy", "x-content-type-options", "vary"].map((name) =>
          headers.get(name)
        ),
        ["no-store", "no-referrer", "nosniff", "Accept"],
      );
      const text = String(body);
      const depth = "../".repeat(path.split("/").length - 2);
      assertStringIncludes(
        text,
        `<script type="module" src="${depth}__service/client/link_page.js"></script>`,
      );
      assertEquals(text.match(/<script/g)?.length, 1);
      assertStringIncludes(text, "<p>Tea &amp; Co</p>");
      const head = await send("HEAD", path, undefined, browser);
      assertEquals([head.status, head.body], [200, ""]);
      assertEquals(
        head.headers.get("content-security-policy"),
        headers.get("content-security-policy"),
      );
    }
    const script = await send("GET", "/__service/client/link_page.js");
    assertEquals(script.status, 200);
  });
});

Deno.test("a client that prefers JSON finds no page, and other methods are named", async () => {
  await withAccounts({}, async ({ send }) => {
    for (const path of pages) {
      const json = { headers: { accept: "application/json" } };
      const got = await send("GET", path, undefined, json);
      assertEquals([got.status, got.headers.get("allow")], [405, "POST"]);
      assertEquals(got.body.code, "METHOD_NOT_ALLOWED");
      const put = await send("PUT", path, {});
      assertEquals([put.status, put.headers.get("allow")], [405, "GET, POST, HEAD"]);
    }
  });
});

Deno.test("there is no page without the route that accepts the token", async () => {
  await withAccounts({ signup: { verify: false }, passwordReset: false }, async ({ send }) => {
    for (const path of pages) {
      assertEquals((await send("GET", path, undefined, browser)).status, 404);
    }
  });
  await withAccounts({ passwordReset: false }, async ({ send }) => {
    const { body } = await send("GET", "/api/auth/verify", undefined, browser);
    assert(!String(body).includes("password/reset"), "nobody can set another password");
  });
});

Deno.test("links may be the public URL of the service, also of an app that is mounted below a path", async () => {
  const config = { basePath: "", mountedAt: "/shop" };
  await withAccounts({ links: "https://example.com/" }, async ({ app, mails }) => {
    const outer = new Hono();
    outer.mount("/shop", app.fetch);
    const post = async (path: string, body: unknown) => {
      const response = await outer.request(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      assertEquals(response.status, 202);
      await response.body?.cancel();
    };
    await post("/shop/auth/signup", ada);
    await untilMailed(mails, 1);
    assertMatch(mails[0]?.link ?? "", /^https:\/\/example\.com\/shop\/auth\/verify#token=verify_/);
    const page = await outer.request("/shop/auth/verify");
    assertStringIncludes(await page.text(), `src="../__service/client/link_page.js"`);
  }, { config });
});

Deno.test("a style sheet of another origin is allowed with its images, and none can add a directive", async () => {
  const look = { stylesheet: "https://cdn.example.com/look.css?a=1&b=2", logIn: "/log-in" };
  await withAccounts({ pages: look }, async ({ send }) => {
    const { headers, body } = await send("GET", "/api/auth/verify", undefined, browser);
    const policy = headers.get("content-security-policy") ?? "";
    for (const kind of ["img-src", "font-src"]) {
      assertStringIncludes(policy, `${kind} 'self' https://cdn.example.com`);
    }
    assertMatch(policy, /style-src 'sha256-\S+' 'self' https:\/\/cdn\.example\.com;/);
    assertStringIncludes(String(body), `href="https://cdn.example.com/look.css?a=1&amp;b=2"`);
    assertStringIncludes(String(body), `<a href="/log-in">Log in</a>`);
  });
  for (
    const stylesheet of [
      "javascript:alert(1)",
      "https://a.test;script-src *",
      "//a.test/a.css",
      "a",
    ]
  ) {
    assertThrows(() => passwordAuth({ pages: { stylesheet } }), Error, "stylesheet");
  }
});
