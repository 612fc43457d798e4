import { assertEquals } from "@std/assert";
import { all } from "../../src/filter/builders.ts";
import { rsql } from "../../src/filter/filter_text.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { Engine } from "../support/engines.ts";
import type { ServerEvent } from "../support/event_stream.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";

const projects = table("projects", {
  id: integer().primaryKey(),
  ownerId: text().as("owner_id"),
});
const items = table("items", {
  id: integer().primaryKey(),
  title: text().notNull(),
  projectId: integer().as("project_id"),
});

const links = table("links", {
  id: integer().primaryKey(),
  itemId: integer().notNull().as("item_id"),
  projectId: integer().notNull().as("project_id"),
  goneAt: text().as("gone_at"),
});

/** An app in which items are read by who owns their project. */
function withItems(
  engine: Engine,
  work: (service: Service, run: (text: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  return withService(engine, [projects, items, links], () => ({
    resources: [
      resource(projects, {
        id: projects.id,
        auth: { read: () => all(), subscribe: () => all() },
        relations: {
          items: { type: "hasMany", resource: items, foreignKey: items.projectId },
        },
      }),
      resource(links, {
        id: links.id,
        auth: { read: () => all() },
        softDelete: { field: links.goneAt },
      }),
      resource(items, {
        id: items.id,
        auth: {
          read: (user) => user.id === "guest" ? all() : rsql`linked.ownerId==${user.id}`,
          subscribe: (user) => rsql`project.ownerId==${user.id}`,
        },
        relations: {
          project: { type: "belongsTo", resource: projects, foreignKey: items.projectId },
          linked: {
            type: "manyToMany",
            resource: projects,
            through: links,
            foreignKey: links.itemId,
            references: links.projectId,
            filterable: true,
          },
        },
      }),
    ],
  }), async (service) => {
    const run = async (text: string) => {
      await service.db.driver.query({ text, values: [] });
    };
    await work(service, run);
  });
}

const sent = (events: readonly ServerEvent[]) =>
  events.map(({ type, data }) => `${type} ${data.reason ?? data.id ?? data.item?.id ?? ""}`.trim());

const itemsOf = (projectId: number, count: number, first = 1) =>
  Array.from({ length: count }, (_, index) => ({ id: first + index, title: "t", projectId }));

testOnEngines(
  "a row that came into a right by a related one was sent as it had been before the right was given",
  (engine) =>
    withItems(engine, async ({ db, subscribe }, run) => {
      await insertRows(db, projects, [{ id: 1, ownerId: "u1" }]);
      await insertRows(db, items, itemsOf(1, 300));
      const stream = await subscribe("/api/items/subscribe", { "x-user": "u2" });
      await stream.untilSynced();
      await run("UPDATE items SET title = 'CONFIDENTIAL'");
      await run("UPDATE items SET title = 'clean'");
      await run("UPDATE projects SET owner_id = 'u2'");
      for (const { data } of await stream.take(300)) {
        assertEquals([data.type, data.item.title], ["added", "clean"]);
      }
      assertEquals(stream.text.includes("CONFIDENTIAL"), false);
      await stream.close();
    }),
);

testOnEngines(
  "a write to a related row was answered by a whole new snapshot, though one row hung on it, or none",
  (engine) =>
    withItems(engine, async ({ db, subscribe }, run) => {
      await insertRows(db, projects, [
        { id: 1, ownerId: "u1" },
        { id: 2, ownerId: "u1" },
        { id: 3, ownerId: "u1" },
      ]);
      await insertRows(db, items, [...itemsOf(1, 20), { id: 50, title: "t", projectId: 2 }]);
      const [mine, yours] = await Promise.all(
        ["u1", "u2"].map((user) => subscribe("/api/items/subscribe", { "x-user": user })),
      );
      if (mine === undefined || yours === undefined) throw new Error("unreachable");
      for (const stream of [mine, yours]) await stream.untilSynced();
      await run("UPDATE projects SET owner_id = 'u2' WHERE id = 3");
      await run("DELETE FROM projects WHERE id = 3");
      await run("INSERT INTO projects (id, owner_id) VALUES (4, 'u2')");
      await run("UPDATE projects SET owner_id = 'u2' WHERE id = 2");
      assertEquals(sent(await mine.take(1)), ["removed 50"]);
      assertEquals(sent(await yours.take(1)), ["added 50"]);
      await run("DELETE FROM projects WHERE id = 2");
      assertEquals(sent(await yours.take(1)), ["removed 50"]);
      await run("INSERT INTO projects (id, owner_id) VALUES (2, 'u1')");
      assertEquals(sent(await mine.take(1)), ["added 50"]);
      for (const stream of [mine, yours]) await stream.close();
    }),
);

testOnEngines(
  "more than 500 rows that depend on a related one start their streams over",
  (engine) =>
    withItems(engine, async ({ db, subscribe }, run) => {
      await insertRows(db, projects, [{ id: 1, ownerId: "u1" }, { id: 2, ownerId: "u1" }]);
      await insertRows(db, items, [...itemsOf(1, 501), ...itemsOf(2, 500, 1_001)]);
      const stream = await subscribe("/api/items/subscribe", { "x-user": "u2" });
      await stream.untilSynced();
      await run("UPDATE projects SET owner_id = 'u2' WHERE id = 2");
      const added = sent(await stream.take(500));
      assertEquals(added.every((line) => line.startsWith("added ")), true);
      await run("UPDATE projects SET owner_id = 'u2' WHERE id = 1");
      assertEquals(sent(await stream.take(1)), ["invalidate relation_overflow"]);
      const pages = await stream.untilSynced();
      assertEquals(pages.flatMap(({ data }) => data.items).length, 1_001);
      await stream.close();
    }),
);

const shown = (event: ServerEvent | undefined) => {
  const { id, items } = event?.data.item ?? {};
  return [id, items?.map((row: { readonly id: number }) => row.id)];
};

testOnEngines(
  "a write that gave or took a right to included rows was answered by a whole new snapshot",
  (engine) =>
    withItems(engine, async ({ db, subscribe }, run) => {
      await insertRows(db, projects, [{ id: 1, ownerId: "u1" }, { id: 7, ownerId: "u1" }]);
      await insertRows(db, items, itemsOf(7, 2));
      await insertRows(db, links, [{ id: 1, itemId: 2, projectId: 1 }]);
      const stream = await subscribe("/api/projects/subscribe?include=items", { "x-user": "u2" });
      await stream.untilSynced();
      await run("UPDATE items SET title = 'CONFIDENTIAL'");
      await run("UPDATE items SET title = 'clean'");
      await run("UPDATE projects SET owner_id = 'u2' WHERE id = 1");
      // Other events may have come for the items, before the right was granted.
      const events: ServerEvent[] = [];
      while (shown(events.at(-1))[1]?.length !== 1) events.push(...await stream.take(1));
      assertEquals(events.every(({ type }) => type === "changed"), true);
      assertEquals(shown(events.at(-1)), [7, [2]]);
      assertEquals(stream.text.includes("CONFIDENTIAL"), false);
      await run("UPDATE projects SET owner_id = 'u3' WHERE id = 1");
      assertEquals((await stream.take(2)).map(shown), [[1, []], [7, []]]);
      await stream.close();
    }),
);

testOnEngines(
  "a link that was marked deleted went unnoticed where a filter of an include led over it",
  (engine) =>
    withItems(engine, async ({ db, subscribe }, run) => {
      await insertRows(db, projects, [{ id: 1, ownerId: "guest" }, { id: 7, ownerId: "u1" }]);
      await insertRows(db, items, itemsOf(7, 2));
      await insertRows(db, links, [{ id: 1, itemId: 1, projectId: 1 }]);
      const path = "/api/projects/subscribe?include=items(filter:linked.ownerId==guest)";
      const stream = await subscribe(path, { "x-user": "guest" });
      await stream.untilSynced();
      await run("UPDATE links SET gone_at = '2024-01-01T00:00:00.000Z'");
      assertEquals((await stream.take(1)).map(shown), [[7, []]]);
      await run("UPDATE links SET gone_at = NULL, item_id = 2");
      assertEquals((await stream.take(1)).map(shown), [[7, [2]]]);
      await run("DELETE FROM links");
      assertEquals((await stream.take(1)).map(shown), [[7, []]]);
      await stream.close();
    }),
);

testOnEngines(
  "a client that resumes receives what a related row has changed, as it is now",
  (engine) =>
    withItems(engine, async ({ db, subscribe }, run) => {
      await insertRows(db, projects, [{ id: 1, ownerId: "u1" }, { id: 2, ownerId: "u2" }]);
      await insertRows(db, items, [...itemsOf(1, 2), ...itemsOf(2, 1, 3)]);
      const first = await subscribe("/api/items/subscribe", { "x-user": "u2" });
      await first.untilSynced();
      const token = await first.untilToken();
      await first.close();
      await run("UPDATE items SET title = 'CONFIDENTIAL'");
      await run("UPDATE items SET title = 'clean'");
      const back = { "x-user": "u2", "last-event-id": token };
      const second = await subscribe("/api/items/subscribe", back);
      // Its own row only, as it is.
      assertEquals((await second.take(1))[0]?.data.item, { id: 3, title: "clean", projectId: 2 });
      await second.close();
      await run("UPDATE projects SET owner_id = 'u2' WHERE id = 1");
      // Which rows of the project it held is unknown.
      const third = await subscribe("/api/items/subscribe", back);
      const [invalid, existing] = await third.take(2);
      assertEquals(invalid?.data.reason, "relation_overflow");
      assertEquals(existing?.data.items.length, 3);
      assertEquals([second, third].some(({ text }) => text.includes("CONFIDENTIAL")), false);
      // From here on it is known.
      await run("UPDATE projects SET owner_id = 'u1' WHERE id = 2");
      assertEquals(sent(await third.take(1)), ["removed 3"]);
      await third.close();
    }),
);
