import { assertEquals } from "@std/assert";
import { all, eq, integer, none, openDatabase, resource, table, text } from "../../mod.ts";
import { usersTable } from "../../exports/auth.ts";
import { keepAlive } from "../../src/runtime/runtime.ts";
import { openEventStream } from "../support/event_stream.ts";
import { ownPage, withAccounts } from "./accounts_support.ts";

const papers = table("papers", { id: integer().primaryKey(), level: text().notNull() });
const open = table("open", { id: integer().primaryKey() });

Deno.test("the scope of an open stream sees other roles, and withdraws or ends what they do not permit", async () => {
  // The timers of the service keep no process alive.
  using _alive = { [Symbol.dispose]: keepAlive() };
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([papers, open]);
  const config = {
    auth: { recheckMs: 100 },
    resources: [
      resource(papers, {
        id: papers.id,
        auth: {
          subscribe: ({ roles = [] }) =>
            roles.includes("editor")
              ? all()
              : roles.includes("reader")
              ? eq(papers.level, "public")
              : none(),
        },
      }),
      resource(open, { id: open.id, auth: { public: true } }),
    ],
  };
  await withAccounts({ signup: { roles: ["editor"] } }, async ({ app, signUp, logIn, post }) => {
    await signUp();
    const cookie = await logIn();
    for (const level of ["public", "secret"]) {
      await db.sql`INSERT INTO ${papers} (${papers.level}) VALUES (${level})`;
    }
    const streamOf = (path: string) =>
      openEventStream(
        (signal) =>
          app.fetch(
            new Request(`http://localhost/api/${path}/subscribe`, { headers: { cookie }, signal }),
          ),
        () => {},
      );
    const stream = await streamOf("papers");
    const ofPublic = await streamOf("open");
    const levels = (events: Awaited<ReturnType<typeof stream.untilSynced>>) =>
      events.flatMap(({ data }) => data.items ?? []).map(({ level }: { level: string }) => level);
    assertEquals(levels(await stream.untilSynced()), ["public", "secret"]);
    await ofPublic.untilSynced();

    const setRoles = (roles: string[]) =>
      db.sql`UPDATE ${usersTable} SET ${usersTable.roles} = ${roles}`;
    await setRoles(["reader"]);
    const [withdrawn, ...again] = await stream.untilSynced();
    assertEquals(withdrawn?.data, { type: "invalidate", reason: "scope_changed" });
    assertEquals(levels(again), ["public"]);
    await setRoles([]);
    assertEquals((await stream.untilEnd()).at(-1)?.data, {
      type: "invalidate",
      reason: "auth_expired",
    });
    // Its rows are public, and it ends with the session that it was opened with all the same.
    await post("/api/auth/logout", undefined, { headers: ownPage(cookie) });
    assertEquals((await ofPublic.untilEnd()).at(-1)?.data, {
      type: "invalidate",
      reason: "auth_expired",
    });
  }, { db, config });
});
