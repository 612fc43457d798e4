/** The service of `rights_bench.ts`: one table of tasks with several scopes, each at its own path. */
import {
  all,
  and,
  eq,
  index,
  integer,
  openDatabase,
  policy,
  relations,
  resource,
  rsql,
  serve,
  table,
  text,
  type User,
} from "../mod.ts";

export const teams = table("teams", { id: integer().primaryKey(), name: text().notNull() });
export const members = table("members", {
  id: integer().primaryKey(),
  teamId: integer().notNull().as("team_id"),
  userId: text().notNull().as("user_id"),
  role: text().notNull(),
}, (t) => [index(t.teamId, t.userId)]);
export const tasks = table("tasks", {
  id: integer().primaryKey(),
  teamId: integer().notNull().as("team_id"),
  title: text().notNull(),
}, (t) => [index(t.teamId)]);

const ofTeams = relations(teams, {
  members: { type: "hasMany", resource: members, foreignKey: members.teamId },
});
const ofTasks = relations(tasks, {
  team: { type: "belongsTo", resource: teams, foreignKey: tasks.teamId },
});
const twoSteps = policy(
  tasks,
  "on the team",
  (user: User) => ofTasks.team.some(ofTeams.members.some(eq(members.userId, user.id))),
);
const oneGroup = (user: User) =>
  ofTasks.team.some(ofTeams.members.some(
    and(eq(members.userId, user.id), eq(members.role, "admin")),
  ));
const twoRows = (user: User) => rsql`team.members.userId==${user.id};team.members.role==${"admin"}`;

/** The scopes of the tasks, by path. */
export const scopes = { open: () => all(), policy: twoSteps, group: oneGroup, rows: twoRows };

if (import.meta.main) {
  const db = await openDatabase(Deno.args[0] ?? "");
  const server = await serve({
    db,
    port: 0,
    secret: "sixteen or more characters",
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "user 7" });
        await next();
      },
    },
    resources: [
      resource(teams, { id: teams.id, relations: ofTeams, auth: {} }),
      resource(members, { id: members.id, auth: {} }),
      ...Object.entries(scopes).map(([path, read]) =>
        resource(tasks, { id: tasks.id, path, relations: ofTasks, auth: { read } })
      ),
    ],
  });
  console.log(server.port);
}
