import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  all,
  and,
  eq,
  integer,
  none,
  or,
  policy,
  Problem,
  relations,
  resource,
  table,
  text,
  type User,
} from "../../mod.ts";
import { checkRights, type RightsTable } from "../../exports/testing.ts";
import { engines } from "../support/engines.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";

const teams = table("teams", { id: integer().primaryKey(), name: text() });
const members = table("members", {
  teamId: integer().primaryKey().as("team_id"),
  userId: text().primaryKey().as("user_id"),
  role: text().notNull(),
});
const tasks = table("tasks", {
  id: integer().primaryKey(),
  teamId: integer().notNull().as("team_id").references(() => teams.id),
  title: text().notNull(),
  price: integer(),
  version: integer().notNull().default(1),
});
const traces = table("traces", { id: integer().primaryKey(), what: text().notNull() });
const tables = [teams, members, tasks, traces];

const ofTeams = relations(teams, {
  members: { type: "hasMany", resource: members, foreignKey: members.teamId },
});
const ofTasks = relations(tasks, {
  team: { type: "belongsTo", resource: teams, foreignKey: tasks.teamId },
});
const member = (role?: string) => (user: User) =>
  ofTeams.members.some(
    and(eq(members.userId, user.id), role === undefined ? all() : eq(members.role, role)),
  );
const onTeam = policy(teams, "on the team", member());
const admin = policy(teams, "admin of the team", member("admin"));
const taskOnTeam = policy(tasks, "on its team", (user: User) => ofTasks.team.some(onTeam(user)));
const taskAdmin = policy(tasks, "admin", (user: User) => ofTasks.team.some(admin(user)));

const right = {
  read: taskOnTeam,
  create: taskOnTeam,
  update: taskOnTeam,
  delete: taskAdmin,
  subscribe: taskAdmin,
};
const fields = {
  readable: {
    all: [tasks.id, tasks.teamId, tasks.title, tasks.price],
    by: (user: User | null) =>
      user?.id === "ada"
        ? [tasks.id, tasks.teamId, tasks.title, tasks.price]
        : [tasks.id, tasks.teamId, tasks.title],
  },
  writable: [tasks.teamId, tasks.title],
};

/** The service, in which every write of a task leaves traces by its hooks. */
function config(auth: object = {}, options: object = {}) {
  return () => ({
    resources: [
      resource(teams, { id: teams.id, relations: ofTeams, auth: { read: onTeam, delete: admin } }),
      resource(members, { id: [members.teamId, members.userId], auth: { read: () => all() } }),
      resource(tasks, {
        id: tasks.id,
        relations: ofTasks,
        auth: { ...right, ...auth },
        fields,
        etag: { versionField: tasks.version, require: true },
        hooks: {
          onBeforeCreate: async ({ db }) =>
            void await db.sql`INSERT INTO ${traces} (${traces.what}) VALUES ('create')`,
          onBeforeUpdate: async ({ api }) =>
            void await api.asSystem().of(traces).create({ what: "update" }),
          onAfterDelete: async ({ api }) =>
            void await api.asSystem().of(traces).create({ what: "delete" }),
        },
        ...options,
      }),
      resource(traces, { id: traces.id, auth: {} }),
    ],
  });
}

async function fill({ db }: Service): Promise<void> {
  await insertRows(db, teams, [{ id: 1, name: "one" }, { id: 2, name: "two" }]);
  await insertRows(db, members, [
    { teamId: 1, userId: "ada", role: "admin" },
    { teamId: 1, userId: "bob", role: "member" },
    { teamId: 2, userId: "bob", role: "admin" },
  ]);
  await insertRows(db, tasks, [
    { id: 1, teamId: 1, title: "a", price: 5 },
    { id: 2, teamId: 2, title: "b", price: 6 },
  ]);
}

const users = { ada: { id: "ada" }, bob: { id: "bob" }, eve: { id: "eve" }, anonymous: null };
const nobody = { eve: "", anonymous: "" };

