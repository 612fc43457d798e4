import { assertEquals, assertMatch } from "@std/assert";
import { all, and, createApp, eq, integer, resource, rsql, table, text } from "../../mod.ts";
import { engines } from "../support/engines.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";

// The same column names everywhere, so that a name resolved on the wrong row fails the test.
const people = table("people", {
  id: integer().primaryKey(),
  name: text().notNull(),
  bossId: integer().as("boss_id"),
});
const projects = table("projects", {
  id: integer().primaryKey(),
  name: text().notNull(),
  ownerId: integer().notNull().as("owner_id"),
});
const tasks = table("tasks", {
  id: integer().primaryKey(),
  name: text().notNull(),
  projectId: integer().as("project_id"),
});
const members = table("members", {
  id: integer().primaryKey(),
  projectId: integer().notNull().as("project_id"),
  personId: integer().notNull().as("person_id"),
});

const named = (name: string) => ({ "x-user": name });

testOnEngines(
  "a scope may follow declared relations, to one and to many, into the same table",
  (engine) =>
    withService(engine, [people, projects, tasks, members], () => ({
      resources: [
        resource(people, {
          id: people.id,
          auth: {
            read: (user) => rsql`name==${user.id},boss.name==${user.id},boss.boss.name==${user.id}`,
          },
          relations: {
            boss: { type: "belongsTo", resource: people, foreignKey: people.bossId },
          },
        }),
        resource(projects, {
          id: projects.id,
          auth: { read: (user) => rsql`owner.name==${user.id},people.name==${user.id}` },
          relations: {
            owner: { type: "belongsTo", resource: "people", foreignKey: projects.ownerId },
            tasks: { type: "hasMany", resource: tasks, foreignKey: tasks.projectId },
            people: {
              type: "manyToMany",
              resource: people,
              through: members,
              foreignKey: members.projectId,
              references: members.personId,
            },
          },
        }),
        resource(tasks, {
          id: tasks.id,
          auth: {
            read: (user) => rsql`project.owner.name==${user.id}`,
            update: (user) => rsql`project.owner.name==${user.id}`,
            create: (user) => rsql`project.owner.name==${user.id}`,
            delete: (user) => rsql`project.tasks.name=="key";project.owner.name==${user.id}`,
          },
          relations: {
            project: { type: "belongsTo", resource: projects, foreignKey: tasks.projectId },
          },
        }),
      ],
    }), async ({ db, get, send }) => {
      await insertRows(db, people, [
        { id: 1, name: "ada", bossId: null },
        { id: 2, name: "bob", bossId: 1 },
        { id: 3, name: "cyd", bossId: 2 },
      ]);
      await insertRows(db, projects, [
        { id: 1, name: "ada", ownerId: 2 },
        { id: 2, name: "bob", ownerId: 1 },
      ]);
      await insertRows(db, tasks, [
        { id: 1, name: "key", projectId: 1 },
        { id: 2, name: "bob", projectId: 2 },
        { id: 3, name: "ada", projectId: null },
      ]);
      await insertRows(db, members, [{ id: 1, projectId: 1, personId: 3 }]);
      const ids = async (path: string, name: string) =>
        (await get(path, named(name))).body.items.map(({ id }: { id: number }) => id);

      assertEquals(await ids("/api/people", "ada"), [1, 2, 3]);
      assertEquals(await ids("/api/people", "bob"), [2, 3]);
      assertEquals(await ids("/api/people", "cyd"), [3]);
      assertEquals(await ids("/api/projects", "bob"), [1]);
      assertEquals(await ids("/api/projects", "cyd"), [1]);
      assertEquals(await ids("/api/tasks", "ada"), [2]);
      assertEquals(await ids("/api/tasks", "bob"), [1]);
      assertEquals((await get("/api/tasks/count", named("cyd"))).body, { count: 0 });
      assertEquals((await get("/api/tasks?filter=project.name==ada", named("bob"))).status, 400);

      const moved = await send("PATCH", "/api/tasks/1", { projectId: 2 }, named("bob"));
      assertEquals(moved.status, 403);
      const renamed = await send("PATCH", "/api/tasks/1", { name: "kept" }, named("bob"));
      assertEquals(renamed.status, 200);
      const foreign = await send(
        "POST",
        "/api/tasks",
        { id: 8, name: "x", projectId: 2 },
        named("bob"),
      );
      assertEquals(foreign.status, 403);
      const own = await send(
        "POST",
        "/api/tasks",
        { id: 9, name: "key", projectId: 1 },
        named("bob"),
      );
      assertEquals(own.status, 201);
      assertEquals((await send("DELETE", "/api/tasks/1", undefined, named("bob"))).status, 204);
      assertEquals((await send("DELETE", "/api/tasks/2", undefined, named("ada"))).status, 403);
      assertEquals((await get("/api/tasks/count", named("bob"))).body, { count: 1 });
    }),
);

Deno.test("an invalid relation, and a scope that names one, are errors that name it", async () => {
  const [engine] = engines;
  if (engine === undefined) throw new Error("There is no engine");
  const db = await engine.open();
  try {
    await db.createTables([people, projects]);
    const secret = "a secret for the tests only";
    const create = (relations: Record<string, unknown>) =>
      createApp({
        db,
        secret,
        resources: [
          resource(people, {
            id: people.id,
            auth: { read: () => and(all(), eq(people.id, 1)) },
            // A mistake of an unchecked program.
            relations: relations as never,
          }),
        ],
      }).then(() => "no fault", (error) => error.message);
    assertMatch(
      await create({ name: { type: "belongsTo", resource: people, foreignKey: "bossId" } }),
      /relations\.name: a column has this name/,
    );
    assertMatch(
      await create({ team: { type: "belongsTo", resource: "teams", foreignKey: "bossId" } }),
      /relations\.team: no resource serves the table "teams"/,
    );
    assertMatch(
      await create({ boss: { type: "belongsTo", resource: people, foreignKey: "bosId" } }),
      /relations\.boss: its column is none of "people"/,
    );
  } finally {
    await db.close();
  }
});
