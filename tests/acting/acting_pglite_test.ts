/** `actAs` in a Postgres within this process, whose one connection waits for each statement. */
import { assertEquals } from "@std/assert";
import { PGlite } from "@electric-sql/pglite";
import type { Driver } from "../../src/db/driver.ts";
import { openPglite, openPgliteOfClient } from "../../src/engines/postgres/driver/pglite_driver.ts";
import { runScript } from "../support/scratch.ts";
import { actingApp, todos } from "./acting_app.ts";
import { starter, uid } from "./supabase.ts";

const drivers: Readonly<Record<string, () => Promise<[Driver, () => Promise<void>]>>> = {
  "of the service": async () => [await openPglite(":memory:"), () => Promise.resolve()],
  "of the program": async () => {
    const client = new PGlite("memory://");
    return [await openPgliteOfClient(client), () => client.close()];
  },
};

for (const [name, open] of Object.entries(drivers)) {
  Deno.test(`pglite ${name}: requests have the roles of their users`, async () => {
    const [driver, close] = await open();
    try {
      await runScript(driver, starter);
      await using acting = await actingApp(
        { anon: "anon", authenticated: "authenticated", url: "" },
        {},
        { driver },
      );
      const { send } = acting;
      await Promise.all(Array.from({ length: 40 }, async (_, n) => {
        const user = 1 + n % 20;
        const list = await send(user, "GET", "/todos?limit=50");
        assertEquals(list.body.items.length, 20);
        for (const { userId } of list.body.items) assertEquals(userId, uid(user));
        const [{ id }] = list.body.items;
        assertEquals((await send(1 + (n + 1) % 20, "GET", `/todos/${id}`)).status, 404);
        assertEquals((await send(user, "GET", `/todos/${id}`)).status, 200);
        assertEquals((await send(null, "GET", "/posts/count")).body.count, 75);
      }));
      assertEquals((await send(3, "POST", "/todos", { task: "mine" })).status, 201);
      assertEquals((await send(3, "POST", "/todos", { task: "mine", userId: uid(4) })).status, 403);
      assertEquals((await send(3, "PATCH", "/todos/1", { task: "stolen" })).status, 404);
      const counts = await acting.app.as({ id: uid(3) }).transaction(async ({ api }) => [
        await api.of(todos).count(),
        await api.asSystem().of(todos).count(),
        await api.asSystem().of(todos).create({ task: "no" }).catch(({ status }) => status),
        await api.of(todos).count(),
      ]);
      assertEquals(counts, [21, 401, 422, 21]);
      assertEquals(await acting.app.asSystem().of(todos).count(), 401);
    } finally {
      await close();
    }
  });
}
