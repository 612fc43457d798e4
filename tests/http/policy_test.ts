import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  and,
  eq,
  inList,
  integer,
  not,
  or,
  policy,
  relations,
  resource,
  type ResourceDefinition,
  rsql,
  table,
  text,
  type User,
} from "../../mod.ts";
import type { Rule } from "../../exports/filter.ts";
import { engines } from "../support/engines.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";

const teams = table("teams", { id: integer().primaryKey(), name: text() });
const members = table("members", {
  id: integer().primaryKey(),
  teamId: integer().notNull().as("team_id"),
  userId: text().notNull().as("user_id"),
  role: text(),
});
const tasks = table("tasks", {
  id: integer().primaryKey(),
  teamId: integer().as("team_id"),
  authorId: text().notNull().as("author_id"),
  status: text(),
});
const tables = [teams, members, tasks];

const ofTeams = relations(teams, {
  members: { type: "hasMany", resource: members, foreignKey: members.teamId },
  tasks: { type: "hasMany", resource: tasks, foreignKey: tasks.teamId },
});
const ofTasks = relations(tasks, {
  team: { type: "belongsTo", resource: teams, foreignKey: tasks.teamId },
});

const onTeam = policy(
  teams,
  "on the team",
  (user: User) => ofTeams.members.some(eq(members.userId, user.id)),
);
const teamAdmin = policy(
  teams,
  "admin of the team",
  (user: User) => ofTeams.members.some(and(eq(members.userId, user.id), eq(members.role, "admin"))),
);
const taskOnTeam = policy(
  tasks,
  "on the team of the task",
  (user: User) => ofTasks.team.some(onTeam(user)),
);
const mayDelete = policy(
  tasks,
  "author or admin",
  (user: User) =>
    or(
      eq(tasks.authorId, user.id),
      and(not(rsql`status==locked`), ofTasks.team.some(teamAdmin(user))),
    ),
);

const everyone = { public: { read: true } } as const;

/** The three resources, some of them with other scopes. */
function served(
  auth: { readonly teams?: object; readonly tasks?: object } = {},
): readonly ResourceDefinition[] {
  return [
    resource(teams, {
      id: teams.id,
      relations: ofTeams,
      auth: { read: onTeam, update: teamAdmin, delete: teamAdmin, ...auth.teams },
    }),
    resource(members, { id: members.id, auth: {} }),
    resource(tasks, {
      id: tasks.id,
      relations: ofTasks,
      auth: { read: taskOnTeam, delete: mayDelete, ...auth.tasks },
    }),
  ];
}

/** Team 1 with ada as its admin, bob as a member; team 2 with bob as its admin. Eve is in no team. */
async function fill({ db }: Service): Promise<void> {
  await insertRows(db, teams, [{ id: 1, name: "one" }, { id: 2, name: null }]);
  await insertRows(db, members, [
    { id: 1, teamId: 1, userId: "ada", role: "admin" },
    { id: 2, teamId: 1, userId: "bob", role: "member" },
    { id: 3, teamId: 2, userId: "bob", role: "admin" },
    { id: 4, teamId: 2, userId: "ada", role: null },
  ]);
  await insertRows(db, tasks, [
    { id: 1, teamId: 1, authorId: "bob", status: "locked" },
    { id: 2, teamId: 1, authorId: "bob", status: null },
    { id: 3, teamId: 2, authorId: "eve", status: "open" },
    { id: 4, teamId: null, authorId: "ada", status: "open" },
  ]);
}

const as = (id: string) => ({ "x-user": id });

