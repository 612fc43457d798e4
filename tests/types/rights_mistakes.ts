/**
 * Mistakes in rights that the compiler reports. Each is code in which `«wrong»«right»` holds the
 * mistake and its correction. The tables, relations and policies of `rightsShared` are there.
 */
export const rightsMistakes: readonly (readonly [name: string, code: string])[] = [
  [
    "a column of another table",
    `policy(teams, "own", (user: User) => eq(«tasks.authorId»«teams.ownerId», user.id));`,
  ],
  [
    "a column of another table inside some",
    `policy(teams, "own", (user: User) =>
      ofTeams.members.some(eq(«tasks.authorId»«members.userId», user.id)));`,
  ],
  [
    "a column of the first table inside some",
    `policy(teams, "own", (user: User) =>
      ofTeams.members.some(eq(«teams.ownerId»«members.userId», user.id)));`,
  ],
  [
    "columns of two tables in one and",
    `policy(teams, "own", (user: User) =>
      ofTeams.members.some(and(eq(members.userId, user.id), eq(«tasks.id»«members.id», 1))));`,
  ],
  [
    "a policy of another table in an or",
    `policy(tasks, "own", (user: User) =>
      or(eq(tasks.authorId, user.id), «onTeam(user)»«ofTasks.team.some(onTeam(user))»));`,
  ],
  [
    "a policy of another table in a not",
    `policy(tasks, "other", (user: User) => not(«onTeam»«ownTask»(user)));`,
  ],
  [
    "a policy of another table as a scope",
    `resource(tasks, { id: tasks.id, auth: { read: «onTeam»«ownTask» } });`,
  ],
  [
    "a policy of another table in a plain scope",
    `resource(tasks, { id: tasks.id, auth: { read: (user) => «onTeam»«ownTask»(user) } });`,
  ],
  [
    "a relation of another table",
    `policy(tasks, "team", () => «ofTeams.members»«ofTasks.team».some());`,
  ],
  [
    "a relation of the related table without the path",
    `policy(tasks, "team", (user: User) =>
      «ofTeams.members.some(eq(members.userId, user.id))»«ofTasks.team.some(onTeam(user))»);`,
  ],
  [
    "a misspelt column",
    `policy(tasks, "own", (user: User) => eq(tasks.«autorId»«authorId», user.id));`,
  ],
  ["a misspelt relation", `policy(tasks, "team", () => ofTasks.«taem»«team».some());`],
  [
    "a rule that may be missing in a quantifier",
    `const ruleFor = (user: User) => user.id === "" ? undefined : eq(members.userId, user.id);
    policy(teams, "team", (user: User) => ofTeams.members.some(ruleFor(user)«»«!»));`,
  ],
  [
    "a misspelt quantifier",
    `policy(teams, "team", () => ofTeams.members.«any»«some»());`,
  ],
  [
    "every without a rule",
    `policy(teams, "team", () => ofTeams.members.every(«»«eq(members.id, 1)»));`,
  ],
  [
    "a value of another kind",
    `policy(tasks, "team", () => eq(tasks.teamId, «"1"»«1»));`,
  ],
  [
    "a role that does not exist",
    `policy(teams, "owner", (user: User) =>
      ofTeams.members.some(and(eq(members.userId, user.id), eq(members.role, "«owner»«admin»"))));`,
  ],
  [
    "a column in place of a value",
    `policy(tasks, "own", (user: User) => eq(tasks.authorId, «members.userId»«user.id»));`,
  ],
  [
    "asynchronous rows",
    `policy(tasks, "own", «async»« » (user: User) => eq(tasks.authorId, user.id));`,
  ],
  ["true instead of a rule", `policy(tasks, "own", () => «true»«all()»);`],
  [
    "a string instead of a template",
    'policy(tasks, "own", (user: User) => «»«rsql»`authorId==${user.id}`);',
  ],
  [
    "a missing return",
    `policy(tasks, "own", (user: User) => { «»«return» eq(tasks.authorId, user.id); });`,
  ],
  [
    "a policy that is not called",
    `policy(tasks, "team", (user: User) => ofTasks.team.some(onTeam«»«(user)»));`,
  ],
  ["a policy without a user", `ofTasks.team.some(onTeam(«»«{ id: "ann" }»));`],
  [
    "a policy without a name",
    `policy(tasks, «»«"own",» (user: User) => eq(tasks.authorId, user.id));`,
  ],
  [
    "a member that users do not have",
    `policy(tasks, "own", (user: User) => eq(tasks.authorId, user.«userId»«id»));`,
  ],
  [
    "samples that are no users",
    `policy(tasks, "own", (user: User) => eq(tasks.authorId, user.id), {
      samples: [{ «name»«id»: "ann" }],
    });`,
  ],
  [
    "a foreign key of another table",
    `relations(teams, {
      tasks: { type: "hasMany", resource: tasks, foreignKey: «members.teamId»«tasks.teamId» },
    });`,
  ],
  [
    "a foreign key on the wrong side",
    `relations(tasks, {
      team: { type: "belongsTo", resource: teams, foreignKey: «teams.id»«tasks.teamId» },
    });`,
  ],
  [
    "an unknown type of a relation",
    `relations(teams, {
      tasks: { type: "«oneToMany»«hasMany»", resource: tasks, foreignKey: tasks.teamId },
    });`,
  ],
  ["a misspelt access", `resource(tasks, { id: tasks.id, auth: { «raed»«read»: ownTask } });`],
  [
    "a user without expected rights",
    `await checkRights(app, {
      users: { ann: { id: "ann" }, eve: { id: "eve" } },
      rows: { task: { resource: "tasks", id: 1, rights: { ann: "read"«»«, eve: ""» } } },
    });`,
  ],
  [
    "expected rights of an unknown user",
    `await checkRights(app, {
      users: { ann: { id: "ann" } },
      rows: { task: { resource: "tasks", id: 1, rights: { ann: "read"«, eve: ""»«» } } },
    });`,
  ],
];

