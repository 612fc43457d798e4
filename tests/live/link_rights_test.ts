import { assertEquals } from "@std/assert";
import type { ScopeFunction, ScopeResult } from "../../src/auth/authorize.ts";
import { all, eq } from "../../src/filter/builders.ts";
import { rsql } from "../../src/filter/filter_text.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { boolean, integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { handClock } from "../db/hand_clock.ts";
import {
  albumTags,
  fillShop,
  shopResources,
  shopTables,
  withShop,
} from "../http/include_support.ts";
import { engines } from "../support/engines.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";
import { untilIdle } from "./hub_support.ts";
import { catchUp, follow, held, listed, updateRow } from "./include_streams.ts";

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

testOnEngines(
  "a stream shows nothing, and sends nothing, by links that the caller may not read",
  async (engine) => {
    const links: ScopeFunction = ({ id }) => {
      if (id === "ada") return all();
      return id === "bob" ? eq(albumTags.tagId, "it's") : rsql`album.title==c;tagId!=jazz`;
    };
    await withShop(engine, { isLive: true, albumTags: links }, async (service) => {
      const queries = [
        ["ada", "include=tags"],
        ["bob", "include=tags"],
        ["bob", "include=tags(include:albums)"],
        ["cyd", "include=tags"],
        ["cyd", "include=artist(include:albums(filter:tags.label==quoted))"],
      ] as const;
      const followers = await Promise.all(
        queries.map(([user, query]) => follow(service, "albums", query, user)),
      );
      const sent = async (text: string) => {
        await service.db.driver.query({ text, values: [] });
        const lines = [];
        for (const follower of followers) {
          lines.push((await catchUp(follower, service)).join());
          assertEquals(held(follower), await listed(follower, service), follower.query);
        }
        return lines;
      };
      await sent("SELECT 1");
      assertEquals(
        await sent("INSERT INTO album_tags VALUES (90, 2, 'jazz', FALSE)"),
        ["changed 2", "", "", "", ""],
      );
      assertEquals(
        await sent("UPDATE tags SET label = 'soft' WHERE id = 'jazz'"),
        ["changed 1,changed 2", "", "", "", ""],
      );
      const quoted = await sent("UPDATE album_tags SET tag_id = 'it''s' WHERE id = 90");
      assertEquals(quoted.slice(0, 2), ["changed 2", "changed 2"]);
      const both = quoted[2]?.split(",").sort();
      assertEquals(both, ["changed 1", "changed 2"], "album 2 is another of its tag's albums");
      const gone = await sent("UPDATE album_tags SET gone = TRUE WHERE id = 3");
      assertEquals(gone.slice(0, 2), ["changed 1", "changed 1"]);
      const ofArtist = "changed 1,changed 2,changed 3";
      assertEquals(gone[4], ofArtist, "the links decide which albums are included");
      // The scope of the links walks to the albums: which of them count follows from these.
      const titles = await sent("UPDATE albums SET title = 'c' WHERE id = 2");
      assertEquals(titles.slice(0, 2), ["changed 2", "changed 2"]);
      assertEquals(titles[3], "changed 2");
      assertEquals(titles[4]?.split(",").sort().join(), ofArtist);
      for (const { stream } of followers) await stream.close();
    });
  },
);

Deno.test("a right to links starts over the streams that walk them when it changes", async () => {
  const { clock, advance } = handClock();
  let scope: ScopeResult = "";
  const runtime = { ...systemRuntime(() => {}), clock };
  const resources = shopResources({ isLive: true, albumTags: () => scope });
  await withService(sqlite, shopTables, () => ({ resources, runtime }), async (service) => {
    await fillShop(service.db);
    const one = await follow(service, "albums", "include=tags", "ada");
    const other = await follow(service, "albums", "include=artist", "ada");
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
    assertEquals(held(one)[0]?.["tags"], []);
    scope = all();
    assertEquals(await look(), ["invalidate scope_changed,existing", ""]);
    assertEquals(await look(), ["", ""]);
    scope = eq(albumTags.tagId, "jazz");
    assertEquals(await look(), ["invalidate scope_changed,existing", ""]);
    scope = "";
    assertEquals(await look(), ["invalidate scope_changed,existing", ""]);
    assertEquals(held(one)[0]?.["tags"], []);
    await one.stream.close();
    await other.stream.close();
  });
});

const teams = table("teams", { id: integer().primaryKey(), name: text().notNull() });
const people = table("people", { id: integer().primaryKey(), name: text().notNull() });
const seasons = table("seasons", { id: integer().primaryKey(), isOpen: boolean().notNull() });
const members = table("members", {
  id: integer().primaryKey(),
  teamId: integer().notNull(),
  personId: integer().notNull(),
  seasonId: integer().notNull(),
});

testOnEngines(
  "the right to links walks to rows of which another resource of the link table knows nothing",
  (engine) => {
    const config = () => ({
      resources: [
        resource(teams, {
          id: teams.id,
          auth: { public: true },
          relations: {
            people: {
              type: "manyToMany",
              resource: people,
              through: members,
              foreignKey: members.teamId,
              references: members.personId,
            },
          },
        }),
        resource(people, { id: people.id, auth: { public: true } }),
        resource(members, {
          id: members.id,
          auth: { read: () => rsql`season.isOpen==true` },
          relations: {
            season: { type: "belongsTo", resource: seasons, foreignKey: members.seasonId },
          },
        }),
        resource(members, { id: members.id, path: "all-members" }),
      ],
    });
    return withService(engine, [teams, people, seasons, members], config, async (service) => {
      const { db, subscribe } = service;
      await insertRows(db, teams, [{ id: 1, name: "one" }]);
      await insertRows(db, people, [{ id: 1, name: "ada" }]);
      await insertRows(db, seasons, [{ id: 1, isOpen: true }]);
      await insertRows(db, members, [{ id: 1, teamId: 1, personId: 1, seasonId: 1 }]);
      const headers = { "x-user": "ada" };
      const stream = await subscribe("/api/teams/subscribe?include=people", headers);
      const [existing] = await stream.untilSynced();
      assertEquals(existing?.data.items[0].people, [{ id: 1, name: "ada" }]);
      await updateRow(db.driver, db, seasons, 1, { isOpen: false });
      const [changed] = await stream.take(1);
      assertEquals(changed?.type, "changed");
      assertEquals(changed?.data.item, { id: 1, name: "one", people: [] });
      await stream.close();
    });
  },
);