testOnEngines(
  "only an admin of the team deletes it, and policies combine along relations",
  (engine) =>
    withService(
      engine,
      tables,
      () => ({ basePath: "/api", resources: served() }),
      async (service) => {
        await fill(service);
        const { get, send } = service;
        const ids = async (path: string, user: string) =>
          (await get(path, as(user))).body.items.map(({ id }: { id: number }) => id);
        assertEquals(await ids("/api/teams?orderBy=id", "ada"), [1, 2]);
        assertEquals(await ids("/api/tasks?orderBy=id", "ada"), [1, 2, 3]);
        assertEquals(await ids("/api/tasks?orderBy=id", "eve"), []);
        // A locked task: its author may, an admin of the team may not.
        assertEquals((await send("DELETE", "/api/tasks/1", undefined, as("ada"))).status, 403);
        assertEquals((await send("DELETE", "/api/tasks/2", undefined, as("ada"))).status, 204);
        assertEquals((await send("DELETE", "/api/tasks/1", undefined, as("bob"))).status, 204);
        assertEquals((await send("DELETE", "/api/teams/1", undefined, as("bob"))).status, 403);
        assertEquals((await send("DELETE", "/api/teams/1", undefined, as("eve"))).status, 404);
        assertEquals((await send("DELETE", "/api/teams/1", undefined, as("ada"))).status, 204);
      },
    ),
);

testOnEngines(
  "two comparisons along one relation may find two rows, and a notice says so once",
  (engine) =>
    withService(engine, tables, () => ({
      basePath: "/api",
      resources: served({
        teams: {
          delete: (user: User) => rsql`members.userId==${user.id};members.role==admin`,
          update: (user: User) =>
            rsql`members.some(userId==${user.id});members.some(role==admin),members.id==1;members.id==2`,
        },
      }),
    }), async (service) => {
      await fill(service);
      const { send, observations } = service;
      await send("PATCH", "/api/teams/1", { name: "x" }, as("bob"));
      assertEquals((await send("DELETE", "/api/teams/1", undefined, as("bob"))).status, 204);
      assertEquals((await send("DELETE", "/api/teams/2", undefined, as("ada"))).status, 204);
      const notices = observations.filter(({ kind }) => kind === "notice");
      assertEquals(notices.map((one) => "message" in one ? one.message : ""), [
        'auth.read of "teams" finds rows of "members" by "teamId", but no index begins with this ' +
        "column: create one",
        'auth.delete of "teams" compares members.userId and members.role of different rows of ' +
        "members; where one row must pass both, write members.some(userId==…;role==…)",
      ]);
    }),
);

/** Each takes a value that is missing, and must grant nothing, however it is negated. */
const missing: readonly ((value: undefined | null) => Rule)[] = [
  (value) => eq(tasks.authorId, value),
  (value) => inList(tasks.authorId, value),
  (value) => inList(tasks.authorId, ["ada", value]),
  (value) => eq(tasks.id, Object(value) === value ? 1 : Number.NaN),
  (value) => rsql`authorId==${value}`,
  (value) => rsql`status==open,authorId!=${value}`,
  (value) => rsql`authorId=in=${value}`,
  (value) => rsql`id==${"not a number"};authorId==${value}`,
  (value) => rsql`status==open;${eq(tasks.authorId, value)}`,
  (value) => ofTasks.team.some(ofTeams.members.some(eq(members.userId, value))),
  (value) => ofTasks.team.some(rsql`members.none(userId==${value})`),
  (value) => rsql`team.members.every(userId==${value})`,
  (value) => or(eq(tasks.status, "open"), eq(tasks.authorId, value)),
];

testOnEngines(
  "a missing value grants no row, under no negation",
  (engine) =>
    withService(engine, tables, () => {
      let shape = 0;
      const shapes: readonly ((rule: Rule) => Rule)[] = [
        (rule) => not(rule),
        (rule) => not(not(rule)),
        (rule) => rsql`not(${rule})`,
        (rule) => rsql`not(id==1000;${rule})`,
        (rule) => ofTasks.team.none(ofTeams.tasks.some(rule)),
        (rule) => ofTasks.team.every(ofTeams.tasks.some(rule)),
        (rule) => rsql`team.every(tasks.none(${rule}))`,
        (rule) => and(eq(tasks.id, 4), not(or(rule, eq(tasks.id, 1000)))),
      ];
      return {
        basePath: "/api",
        resources: served({
          tasks: {
            read: () => {
              const rule = missing[shape % missing.length]!(shape % 2 === 0 ? undefined : null);
              const negated = shapes[Math.floor(shape / missing.length)]!;
              shape++;
              return negated(rule);
            },
          },
        }),
      };
    }, async (service) => {
      await fill(service);
      for (let call = 0; call < missing.length * 8; call++) {
        const { status, body } = await service.get("/api/tasks", as("ada"));
        // Nothing at all is 403; a rule that other terms fill is an empty list.
        assert(status === 403 || status === 200 && body.items.length === 0, `${call} ${status}`);
      }
    }),
);

