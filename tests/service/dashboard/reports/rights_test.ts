import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  and,
  eq,
  integer,
  isNull,
  or,
  policy,
  relations,
  resource,
  table,
  text,
  type User,
} from "../../../../mod.ts";
import { insertRows, testOnEveryEngine } from "../../../support/http.ts";
import { withDashboard } from "./dashboard_service.ts";

const teams = table("teams", { id: integer().primaryKey(), name: text(), secret: text() });
const members = table("members", {
  id: integer().primaryKey(),
  teamId: integer().notNull().as("team_id"),
  userId: text().notNull().as("user_id"),
  role: text(),
});
const ofTeams = relations(teams, {
  members: { type: "hasMany", resource: members, foreignKey: members.teamId },
});
const onTeam = policy(
  teams,
  "on the team, or without a name",
  (user: User) => or(isNull(teams.name), ofTeams.members.some(eq(members.userId, user.id))),
);
const teamAdmin = policy(
  teams,
  "admin of the team",
  (user: User) => ofTeams.members.some(and(eq(members.userId, user.id), eq(members.role, "admin"))),
);

testOnEveryEngine(
  "the rights of a user are shown with policies, numbers of rows, and reasons",
  (engine) =>
    withDashboard(engine, [teams, members], () => ({
      resources: [
        resource(teams, {
          id: teams.id,
          relations: ofTeams,
          auth: {
            read: onTeam,
            update: teamAdmin,
            create: () => eq(teams.secret, "hidden value"),
          },
          fields: { readable: [teams.id, teams.name] },
        }),
        resource(members, { id: members.id, auth: {} }),
      ],
    }), async ({ action, db }) => {
      await insertRows(db, teams, [
        { id: 1, name: "one" },
        { id: 2, name: null },
        { id: 3, name: "three" },
      ]);
      await insertRows(db, members, [
        { id: 1, teamId: 1, userId: "ada", role: "admin" },
        { id: 2, teamId: 3, userId: "ada", role: null },
      ]);
      const ask = async (given: object) => {
        const { status, body } = await action("rights", { resource: "teams", ...given });
        assertEquals(status, 200, JSON.stringify(body));
        return Object.fromEntries(
          body.rights.map((right: { access: string }) => [right.access, right]),
        );
      };
      const ada = await ask({ user: { id: "ada" } });
      assertEquals(
        [ada.read.policy, ada.read.rows, ada.read.count],
        ["on the team, or without a name", "some", 3],
      );
      assertEquals([ada.update.policy, ada.update.count], ["admin of the team", 1]);
      assertStringIncludes(ada.update.condition, 'members.some(userId=="ada";role=="admin")');
      assertEquals([ada.create.policy, ada.create.condition], [null, 'secret=="•••"']);
      assertEquals([ada.delete.rows, ada.subscribe.rows], ["none", "none"]);

      const row = await ask({ user: { id: "ada" }, id: "3" });
      assertEquals([row.read.passes, row.update.passes], [true, false]);
      assertEquals(row.read.terms.map(({ passes }: { passes: boolean }) => passes), [false, true]);

      const anonymous = await ask({ user: null });
      assertEquals([anonymous.read.rows, anonymous.read.policy], ["none", null]);
      assertEquals((await action("rights", { resource: "team", user: null })).status, 400);
      assertEquals(
        (await action("rights", { resource: "teams", user: null, id: "x" })).status,
        400,
      );
      assertEquals((await action("rights", { resource: "teams", user: {} })).status, 400);
    }),
);
