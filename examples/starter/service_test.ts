/** Tests of the rights. A database in memory replaces the database of `.env`. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { createApp } from "@svc/resource-api";
import * as tables from "./tables.ts";

Deno.env.set("DATABASE", "sqlite::memory:");
Deno.env.set("KV", ":memory:");
Deno.env.set("SERVICE_SECRET", "a secret for the tests only");
const { default: config } = await import("./service.config.ts");
await config.db.migrate(Object.values(tables));
const app = await createApp(config);
Deno.test.afterAll(() => app.close());

const [ada, bob] = [app.as({ id: "ada" }), app.as({ id: "bob" })];
const { value: list } = await ada.lists.create({ title: "Groceries" });
await ada.tasks.create({ listId: list.id, title: "Tea" });

Deno.test("ada reads her list and her task", async () => {
  const { items } = await ada.tasks.list({ filter: "status==open" });
  deepEqual(items.map(({ title, status }) => [title, status]), [[
    "Tea",
    "open",
  ]]);
});

Deno.test("bob reads neither her list nor her task", async () => {
  deepEqual((await bob.lists.list()).items, []);
  deepEqual((await bob.tasks.list()).items, []);
});

Deno.test("bob cannot add a task to her list", async () => {
  await rejects(bob.tasks.create({ listId: list.id, title: "Coffee" }), {
    status: 403,
  });
});

Deno.test("a stranger has to log in", async () => {
  equal(
    (await app.fetch(new Request("http://localhost/api/lists"))).status,
    401,
  );
});