testOnEngines(
  "an empty list is no missing value: no user is blocked",
  (engine) =>
    withService(engine, tables, () => ({
      basePath: "/api",
      resources: served({ tasks: { read: () => not(inList(tasks.id, [])) } }),
    }), async (service) => {
      await fill(service);
      assertEquals((await service.get("/api/tasks/count", as("ada"))).body.count, 4);
    }),
);

const noRelations = relations(members, {
  team: { type: "belongsTo", resource: teams, foreignKey: members.teamId },
});

/** Scopes that cannot work, and what the start says of each. */
const faults: readonly (readonly [string, object, string])[] = [
  [
    "a misspelt relation in a template",
    { delete: policy(tasks, "author", () => rsql`team.membrs.userId==x`) },
    'auth.delete, policy "author": Cannot filter by "team.membrs.userId" at 0: there is no field of ' +
    'this name to filter by. Did you mean "team.members.userId"?',
  ],
  [
    "a misspelt relation before a quantifier",
    { delete: policy(tasks, "author", () => rsql`team.membrs.some(userId==x)`) },
    'auth.delete, policy "author": Cannot filter by "team.membrs" at 0: there is no relation of ' +
    'this name to filter by. Did you mean "team.members"?',
  ],
  [
    "a misspelt column",
    { delete: policy(tasks, "author", () => rsql`team.some(nam==x)`) },
    'Cannot filter by "nam" at 10: there is no field of this name to filter by. Did you mean "name"?',
  ],
  [
    "an unknown operator",
    { delete: policy(tasks, "author", () => rsql`status=is=x`) },
    'auth.delete, policy "author": Cannot read the filter at 6: unknown operator "=is="',
  ],
  [
    "a value that the column cannot hold, in the text",
    { delete: policy(tasks, "author", () => rsql`id==x`) },
    'auth.delete, policy "author": Cannot filter by "id": "x" must be a whole number',
  ],
  [
    "a relation of another table",
    { delete: policy(tasks, "author", () => ofTeams.members.some() as Rule) },
    'policy "author": "members" is a relation of "teams", not of "tasks"',
  ],
  [
    "a relation that no resource declares",
    {
      delete: policy(
        tasks,
        "author",
        () => ofTasks.team.some(ofTeams.members.some(noRelations.team.some())),
      ),
    },
    'policy "author": Cannot filter by "team": the resource "members" has no relation of this name',
  ],
  [
    "a column of another table",
    { delete: policy(tasks, "author", () => eq(teams.id, 1) as Rule) },
    '"id" is another table\'s column',
  ],
  [
    "a policy about another table",
    { delete: onTeam },
    'auth.delete, policy "on the team": it is about "teams", not about "tasks"',
  ],
  ...(["some", "none", "every"] as const).map((quantifier) =>
    [
      `a missing rule in ${quantifier}`,
      { delete: policy(tasks, "author", () => ofTasks.team[quantifier](undefined as never)) },
      `policy "author": team.${quantifier}() got undefined, not a filter: use a rule such as all()`,
    ] as const
  ),
  [
    "an answer that is no filter",
    { delete: policy(tasks, "author", () => true as unknown as Rule) },
    'auth.delete, policy "author": it answered true, not a filter',
  ],
  [
    "a missing rule in a combination",
    { delete: policy(tasks, "author", () => not(undefined as unknown as Rule)) },
    'auth.delete, policy "author": rule 1 of a combination is undefined, not a filter',
  ],
  [
    "a promise",
    { delete: policy(tasks, "author", () => Promise.resolve(eq(tasks.id, 1)) as unknown as Rule) },
    'auth.delete, policy "author": it must return a filter, not a promise',
  ],
  [
    "a given sample that makes the function throw",
    {
      delete: policy(tasks, "author", ({ roles }: User) => eq(tasks.status, roles![0]!), {
        samples: [{ id: "a", roles: ["x"] }, { id: "b" }],
      }),
    },
    'auth.delete, policy "author": it cannot be tried with sample 2: Cannot read properties of undefined',
  ],
  [
    "a public function",
    { public: { read: () => rsql`stats==open` } },
    'auth.public.read: Cannot filter by "stats" at 0: there is no field of this name to filter by. ' +
    'Did you mean "status"?',
  ],
  [
    "a rule in the place of a value",
    { delete: policy(tasks, "author", () => rsql`status==${eq(tasks.id, 1)}`) },
    "Cannot build the filter: value 1 is a filter in the place of a value",
  ],
  [
    "a value in the place of a rule",
    { delete: policy(tasks, "author", () => rsql`status==open;${{ kind: "all" }}`) },
    "Cannot build the filter: value 1 is a value in the place of a filter",
  ],
];

