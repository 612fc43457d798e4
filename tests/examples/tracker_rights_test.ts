import { type Tables, trackerService } from "../../examples/tracker/service.ts";
import * as tables from "../../examples/tracker/tables.ts";
import { checkRights } from "../../exports/testing.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";

const { users, teams, memberships, projects, issues, comments, labels, issueLabels }: Tables =
  tables;
const all = [users, teams, memberships, projects, issues, comments, labels, issueLabels];

testOnEngines(
  "the rights of the tracker are those of the roles in its teams",
  (engine) =>
    withService(engine, all, () => trackerService(tables), async ({ app, db }) => {
      const ids = ["ann", "bob", "eve", "zoe"];
      await insertRows(db, users, ids.map((id) => ({ id, name: id, email: `${id}@example.org` })));
      await insertRows(db, teams, [
        ...["Moon", "Mars", "Venus"].map((name, index) => ({ id: index + 1, name })),
      ]);
      await insertRows(db, memberships, [
        { teamId: 1, userId: "ann", role: "admin" },
        { teamId: 1, userId: "bob", role: "member" },
        // An admin elsewhere, who is a member here.
        { teamId: 1, userId: "zoe", role: "member" },
        { teamId: 2, userId: "zoe", role: "admin" },
      ]);
      await insertRows(db, projects, [{ id: 1, teamId: 1, key: "A", name: "Fly" }]);
      await insertRows(db, issues, [{
        ...{ id: 1, projectId: 1, title: "Fuel", state: "open", comments: 0, version: 1 },
        createdAt: "2026-01-01T00:00:00Z",
      }]);
      await insertRows(db, comments, [{ id: 1, issueId: 1, authorId: "bob", body: "Yes" }]);
      const row = (resource: string, id: unknown, ann: string, bob: string, zoe: string) => ({
        ...{ resource, id, rights: { ann, bob, zoe, eve: "", anonymous: "" } },
      });
      const founder = (userId: string) => ({
        resource: "memberships",
        create: { teamId: 3, userId, role: "admin" },
      });
      await checkRights(app, {
        users: {
          ann: { id: "ann" },
          bob: { id: "bob" },
          zoe: { id: "zoe" },
          eve: { id: "eve" },
          anonymous: null,
        },
        rows: {
          "team 1": row("teams", 1, "read update", "read", "read"),
          "a membership of team 1": row("memberships", [1, "bob"], "read", "read", "read"),
          "a project of team 1": row("projects", 1, "read update", "read", "read"),
          "an issue of team 1": row(
            ...["issues", 1, "read update delete subscribe"] as const,
            ...["read update subscribe", "read update subscribe"] as const,
          ),
          "a comment of Bob": row("comments", 1, "read delete", "read delete", "read"),
          "Eve as an admin of team 1": {
            resource: "memberships",
            create: { teamId: 1, userId: "eve", role: "admin" },
            rights: { ann: "create", bob: "", zoe: "", eve: "", anonymous: "" },
          },
          "Eve as the founder of team 3": {
            ...founder("eve"),
            rights: { ann: "", bob: "", zoe: "", eve: "create", anonymous: "" },
          },
        },
      });
    }),
);
