import axe from "axe-core";
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import {
  createApp,
  type Database,
  integer,
  openDatabase,
  resource,
  table,
  text,
} from "../../mod.ts";
import { passwordAuth } from "../../exports/auth.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createBrowserTests } from "../client/browser/in_browser.ts";
import { openWatched } from "./watched_page.ts";

const test = createBrowserTests();

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const password = "a password of the tests";

interface Site extends AsyncDisposable {
  readonly db: Database;
  readonly origin: string;
}

/** Starts a service with the accounts of an operator, and of a user without a role. */
async function startSite(): Promise<Site> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  await db.sql`INSERT INTO notes (id, title) VALUES (1, 'first')`;
  const app = await createApp({
    db,
    kv: ":memory:",
    secret: "a secret for the tests only",
    runtime: systemRuntime(() => {}),
    adminUI: { roles: { edit: ["operator"] } },
    auth: {
      recheckMs: 20,
      use: [passwordAuth({
        signup: { verify: false, roles: ["operator"] },
        passwordReset: false,
        passwords: { scrypt: { N: 4096, r: 8, p: 1 } },
      })],
    },
    resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
  });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  for (const email of ["otto@example.com", "nora@example.com"]) {
    const signup = await fetch(`${origin}/api/auth/signup`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email, password }),
    });
    assertEquals(signup.status, 201, await signup.text());
  }
  await db.sql`UPDATE users SET roles = '[]' WHERE email = 'nora@example.com'`;
  return {
    db,
    origin,
    async [Symbol.asyncDispose]() {
      app.drain();
      await server.shutdown();
      await app.close();
      await db.close();
    },
  };
}

async function logIn(page: Page, email: string): Promise<void> {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
}

test("an operator logs in with an account, writes by the role, and logs out", async ({ context }) => {
  await using site = await startSite();
  const { db, origin } = site;
  const { page, done } = await openWatched(context, `${origin}/__service/ui#/data/notes`);
  await page.getByLabel("E-mail address").fill("otto@example.com");
  await page.getByLabel("Password").fill("another password of the tests");
  await page.evaluate(axe.source);
  const faults = await page.evaluate(
    "axe.run(document).then(({ violations }) => violations.map(({ id }) => id))",
  );
  assertEquals(faults, []);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "notes" }).waitFor();
  await page.getByText("otto@example.com").waitFor();

  await page.getByRole("link", { name: "1", exact: true }).first().click();
  await page.getByLabel("title text").fill("by the operator");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved.", { exact: true }).waitFor();
  const { rows } = await db.query({ text: "SELECT title FROM notes", values: [] });
  assertEquals(rows, [["by the operator"]]);

  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("E-mail address").waitFor();
  const refused = await page.request.get(`${origin}/__service/ui/api/notes`);
  assertEquals(refused.status(), 401);
  await done();
});

test("an account without a role is named, and another account can log in", async ({ context }) => {
  await using site = await startSite();
  const { page, done } = await openWatched(context, `${site.origin}/__service/ui#/data/notes`);
  // The first field has the focus, so that no pointer is needed.
  await page.locator("#login-email:focus").waitFor();
  await logIn(page, "nora@example.com");
  await page.getByRole("alert").getByText("nora@example.com").waitFor();
  await page.reload();
  await page.getByRole("alert").getByText("nora@example.com").waitFor();
  await logIn(page, "otto@example.com");
  await page.getByRole("heading", { name: "notes" }).waitFor();
  await done();
});

test("if the session ends, a dialog asks for the login, and edits remain", async ({ context }) => {
  await using site = await startSite();
  const { db, origin } = site;
  const { page, done } = await openWatched(context, `${origin}/__service/ui#/data/notes/1`);
  await logIn(page, "otto@example.com");
  await page.getByLabel("title text").fill("still here");
  const logout = `${origin}/api/auth/logout`;
  assertEquals((await page.request.post(logout, { headers: { origin } })).status(), 204);
  // Another request of the page can have opened the dialog already, so the pointer may not reach.
  await page.getByRole("button", { name: "Save", exact: true }).dispatchEvent("click");
  const dialog = page.getByRole("dialog", { name: "The session has ended" });
  await dialog.getByLabel("E-mail address").fill("otto@example.com");
  await dialog.getByLabel("Password").fill("another password of the tests");
  await page.keyboard.press("Enter");
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved.", { exact: true }).waitFor();
  const { rows } = await db.query({ text: "SELECT title FROM notes", values: [] });
  assertEquals(rows, [["still here"]]);
  await done();
});

test("the login says if the browser keeps no cookie, or after too many failures", async ({ context }) => {
  await using site = await startSite();
  const { page, done } = await openWatched(context, `${site.origin}/__service/ui`);
  // As a browser does with a cookie with `Secure` on a page that was opened over HTTP.
  await page.route("**/api/auth/login", async (route) => {
    const response = await route.fetch();
    await context.clearCookies();
    await route.fulfill({ status: response.status(), body: await response.text() });
  });
  await logIn(page, "otto@example.com");
  await page.getByRole("alert").getByText("https://").waitFor();
  await page.unrouteAll();
  await page.getByLabel("Password").fill("another password of the tests");
  while (!await page.getByRole("alert").getByText("Too many logins").isVisible()) {
    const answered = page.waitForResponse("**/api/auth/login");
    await page.getByRole("button", { name: "Log in" }).click();
    await answered;
    await page.locator("button:enabled").waitFor();
  }
  await done();
});

test("the head of the dashboard fits on a narrow screen", async ({ context }) => {
  await using site = await startSite();
  const { page, done } = await openWatched(context, `${site.origin}/__service/ui`);
  await page.setViewportSize({ width: 360, height: 740 });
  await logIn(page, "otto@example.com");
  const right = await page.getByRole("button", { name: "Log out" })
    .evaluate((button) => button.getBoundingClientRect().right);
  assert(right <= 360, `${right}`);
  await done();
});
