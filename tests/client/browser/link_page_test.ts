import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { createApp, openDatabase } from "../../../mod.ts";
import { type Mail, passwordAuth } from "../../../exports/auth.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { ada, cheapHash, password, untilMailed } from "../../identity/accounts_support.ts";
import { createBrowserTests } from "./in_browser.ts";

const test = createBrowserTests();

/** A service with accounts, and a proxy that removes a prefix from the path. */
async function startWithPrefix() {
  const db = await openDatabase("sqlite::memory:");
  const mails: Mail[] = [];
  let links = "";
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request, info) => {
      const url = request.url.replace("/shop/", "/");
      if (url.endsWith("/look.css")) {
        return new Response("h1 { color: rgb(1, 2, 3) }", {
          headers: { "content-type": "text/css" },
        });
      }
      return await (await app).fetch(new Request(url, request), info);
    },
  );
  links = `http://127.0.0.1:${server.addr.port}/shop/`;
  const app = createApp({
    db,
    kv: ":memory:",
    secret: "a secret for the tests only",
    basePath: "/v1/api",
    runtime: systemRuntime(() => {}),
    abuseProtection: { pow: { secret: "a secret for the tests only", difficulty: 15 } },
    auth: {
      use: [
        passwordAuth({
          passwords: cheapHash,
          passwordReset: { pow: true },
          links,
          pages: { title: "The shop", stylesheet: "/shop/look.css", logIn: "/shop/log-in" },
          sendMail: (mail) => void mails.push(mail),
        }),
      ],
    },
    resources: [],
  });
  await app;
  return {
    mails,
    auth: `${links}v1/api/auth`,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await (await app).close();
      await db.close();
    },
  };
}

/** Fails if the page violates its policy, and returns what the page says. */
function watch(page: Page, errors: string[]): (text: string | RegExp) => Promise<void> {
  page.on("console", (message) => {
    if (message.text().includes("Content Security Policy")) errors.push(message.text());
  });
  return (text) => page.getByRole("status").filter({ hasText: text }).waitFor({ timeout: 10_000 });
}

async function enter(page: Page, text: string): Promise<void> {
  await page.getByLabel("Password").fill(text);
  await page.getByRole("button", { name: "Continue" }).click();
}

test("links in mails confirm an address and set a password, on pages of the service, through a proxy that removes a prefix", async ({ browser, context, open }) => {
  await using service = await startWithPrefix();
  const { auth, mails } = service;
  const errors: string[] = [];
  const linkOf = async (count: number) => {
    await untilMailed(mails, count);
    return mails[count - 1]?.link ?? "";
  };
  // A page of the service has the cookie of the signup.
  const page = await open(`${auth}/verify`);
  const says = watch(page, errors);
  await says("This link is incomplete");
  const post = (path: string, body: unknown) =>
    page.evaluate(`fetch("${auth}${path}", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: ${JSON.stringify(JSON.stringify(body))},
    }).then(({ status }) => status)`);
  assertEquals(await post("/signup", ada), 202);
  const link = await linkOf(1);

  // Another browser has no cookie of the signup.
  const other = await (await browser.newContext()).newPage();
  const otherSays = watch(other, errors);
  await other.goto(link);
  assertEquals(await other.title(), "Confirm your e-mail address – The shop");
  await otherSays("The password is needed: this is not the browser that has signed up.");
  await enter(other, "not the password of it");
  await otherSays("The password is not the password of this signup");
  const choose = other.getByRole("link", { name: "Choose another password" });
  assertEquals(
    new URL(await choose.getAttribute("href") ?? "", other.url()).href,
    link.replace("/verify#", "/password/reset#"),
  );

  // The same window follows the link: only the part after # differs.
  await page.goto(link);
  await says("Your account is ready. You can log in now.");
  assertEquals(page.url(), `${auth}/verify`, "the token does not stay in the address");
  const logIn = page.getByRole("link", { name: "Log in" });
  assertEquals(await logIn.getAttribute("href"), "/shop/log-in");
  const color = await page.evaluate("getComputedStyle(document.querySelector('h1')).color");
  assertEquals(color, "rgb(1, 2, 3)");
  await enter(other, password);
  await otherSays("This link was already used or has expired. Request another one.");
  assertEquals(await other.getByLabel("Password").isVisible(), false);
  assertEquals(await other.getByRole("link", { name: "Log in" }).isVisible(), true);

  const forgot = await page.evaluate(`(async () => {
    const { createAuth, createClient } = await import("/shop/__service/client.js");
    const api = createClient({ baseUrl: "/shop", basePath: "/v1/api" });
    await createAuth(api).requestPasswordReset({ email: "${ada.email}" });
  })()`);
  assertEquals(forgot, undefined);
  await page.goto(await linkOf(2));
  const resets: string[] = [];
  page.on("response", (response) => {
    if (response.url().endsWith("/password/reset")) resets.push(`${response.status()}`);
  });
  await enter(page, "short");
  await says("The password has fewer than 15 characters.");
  await page.getByLabel("Password").fill(`${password} 2`);
  // The second click must not send the token again, and must not replace the message.
  await page.getByRole("button", { name: "Continue" }).dblclick();
  await says("Your new password is set. You can log in now.");
  await page.waitForLoadState("networkidle");
  await says("Your new password is set. You can log in now.");
  assertEquals(resets.filter((status) => status !== "428"), ["422", "200"]);
  assertEquals(await post("/login", { ...ada, password: `${password} 2` }), 200);
  assertEquals((await context.cookies()).map(({ name }) => name), ["session"]);
  assertEquals(errors, []);
  await other.context().close();
});