const expected: RightsTable<keyof typeof users> = {
  users,
  rows: {
    "team 1, which has a task": {
      resource: "teams",
      id: 1,
      rights: { ada: "read delete", bob: "read", ...nobody },
    },
    "a membership": {
      resource: "members",
      id: [1, "ada"],
      rights: { ada: "read", bob: "read", eve: "read", anonymous: "" },
    },
    "a task of team 1": {
      resource: "tasks",
      id: 1,
      rights: {
        ada: "read read.price update delete subscribe",
        bob: "read update",
        ...nobody,
      },
    },
    "a task that moves to team 2": {
      resource: "tasks",
      id: 1,
      update: { teamId: 2 },
      rights: {
        ada: "read delete subscribe",
        bob: "read, update",
        ...nobody,
      },
    },
    "another price": {
      resource: "tasks",
      id: 2,
      update: { price: 7 },
      rights: { ada: "", bob: "read delete subscribe", ...nobody },
    },
    "a new task of team 2": {
      resource: "tasks",
      create: { teamId: 2, title: "new" },
      rights: { ada: "", bob: "create", ...nobody },
    },
  },
};

testOnEngines(
  "a table of rights holds, and its check changes nothing",
  (engine) =>
    withService(engine, tables, config(), async (service) => {
      await fill(service);
      const { app, db } = service;
      const stored = async () => {
        const rows = [];
        for (const one of tables) rows.push((await db.sql`SELECT * FROM ${one}`).rows);
        return rows;
      };
      const before = await stored();
      const stream = await service.subscribe("/api/tasks/subscribe", { "x-user": "ada" });
      await stream.untilSynced();
      await checkRights(app, expected);
      assertEquals(await stored(), before);
      // The next event is that of a real change: those before were never committed.
      await app.asSystem().of(tasks).update(1, { title: "changed" }, { ifMatch: "*" });
      const [next] = await stream.take(1);
      assertEquals([next?.type, next?.data.item?.title], [
        "changed",
        "changed",
      ]);
      await stream.close();
    }),
);

/** Scopes with one mistake each, and what the check says. */
const mutants: readonly (readonly [name: string, auth: object, lines: readonly string[]])[] = [
  ["everybody reads", { read: () => all() }, [
    "Rights differ in 4 of 88 places.",
    '"a task of team 1":',
    "  eve: read is permitted, but not expected",
    '"a task that moves to team 2":',
    "  eve: read is permitted, but not expected",
    '"another price":',
    "  ada: read is permitted, but not expected",
    "  eve: read is permitted, but not expected",
  ]],
  ["everybody streams publicly", { public: { subscribe: true } }, [
    "  anonymous: subscribe is permitted, but not expected",
  ]],
  ["members delete", { delete: taskOnTeam }, ["  bob: delete is permitted, but not expected"]],
  ["nobody creates", { create: () => none() }, [
    '"a new task of team 2":',
    "  bob: create is denied, but expected (403 Cannot create: you have no right to)",
  ]],
  ["without a scope", { update: undefined }, [
    "  ada: update is denied, but expected (403 Cannot update: you have no right to)",
  ]],
  ["a role of any team", {
    delete: (user: User) => or(taskAdmin(user), eq(tasks.id, user.id === "bob" ? 1 : -1)),
  }, ["  bob: delete is permitted, but not expected"]],
  ["a scope that throws", {
    delete: () => {
      throw new Error("broken");
    },
  }, ["  ada: delete could not be tried: Error: broken"]],
];

for (const [name, auth, lines] of mutants) {
  Deno.test(`a check of rights finds the mistake: ${name}`, () =>
    withService(engines[0]!, tables, config(auth), async (service) => {
      await fill(service);
      const { message } = await assertRejects(() => checkRights(service.app, expected), Error);
      for (const line of lines) assertStringIncludes(`${message}\n`, `${line}\n`);
    }));
}

Deno.test("a hook that refuses a write denies it", () =>
  withService(
    engines[0]!,
    tables,
    config({}, {
      hooks: {
        onBeforeUpdate: ({ user }: { readonly user: User | null }) => {
          if (user?.id === "bob") throw new Problem("forbidden", "Not today");
        },
      },
    }),
    async (service) => {
      await fill(service);
      const { message } = await assertRejects(() => checkRights(service.app, expected), Error);
      assertStringIncludes(message, "  bob: update is denied, but expected (403 Not today)");
      assert(!message.includes("ada"), message);
    },
  ));

