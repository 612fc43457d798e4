import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  all,
  and,
  eq,
  integer,
  like,
  not,
  or,
  policy,
  relations,
  resource,
  rsql,
  table,
  text,
  type User,
} from "../../mod.ts";
import { engines } from "../support/engines.ts";
import { withService } from "../support/http.ts";

const teams = table("teams", { id: integer().primaryKey(), name: text() });
const members = table("members", {
  id: integer().primaryKey(),
  teamId: integer().notNull(),
  userId: text().notNull(),
  role: text({ enum: ["admin", "viewer"] }),
});
const tasks = table("tasks", {
  id: integer().primaryKey(),
  teamId: integer(),
  authorId: text().notNull(),
  status: text(),
});
const ofTeams = relations(teams, {
  members: { type: "hasMany", resource: members, foreignKey: members.teamId },
});
const ofTasks = relations(tasks, {
  team: { type: "belongsTo", resource: teams, foreignKey: tasks.teamId },
});
const undeclared = relations(members, {
  team: { type: "belongsTo", resource: teams, foreignKey: members.teamId },
});
const onTeam = policy(
  teams,
  "on the team",
  (user: User) => ofTeams.members.some(eq(members.userId, user.id)),
);

type Rows = (user: User) => unknown;

/** A policy that the compiler would refuse. */
const author = (rows: Rows, samples?: readonly User[]) => ({
  delete: policy(tasks, "author", rows as () => never, samples === undefined ? {} : { samples }),
});

/** Hides a mistake from the compiler. */
const any = (rule: unknown) => rule as never;

const inPolicy = 'Cannot serve "tasks": auth.delete, policy "author": ';

/** Mistakes in the rights of tasks, and the message with which the start ends. */
const mistakes: readonly (readonly [name: string, auth: object, message: string])[] = [
  [
    "a misspelt path",
    author(() => rsql`team.membrs.userId==x`),
    `${inPolicy}Cannot filter by "team.membrs.userId" at 0: there is no field of this name to ` +
    'filter by. Did you mean "team.members.userId"?',
  ],
  [
    "a misspelt relation before a quantifier",
    author(() => rsql`team.membrs.some(userId==x)`),
    `${inPolicy}Cannot filter by "team.membrs" at 0: there is no relation of this name to filter ` +
    'by. Did you mean "team.members"?',
  ],
  [
    "a misspelt column inside a quantifier",
    author(() => rsql`team.members.some(rol==admin)`),
    `${inPolicy}Cannot filter by "rol" at 18: there is no field of this name to filter by. Did you ` +
    'mean "role"?',
  ],
  [
    "a quantifier of a column",
    author(() => rsql`status.some(id==1)`),
    `${inPolicy}Cannot filter by "status" at 0: there is no relation of this name to filter by`,
  ],
  [
    "an unknown operator",
    author(() => rsql`status=is=open`),
    `${inPolicy}Cannot read the filter at 6: unknown operator "=is=". Did you mean "=in="?`,
  ],
  [
    "an operator with one sign",
    author(() => rsql`authorId=ada`),
    `${inPolicy}Cannot read the filter at 8: expected an operator, got "=ada"; use ==, or a name ` +
    "between two =, as in =in=",
  ],
  [
    "an operator for another kind in a template",
    author(() => rsql`id=contains=x`),
    `${inPolicy}Cannot filter by "id": "=contains=" does not fit its kind, integer`,
  ],
  [
    "an operator for another kind in code",
    author(() => like(any(tasks.id), "a%")),
    `${inPolicy}Cannot filter by "id": %= does not fit the kind integer`,
  ],
  [
    "a value of another kind",
    author(() => rsql`id==x`),
    `${inPolicy}Cannot filter by "id": "x" must be a whole number`,
  ],
  [
    "a role that does not exist, in a template",
    author(() => rsql`team.members.some(role==owner)`),
    `${inPolicy}"role" is never "owner": use one of admin, viewer`,
  ],
  [
    "a role that does not exist, in code",
    author(() => not(ofTasks.team.some(ofTeams.members.some(eq(members.role, any("owner")))))),
    `${inPolicy}"role" is never "owner": use one of admin, viewer`,
  ],
  [
    "an open parenthesis",
    author(() => rsql`team.some(name==x`),
    `${inPolicy}Cannot read the filter at 17: expected ";", "," or ")" for the "(" at 9, got the end`,
  ],
  [
    "a value inside quotes",
    author(({ id }) => rsql`authorId=="${id}"`),
    `${inPolicy}Cannot build the filter: value 1 stands inside quotes: "\${…}"`,
  ],
  [
    "a value in place of a name",
    author(({ id }) => rsql`${id}==1`),
    `${inPolicy}Cannot read the filter at 0: expected a field, got "\${…}==1"`,
  ],
  [
    "a rule in place of a value",
    author(() => rsql`status==${eq(tasks.id, 1)}`),
    `${inPolicy}Cannot build the filter: value 1 is a filter in the place of a value`,
  ],
  [
    "a value in place of a rule",
    author(({ id }) => rsql`status==open;${id}`),
    `${inPolicy}Cannot build the filter: value 1 is a value in the place of a filter`,
  ],
  [
    "a relation of another table",
    author(() => ofTeams.members.some()),
    `${inPolicy}"members" is a relation of "teams", not of "tasks": use it inside a relation to ` +
    '"teams"',
  ],
  [
    "a relation that no resource declares",
    author(() => ofTasks.team.some(ofTeams.members.some(undeclared.team.some()))),
    `${inPolicy}Cannot filter by "team": the resource "members" has no relation of this name to ` +
    "filter by",
  ],
  [
    "a column of another table",
    author(() => eq(teams.id, 1)),
    `${inPolicy}"id" is another table's column: use columns of "tasks" or a relation`,
  ],
  [
    "a column of another table inside some",
    author(() => ofTasks.team.some(any(eq(tasks.id, 1)))),
    `${inPolicy}"id" is another table's column: use columns of "teams" or a relation`,
  ],
  [
    "columns of two tables in one and",
    author(() => and(eq(tasks.id, 1), any(eq(members.id, 1)))),
    `${inPolicy}"id" is another table's column: use columns of "tasks" or a relation`,
  ],
  [
    "a policy of another table as a scope",
    { delete: onTeam },
    'Cannot serve "tasks": auth.delete, policy "on the team": it is about "teams", not about ' +
    '"tasks": use it inside a relation to "teams", or name the table of the resource',
  ],
  [
    "a policy of another table in a public scope",
    { public: { read: onTeam } },
    'Cannot serve "tasks": auth.public.read, policy "on the team": it is about "teams", not about ' +
    '"tasks": use it inside a relation to "teams", or name the table of the resource',
  ],
  [
    "a policy of another table in an or",
    author((user) => or(any(eq(tasks.authorId, user.id)), onTeam(user))),
    `${inPolicy}policy "on the team": it is about "teams", not about "tasks": use it inside a ` +
    'relation to "teams", or name the table of the resource',
  ],
  [
    "a policy with a misspelt table",
    { delete: policy("taks", "author", () => rsql`id==1`) },
    `${inPolicy}it is about "taks", not about "tasks": use it inside a relation to "taks", or name ` +
    "the table of the resource",
  ],
  [
    "asynchronous rows",
    author(() => Promise.resolve(all())),
    `${inPolicy}it must return a filter, not a promise: load the data when you authenticate the user`,
  ],
  [
    "true instead of a rule",
    author(() => true),
    `${inPolicy}it answered true, not a filter: use a rule such as all()`,
  ],
  [
    "a missing return",
    author(() => undefined),
    `${inPolicy}it answered undefined, not a filter: use a rule such as all()`,
  ],
  [
    "a string instead of a template",
    author(({ id }) => `authorId==${id}`),
    `${inPolicy}it answered a string, not a filter: use a rule such as all()`,
  ],
  [
    "a policy that is not called",
    author(() => ofTasks.team.some(any(onTeam))),
    `${inPolicy}team.some() got a function, not a filter: call it with the user`,
  ],
  [
    "true inside a quantifier",
    author(() => ofTasks.team.some(any(true))),
    `${inPolicy}team.some() got true, not a filter: use a rule such as all()`,
  ],
  [
    "a sample without a member that the function needs",
    author(({ roles }) => eq(tasks.status, roles![0]!), [{ id: "a", roles: ["x"] }, { id: "b" }]),
    `${inPolicy}it cannot be tried with sample 2: Cannot read properties of undefined (reading ` +
    "'0'); change the function or the samples",
  ],
  [
    "a misspelt access",
    { raed: onTeam },
    'Cannot serve "tasks": auth has no option "raed": did you mean "read"?',
  ],
];

