import { assertEquals } from "@std/assert";
import { all } from "../../src/filter/builders.ts";
import { rsql } from "../../src/filter/filter_text.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { EventStream } from "../support/event_stream.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";

// The same column names in both, so that a name taken from the wrong row shows.
const projects = table("projects", {
  id: integer().primaryKey(),
  name: text().notNull(),
  ownerId: text().as("owner_id"),
});
const tasks = table("tasks", {
  id: integer().primaryKey(),
  name: text().notNull(),
  projectId: integer().as("project_id"),
});

testOnEngines(
  "a scope may read other rows, whose changes are sent only for the rows that they concern",
  (engine) =>
    withService(engine, [projects, tasks], () => ({
      resources: [
        resource(projects, { id: projects.id, auth: { read: () => all() } }),
        resource(tasks, {
          id: tasks.id,
          auth: { subscribe: (user) => rsql`project.ownerId==${user.id}` },
          relations: {
            project: { type: "belongsTo", resource: projects, foreignKey: tasks.projectId },
          },
        }),
      ],
    }), async ({ db, subscribe }) => {
      const run = async (text: string) => {
        await db.driver.query({ text, values: [] });
      };
      await insertRows(db, projects, [
        { id: 1, name: "p", ownerId: "ada" },
        { id: 2, name: "p", ownerId: "bob" },
      ]);
      await insertRows(db, tasks, [
        { id: 1, name: "a", projectId: 1 },
        { id: 2, name: "b", projectId: 2 },
      ]);
      const [ada, bob] = await Promise.all(
        ["ada", "bob"].map((user) => subscribe("/api/tasks/subscribe", { "x-user": user })),
      );
      if (ada === undefined || bob === undefined) throw new Error("unreachable");
      const ids = (event: { data: { items: readonly { id: number }[] } } | undefined) =>
        event?.data.items.map(({ id }) => id);
      assertEquals([ids((await ada.untilSynced())[0]), ids((await bob.untilSynced())[0])], [[1], [
        2,
      ]]);

      const types = async (stream: EventStream, count: number) =>
        (await stream.take(count)).map(({ type }) => type);
      // Each is waited for: a row is sent as it is, so that later writes may replace an event.
      await run("UPDATE tasks SET name = 'c' WHERE id = 2");
      assertEquals(await types(bob, 1), ["changed"]);
      await run("UPDATE tasks SET project_id = 1 WHERE id = 2");
      assertEquals([await types(bob, 1), await types(ada, 1)], [["removed"], ["added"]]);
      await run("UPDATE tasks SET project_id = NULL WHERE id = 1");
      assertEquals(await types(ada, 1), ["removed"]);

      // Neither the name of a project nor another's project makes a difference to any stream.
      await run("UPDATE projects SET name = 'q'");
      await run("INSERT INTO projects (id, name, owner_id) VALUES (3, 'p', 'eve')");
      await run(
        "UPDATE projects SET owner_id = CASE id WHEN 1 THEN 'bob' ELSE 'ada' END WHERE id < 3",
      );
      assertEquals((await ada.take(1)).map(({ type, data }) => [type, data.id]), [["removed", 2]]);
      assertEquals((await bob.take(1)).map(({ type, data }) => [type, data.item]), [
        ["added", { id: 2, name: "c", projectId: 1 }],
      ]);
      await run("UPDATE tasks SET name = 'd' WHERE id = 2");
      assertEquals((await bob.take(1)).map(({ data }) => data.item.name), ["d"]);
      await ada.close();
      await bob.close();
    }),
);