Deno.test("an operation that the resource does not offer is no right", () =>
  withService(engines[0]!, tables, () => ({
    resources: [
      resource(members, {
        id: [members.teamId, members.userId],
        auth: { public: true, update: () => all(), delete: () => all() },
        capabilities: { enableSubscribe: false, enableUpdate: false, enableDelete: false },
      }),
    ],
  }), async (service) => {
    await fill(service);
    const row = { resource: "members", id: [1, "ada"], rights: { anonymous: "read", ada: "read" } };
    const users = { anonymous: null, ada: { id: "ada" } };
    await checkRights(service.app, { users, rows: { row } });
  }));

Deno.test("a row that only GET by id shows is not readable", () => {
  let calls = 0;
  const read = () => eq(tasks.id, calls++ === 0 ? 1 : 2);
  return withService(engines[0]!, tables, config({ read }), async (service) => {
    await fill(service);
    const row = { resource: "tasks", id: 1, rights: { eve: "read" } };
    const table = { users: { eve: { id: "eve" } }, rows: { row } };
    const { message } = await assertRejects(() => checkRights(service.app, table), Error);
    assertStringIncludes(message, "eve: read is denied, but expected (the list does not contain");
  });
});

Deno.test("rows of another database are left as they are", async () => {
  const other = await engines[0]!.open();
  try {
    await other.createTables([teams, tasks]);
    const rows = () => other.sql`SELECT * FROM ${tasks}`;
    await withService(engines[0]!, [traces], () => ({
      resources: [
        resource(traces, { id: traces.id }),
        resource(tasks, {
          id: tasks.id,
          db: other,
          auth: { create: () => all(), update: () => all(), delete: () => all() },
        }),
      ],
    }), async ({ app }) => {
      await insertRows(other, teams, [{ id: 1, name: "one" }]);
      await insertRows(other, tasks, [{ id: 1, teamId: 1, title: "a" }]);
      const before = (await rows()).rows;
      const stored = {
        resource: "tasks",
        id: 1,
        update: { title: "b" },
        rights: { eve: "update delete" },
      };
      const created = {
        resource: "tasks",
        create: { teamId: 1, title: "c" },
        rights: { eve: "create" },
      };
      await checkRights(app, { users: { eve: { id: "eve" } }, rows: { stored, created } });
      assertEquals((await rows()).rows, before);
    });
  } finally {
    await other.close();
  }
});

/** Tables that check nothing, or not what they say. */
const wrongTables: readonly (readonly [name: string, row: object, message: string])[] = [
  [
    "a row that does not exist",
    { resource: "tasks", id: 77, rights: { ann: "" } },
    '"it": There is no row with the id 77 in tasks',
  ],
  [
    "a resource that does not exist",
    { resource: "task", id: 1, rights: { ann: "" } },
    'There is no resource "task". Did you mean "tasks"?',
  ],
  [
    "an unknown operation",
    { resource: "tasks", id: 1, rights: { ann: "read updat" } },
    '"it" has no operation "updat". Did you mean "update"?',
  ],
  [
    "create of a stored row",
    { resource: "tasks", id: 1, rights: { ann: "create" } },
    '"it" has no operation "create": it has read, update, delete, subscribe',
  ],
  [
    "neither a key nor values",
    { resource: "tasks", rights: { ann: "" } },
    '"it" needs either id, of a stored row, or create, for a new one',
  ],
  [
    "an update to the stored value",
    { resource: "tasks", id: 1, update: { title: "a" }, rights: { ann: "" } },
    '"it": update.title is the stored value, so nothing would change',
  ],
  [
    "an invalid new row",
    { resource: "tasks", create: { teamId: "x" }, rights: { ann: "" } },
    "  ann: create could not be tried: 422 Cannot use this body: teamId must be a whole number",
  ],
];

for (const [name, row, message] of wrongTables) {
  Deno.test(`a wrong table of rights is an error: ${name}`, () =>
    withService(engines[0]!, tables, config({ create: () => all() }), async (service) => {
      await fill(service);
      const table: RightsTable<"ann"> = {
        users: { ann: { id: "ann" } },
        // The mistakes that types cannot find.
        rows: { it: row as RightsTable<"ann">["rows"][string] },
      };
      const error = await assertRejects(() => checkRights(service.app, table), Error);
      assertStringIncludes(error.message, message);
    }));
}