async function startWith(auth: object, started: (notices: string) => void): Promise<void> {
  await withService(engines[0]!, [teams, members, tasks], () => ({
    resources: [
      resource(teams, { id: teams.id, relations: ofTeams, auth: {} }),
      resource(members, { id: members.id, auth: {} }),
      resource(tasks, { id: tasks.id, relations: ofTasks, auth }),
    ],
  }), ({ observations }) => {
    started(Deno.inspect(observations, { strAbbreviateSize: 1_000 }));
    return Promise.resolve();
  });
}

for (const [name, auth, message] of mistakes) {
  Deno.test(`the start ends with a remedy: ${name}`, async () => {
    const fault = await startWith(auth, () => {}).then(() => "started", ({ message }) => message);
    assertEquals(fault, message);
  });
}

Deno.test("relations that were declared for another table end the start", async () => {
  const resources = [resource(tasks, { id: tasks.id, relations: ofTeams })];
  const started = withService(engines[0]!, [tasks], () => ({ resources }), () => Promise.resolve());
  const fault = await started.then(() => "started", ({ message }) => message);
  assertEquals(
    fault,
    'Cannot relate "tasks" by relations.members: relations() declared it for "teams"',
  );
});

Deno.test("a policy without samples that throws for the default user is a notice", async () => {
  let notices = "";
  const auth = author(({ roles }) => eq(tasks.status, roles![0]!));
  await startWith(auth, (observed) => notices = observed);
  assertStringIncludes(notices, 'auth.delete of "tasks" could not be tried with the user');
  assertStringIncludes(notices, "give it samples");
});

Deno.test("an empty list of samples, and a policy without a name, are errors", () => {
  const named = (name: string, samples: readonly User[]) => () =>
    policy(tasks, name, () => all(), { samples });
  assertThrows(named("author", []), Error, 'policy "author": samples is empty');
  assertThrows(named(" ", [{ id: "a" }]), Error, "Cannot make a policy: its name is");
});

Deno.test("docs/rights.md shows messages as they are", () => {
  const guide = Deno.readTextFileSync(new URL("../../docs/rights.md", import.meta.url));
  const section = guide.split("## Which mistakes the start finds")[1]?.split("\n## ")[0] ?? "";
  const shown = [...section.matchAll(/^```\n([^]*?)\n```$/gm)].map(([, text = ""]) =>
    text.replaceAll("\n  ", " ")
  );
  assert(shown.length >= 8, "messages are found");
  assertEquals(shown.filter((text) => !mistakes.some(([, , message]) => message === text)), []);
});
