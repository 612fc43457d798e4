import { assertEquals, assertRejects } from "@std/assert";
import { Problem } from "../../src/problem/problem.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { engines } from "../support/engines.ts";
import { user, withHub } from "./hub_support.ts";

const rows = table("rows", { id: integer().primaryKey() });

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

Deno.test("a stream continued for as long as fifteen seconds after its credentials had ended", () =>
  withHub(sqlite, rows, {}, async ({ subscribe, advance, hub }) => {
    const streams = [
      await subscribe({ user: user("ada", { exp: 60 }) }),
      await subscribe({ user: user("ada", { exp: 6 }) }),
      await subscribe({ user: user("bob", { exp: 6.2 }) }),
      await subscribe({ user: user("eve") }),
    ];
    for (const stream of streams) await stream.untilSynced();
    const open: number[] = [];
    for (const ms of [5_900, 1_000, 53_000, 1_000]) {
      await advance(ms);
      open.push(hub.size);
    }
    assertEquals(open, [4, 2, 2, 1]);
    for (const stream of streams.slice(0, 3)) {
      assertEquals((await stream.untilEnd()).map(({ data }) => data.reason), ["auth_expired"]);
    }
    await streams[3]?.close();
  }));

Deno.test("a row was sent after the credentials had ended, because the timer was late", () =>
  withHub(sqlite, rows, {}, async ({ subscribe, advance, sql }) => {
    const stream = await subscribe({ user: user("ada", { exp: 60.1 }) });
    await stream.untilSynced();
    await advance(60_110);
    await sql("INSERT INTO rows (id) VALUES (1)");
    assertEquals((await stream.untilEnd()).map(({ data }) => data.reason), ["auth_expired"]);
  }));

Deno.test("a stream was opened by credentials that had ended", () =>
  withHub(sqlite, rows, {}, async ({ open, aggregate, advance, hub }) => {
    await advance(1_000);
    const expired = user("ada", { exp: 1 });
    for (
      const opening of [
        () => open({ user: expired }),
        () => aggregate("count=true", { user: expired }),
      ]
    ) {
      const problem = await assertRejects(opening, Problem);
      assertEquals(problem.slug, "unauthorized");
      assertEquals(new Headers(problem.headers).get("www-authenticate"), "Bearer");
    }
    assertEquals(hub.size, 0);
  }));
