import { assertEquals } from "@std/assert";
import type { ScopeResult } from "../../src/auth/authorize.ts";
import { all, eq } from "../../src/filter/builders.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";
import { albums, fillShop, shopResources, shopTables, withShop } from "../http/include_support.ts";
import { engines } from "../support/engines.ts";
import { testOnEngines, withService } from "../support/http.ts";
import { untilIdle } from "./hub_support.ts";
import { catchUp, follow, held, listed } from "./include_streams.ts";

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

testOnEngines(
  "included rows that a user may not read are neither shown nor revealed by events",
  (engine) => {
    const scopes = {
      isLive: true,
      albums: ({ id }: { readonly id: string }) => eq(albums.rating, id === "ada" ? 5 : 3),
      profiles: null,
    };
    return withShop(engine, scopes, async (service) => {
      const { db } = service;
      const query = "include=profile,albums(include:tracks)";
      const followers = [
        await follow(service, "artists", query, "ada"),
        await follow(service, "artists", query, "ada"),
        await follow(service, "artists", query, "bob"),
      ];
      const sent = async (text: string) => {
        for (const part of text.split(";")) await db.driver.query({ text: part, values: [] });
        const lines = [];
        for (const follower of followers) {
          lines.push((await catchUp(follower, service)).join());
          assertEquals(held(follower), await listed(follower, service));
        }
        return lines;
      };
      assertEquals(await sent("SELECT 1"), ["existing", "existing", "existing"]);
      assertEquals(held(followers[0] ?? followers[1]!)[0], {
        id: 1,
        name: "ada",
        shout: "ADA",
        profile: null,
        albums: [{ id: 1, title: "c", artistId: 1, rating: 5, length: 1, tracks: [] }],
      });
      assertEquals(await sent("UPDATE albums SET title = 'y' WHERE id = 1"), [
        "changed 1",
        "changed 1",
        "",
      ]);
      assertEquals(await sent("UPDATE albums SET title = 'y' WHERE id = 5"), ["", "", "changed 2"]);
      // It goes from what one of them sees to what the other does.
      assertEquals(await sent("UPDATE albums SET rating = 3 WHERE id = 1"), [
        "changed 1",
        "changed 1",
        "changed 1",
      ]);
      // No user sees it, nor the rows that it includes.
      assertEquals(await sent("UPDATE albums SET title = 'y' WHERE id = 3"), ["", "", ""]);
      assertEquals(await sent("UPDATE tracks SET name = 'y' WHERE id = 3"), ["", "", ""]);
      assertEquals(await sent("UPDATE profiles SET bio = 'y'"), ["", "", ""]);
      for (const { stream } of followers) await stream.close();
    });
  },
);

Deno.test("a right to what is included starts streams over when it changes, and ends none", async () => {
  const { clock, advance } = handClock();
  let scope: ScopeResult = eq(albums.rating, 5);
  const runtime = { ...systemRuntime(() => {}), clock };
  const resources = shopResources({ isLive: true, albums: () => scope });
  await withService(sqlite, shopTables, () => ({ resources, runtime }), async (service) => {
    await fillShop(service.db);
    const one = await follow(service, "artists", "include=albums", "ada");
    const other = await follow(service, "artists", "", "ada");
    const look = async () => {
      advance(60_000);
      await untilIdle();
      const lines = [];
      for (const follower of [one, other]) {
        lines.push((await catchUp(follower, service)).join());
        assertEquals(held(follower), await listed(follower, service));
      }
      return lines;
    };
    assertEquals(await look(), ["existing", "existing"]);
    assertEquals(await look(), ["", ""]);
    scope = all();
    assertEquals(await look(), ["invalidate scope_changed,existing", ""]);
    scope = "";
    assertEquals(await look(), ["invalidate scope_changed,existing", ""]);
    assertEquals(held(one)[0]?.["albums"], []);
    scope = eq(albums.rating, 3);
    assertEquals(await look(), ["invalidate scope_changed,existing", ""]);
    await one.stream.close();
    await other.stream.close();
  });
});