for (const [name, auth, message] of faults) {
  Deno.test(`the start ends: ${name}`, async () => {
    let started = false;
    try {
      await withService(
        engines[0]!,
        tables,
        () => ({ resources: served({ tasks: auth }) }),
        () => {
          started = true;
          return Promise.resolve();
        },
      );
    } catch (error) {
      assertStringIncludes(String(error), 'Cannot serve "tasks": auth.');
      assertStringIncludes(String(error), message);
    }
    assert(!started, "the app has started");
  });
}

Deno.test("plain functions are tried with the samples of the app", async () => {
  const auth = { delete: (user: User) => rsql`autorId==${user.id}` };
  let message = "";
  try {
    await withService(
      engines[0]!,
      tables,
      () => ({ resources: served({ tasks: auth }), auth: { samples: [{ id: "ann" }] } }),
      () => Promise.resolve(),
    );
  } catch (error) {
    message = String(error);
  }
  assertStringIncludes(message, 'Cannot serve "tasks": auth.delete: Cannot filter by "autorId"');
  assertStringIncludes(message, 'Did you mean "authorId"?');
});

Deno.test("a function that throws with the default sample is a notice", async () => {
  const byRole = policy(tasks, "by role", ({ roles }: User) => inList(tasks.status, [...roles!]));
  await withService(
    engines[0]!,
    tables,
    () => ({ resources: served({ tasks: { delete: byRole } }) }),
    ({ observations }) => {
      const notices = observations.filter(({ kind }) => kind === "notice");
      assertStringIncludes(
        Deno.inspect(notices, { strAbbreviateSize: 1_000 }),
        'auth.delete of "tasks" could not be tried with the user {"id":"sample"}: ',
      );
      return Promise.resolve();
    },
  );
});

Deno.test("a value of a user never becomes a rule or syntax", async () => {
  const values = ["\ufdd00\ufdd0", "1,id>0", "x);(id>0", { kind: "all" }];
  let value: unknown;
  await withService(
    engines[0]!,
    tables,
    () => ({
      basePath: "/api",
      resources: served({
        tasks: { ...everyone, public: { read: () => rsql`authorId==${value}` } },
      }),
    }),
    async (service) => {
      await fill(service);
      for (value of values) {
        const { body, status } = await service.get("/api/tasks");
        assertEquals([status, body.items ?? body.status], status === 200 ? [200, []] : [401, 401]);
      }
    },
  );
});

testOnEngines(
  "code of a caller combines rules, and is held to the caller's fields and relations",
  (engine) =>
    withService(engine, tables, () => ({
      basePath: "/api",
      resources: served(),
    }), async (service) => {
      await fill(service);
      const ada = service.app.as({ id: "ada" }) as unknown as {
        tasks: { list(options: object): Promise<{ items: { id: number }[] }> };
      };
      const listed = async (filter: Rule) =>
        (await ada.tasks.list({ filter, orderBy: "id" })).items.map(({ id }) => id);
      assertEquals(await listed(not(rsql`status==open`)), [1, 2]);
      assertEquals(await listed(and(rsql`id>1`, or(eq(tasks.status, "open"), eq(tasks.id, 2)))), [
        2,
        3,
      ]);
      let refused = "";
      await listed(ofTasks.team.some(eq(teams.id, 1))).catch((error) => refused = String(error));
      assertStringIncludes(refused, 'Cannot filter by "team"');
    }),
);