const rightsShared = `
import { createApp, eq, integer, openDatabase, policy, relations, table, text, type User } from "@svc/resource-api";
export const teams = table("teams", { id: integer().primaryKey(), ownerId: text().notNull() });
export const members = table("members", {
  id: integer().primaryKey(),
  teamId: integer().notNull(),
  userId: text().notNull(),
  role: text({ enum: ["admin", "viewer"] }).notNull(),
});
export const tasks = table("tasks", {
  id: integer().primaryKey(),
  teamId: integer().notNull(),
  authorId: text().notNull(),
});
export const ofTeams = relations(teams, {
  members: { type: "hasMany", resource: members, foreignKey: members.teamId },
});
export const ofTasks = relations(tasks, {
  team: { type: "belongsTo", resource: teams, foreignKey: tasks.teamId },
});
export const onTeam = policy(teams, "on the team", (user: User) =>
  ofTeams.members.some(eq(members.userId, user.id)));
export const ownTask = policy(tasks, "own", (user: User) => eq(tasks.authorId, user.id));
export const app = await createApp({ db: await openDatabase("sqlite::memory:"), resources: [] });
`;

const imports =
  'import { all, and, eq, not, or, policy, relations, resource, rsql, type User } from "@svc/resource-api"; ' +
  'import { checkRights } from "@svc/resource-api/testing"; ' +
  'import { app, members, ofTasks, ofTeams, onTeam, ownTask, tasks, teams } from "./shared.ts";\n';

/** A program of all snippets, each in its own file, with the mistakes or with the corrections. */
export function rightsMistakeProgram(text: "$1" | "$2"): Readonly<Record<string, string>> {
  const files = rightsMistakes.map(([, code], index) => [
    `mistake${index}.ts`,
    imports + code.replaceAll(/«([^»]*)»«([^»]*)»/g, text) + "\n",
  ]);
  return { ...Object.fromEntries(files), "shared.ts": rightsShared };
}
