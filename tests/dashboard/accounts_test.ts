import axe from "axe-core";
import { assertEquals } from "@std/assert";
import { createApp, integer, openDatabase, resource, table } from "../../mod.ts";
import { apiKeyAuth, passwordAuth } from "../../exports/auth.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { ApiKeys } from "../../src/identity/keys/api_keys.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { createBrowserTests } from "../client/browser/in_browser.ts";
import { hostile } from "./dashboard_service.ts";
import { openWatched, visit } from "./watched_page.ts";

const test = createBrowserTests();
const notes = table("notes", { id: integer().primaryKey() });

/** Starts a service with 60 accounts and an API key, which everyone on this machine manages. */
async function startSite() {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const system = systemRuntime(() => {});
  // Each request is later than `recheckMs`, so that an ended credential is never trusted.
  let elapsed = 0;
  const runtime = {
    ...system,
    clock: { ...system.clock, elapsedMs: () => elapsed += 2 },
  };
  const kv = createMemoryKeyValue(runtime.clock);
  const app = await createApp({
    ...{ db, kv, runtime, adminUI: true, secret: "a secret for the tests only" },
    auth: {
      recheckMs: 1,
      use: [
        apiKeyAuth(),
        passwordAuth({
          signup: { verify: false },
          passwordReset: false,
          passwords: { scrypt: { N: 4096, r: 8, p: 1 } },
        }),
      ],
    },
    resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
  });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const post = async (path: string, body: object) => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${origin}/api/auth/${path}`, {
      ...{ method: "POST", headers, body: JSON.stringify(body) },
    });
    return await response.json();
  };
  const uma = { email: "uma@example.com", password: "a password of the tests" };
  const bearer = { transport: "bearer" };
  const { user: { id }, token } = await post("signup", { ...uma, ...bearer, name: hostile });
  const second = (await post("login", { ...uma, ...bearer })).token;
  const rows = JSON.stringify(Array.from({ length: 60 }, (_, number) => number + 1));
  await db.sql`INSERT INTO users (id, email, name, password_hash, roles, disabled, created_at)
    SELECT 'z/?#' || value, 'n' || value || '@example.com', NULL, 'x', '["reader"]', value % 2,
      '2026-01-01T00:00:00.000Z' FROM json_each(${rows})`;
  const keys = new ApiKeys(kv, runtime);
  const { text } = await keys.create({
    ...{ name: hostile, userId: id, scopes: ["export"], expiresAt: null },
  });
  return {
    ...{ origin, keys, url: `${origin}/__service/ui` },
    /** Returns true for each credential that is valid: the two sessions and the key of uma. */
    areGood: () =>
      Promise.all([token, second, text].map(async (credential) => {
        const headers = { authorization: `Bearer ${credential}` };
        const response = await fetch(`${origin}/api/auth/me`, { headers });
        return (await response.json()).user !== null;
      })),
    async [Symbol.asyncDispose]() {
      app.drain();
      await server.shutdown();
      await app.close();
      await db.close();
    },
  };
}

test("an operator finds an account, ends sessions, sets roles, disables it, and revokes a key", async ({ context }) => {
  await using site = await startSite();
  const { page, done } = await openWatched(context, `${site.url}#/accounts`);
  const list = page.getByRole("region", { name: "Accounts" });
  assertEquals(await site.areGood(), [true, true, true]);
  await list.getByRole("row", { name: /uma@example.com/ }).waitFor();
  assertEquals(await list.getByRole("row").count(), 51);
  await page.getByRole("button", { name: "Next page" }).click();
  await page.getByRole("button", { name: "First page" }).waitFor();
  await list.getByRole("row", { name: /n9@example.com/ }).waitFor();
  // An id can contain characters with a meaning in URLs.
  await list.getByRole("link", { name: "n9@example.com" }).click();
  await page.getByText("z/?#9", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Accounts" }).first().click();
  await page.getByLabel(/^E-mail address/).fill("<IMG src");
  await page.keyboard.press("Enter");
  // The whole list shows this account too, and no row is shown until the search has ended.
  let rows = 0;
  for (let turn = 0; turn < 1_000 && rows !== 2; turn++) {
    rows = await list.getByRole("row").count();
  }
  assertEquals(rows, 2);
  await list.getByText(hostile).waitFor();
  await list.getByRole("link", { name: "uma@example.com" }).click();

  const sessions = page.getByRole("region", { name: "Sessions" });
  await sessions.getByRole("button", { name: "End" }).first().click();
  await page.getByText("The session is ended.").waitFor();
  const [first, second] = await site.areGood();
  assertEquals([first, second].toSorted(), [false, true]);
  await page.getByRole("textbox", { name: "Roles, separated by commas" }).fill("editor, reader");
  await page.getByRole("button", { name: "Save the roles" }).click();
  await page.getByText("The roles are saved.").waitFor();
  await page.locator(".facts").getByText("editor, reader").waitFor();
  await page.getByRole("button", { name: "Disable …" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  assertEquals((await site.areGood()).filter((isGood) => !isGood).length, 1);
  await page.getByRole("button", { name: "Disable …" }).click();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByText("The account is disabled.").waitFor();
  await page.getByText("This account has no session.").waitFor();
  assertEquals((await site.areGood()).slice(0, 2), [false, false]);
  await page.getByRole("button", { name: "Enable" }).click();
  await page.getByText("The account is enabled.").waitFor();
  await page.getByRole("button", { name: "End all sessions …" }).click();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByText("All sessions are ended.").waitFor();

  await visit(page, "keys");
  await page.getByRole("row", { name: /export/ }).waitFor();
  await page.getByRole("button", { name: "Revoke …" }).click();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByText("There are no API keys.").waitFor();
  assertEquals((await site.areGood())[2], false);
  await visit(page, "audit");
  await page.getByRole("row", { name: /action\/account-disable/ }).waitFor();
  assertEquals(await page.title(), "audit · API");
  await done();
});

test("axe finds no fault in the pages of accounts and keys, wide and light or narrow and dark", async ({ browser }) => {
  await using site = await startSite();
  const looks = [
    { viewport: { width: 1280, height: 800 }, colorScheme: "light" },
    { viewport: { width: 400, height: 800 }, colorScheme: "dark" },
  ] as const;
  const id = (await site.keys.list())[0]?.userId ?? "";
  for (const look of looks) {
    const context = await browser.newContext({ ...look, bypassCSP: true });
    const { page, done } = await openWatched(context, `${site.url}#/`);
    await page.evaluate(axe.source);
    for (
      const [place, heading] of [["accounts", "Accounts"], [`accounts/${id}`, "Account"], [
        "keys",
        "API keys",
      ]] as const
    ) {
      await visit(page, place);
      await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
      await page.getByRole("row").nth(1).waitFor();
      if (place !== "accounts") await page.getByRole("button", { name: "…" }).last().click();
      const faults = await page.evaluate(
        "axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + nodes[0].html))",
      );
      assertEquals(faults, [], place);
      await page.keyboard.press("Escape");
      const fits = "document.documentElement.scrollWidth <= innerWidth";
      assertEquals(await page.evaluate(fits), true);
    }
    await done();
    await context.close();
  }
});
