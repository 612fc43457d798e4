import axe from "axe-core";
import { assertEquals } from "@std/assert";
import { createApp, integer, openDatabase, resource, table, text } from "../../mod.ts";
import { passwordAuth } from "../../exports/auth.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createBrowserTests } from "../client/browser/in_browser.ts";
import { openWatched } from "./watched_page.ts";

const test = createBrowserTests();

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const password = "a password of the tests";

test("an operator logs in with an account, writes by the role, and logs out", async ({ context }) => {
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
      use: [passwordAuth({
        users: "kv",
        signup: { verify: false, roles: ["operator"] },
        passwordReset: false,
        passwords: { scrypt: { N: 4096, r: 8, p: 1 } },
      })],
    },
    resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
  });
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const signup = await fetch(`${origin}/api/auth/signup`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: "otto@example.com", password }),
  });
  assertEquals(signup.status, 201, await signup.text());

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
  app.drain();
  await server.shutdown();
  await app.close();
  await db.close();
});
