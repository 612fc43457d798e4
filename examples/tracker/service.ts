/**
 * The resources of the tracker. Users see what belongs to their teams; closing an issue leaves a
 * comment; a closed issue does not change until it is opened again.
 */
import {
  all,
  type AppConfig,
  eq,
  Problem,
  procedure,
  resource,
  rsql,
  type User,
} from "@svc/resource-api";
import { z } from "zod";
import type * as declared from "./tables.ts";

/** The tables, declared by `table()` or by Drizzle. */
export type Tables = typeof declared;

export function trackerService(tables: Tables): Pick<AppConfig, "resources" | "changes"> {
  const { users, teams, memberships, projects, issues, comments, labels, issueLabels } = tables;
  const everyUser = () => all();

  // The rows of the user's teams: the filters walk the relations that are declared below.
  const ownTeams = ({ id }: User) => rsql`members.userId==${id}`;
  const ownProjects = ({ id }: User) => rsql`team.members.userId==${id}`;
  const ownIssues = ({ id }: User) => rsql`project.team.members.userId==${id}`;
  const ownComments = ({ id }: User) => rsql`issue.project.team.members.userId==${id}`;

  const closeIssue = procedure({
    input: z.object({ id: z.int(), reason: z.string().min(1) }),
    output: z.object({ state: z.string(), comments: z.int() }),
    // The operations of the service, with the caller's rights, in one transaction.
    handler: ({ api, user }, { id, reason }) =>
      api.transaction(async ({ api }) => {
        await api.of(comments).create({ issueId: id, authorId: user.id, body: reason });
        const { value } = await api.of(issues).update(id, { state: "closed" });
        return { state: value.state, comments: value.comments };
      }),
  });

  return {
    // Streams see each row that a statement of a hook changes, also in tables of Drizzle.
    changes: { mode: "triggers" },
    resources: [
      resource(users, { id: users.id, auth: { read: everyUser, create: everyUser } }),
      resource(teams, {
        id: teams.id,
        auth: { read: ownTeams, create: everyUser },
        relations: {
          members: { type: "hasMany", resource: memberships, foreignKey: memberships.teamId },
          projects: { type: "hasMany", resource: projects, foreignKey: projects.teamId },
        },
        // POST /teams with { members: [{ userId }] } creates both, or neither.
        nestedWrites: true,
      }),
      resource(memberships, {
        id: [memberships.teamId, memberships.userId],
        auth: { read: everyUser, create: everyUser },
      }),
      resource(projects, {
        id: projects.id,
        auth: { read: ownProjects, create: ownProjects, update: ownProjects },
        relations: {
          team: { type: "belongsTo", resource: teams, foreignKey: projects.teamId },
          issues: { type: "hasMany", resource: issues, foreignKey: issues.projectId },
        },
      }),
      resource(issues, {
        id: issues.id,
        auth: {
          read: ownIssues,
          create: ownIssues,
          update: ownIssues,
          delete: ownIssues,
          subscribe: ownIssues,
        },
        fields: {
          writable: [issues.projectId, issues.title, issues.state, issues.assigneeId],
          immutable: [issues.projectId],
        },
        etag: { versionField: issues.version },
        relations: {
          project: {
            type: "belongsTo",
            resource: projects,
            foreignKey: issues.projectId,
            filterable: true,
          },
          assignee: {
            type: "belongsTo",
            resource: users,
            foreignKey: issues.assigneeId,
            filterable: true,
          },
          thread: { type: "hasMany", resource: comments, foreignKey: comments.issueId },
          labels: {
            type: "manyToMany",
            resource: labels,
            through: issueLabels,
            foreignKey: issueLabels.issueId,
            references: issueLabels.labelId,
            filterable: true,
          },
        },
        nestedWrites: true,
        procedures: { close: closeIssue },
        hooks: {
          onBeforeCreate: (_context, { title = "", ...others }) => {
            if (title.trim() === "") {
              throw new Problem("validation-error", "An issue needs a title");
            }
            return { ...others, title: title.trim() };
          },
          onBeforeUpdate: async ({ current }, id, patch) => {
            const { state } = await current();
            if (state === "closed" && patch.state !== "open") {
              throw new Problem("conflict", `Issue ${id} is closed: open it again first`);
            }
          },
          onAfterUpdate: async ({ api, user }, { id, state }) => {
            if (state === "open") return;
            // The hook of comments runs as well, in the same transaction.
            const body = `closed by ${user?.id ?? "the system"}`;
            await api.asSystem().of(comments).create({ issueId: id, authorId: "system", body });
          },
          onBeforeDelete: async ({ current }, id) => {
            const { comments } = await current();
            if (comments > 0) throw new Problem("conflict", `Issue ${id} has comments: close it`);
          },
        },
      }),
      resource(comments, {
        id: comments.id,
        auth: { read: ownComments, create: ownComments, delete: ownComments },
        relations: {
          issue: { type: "belongsTo", resource: issues, foreignKey: comments.issueId },
        },
        hooks: {
          // The number of an issue's comments is right at every moment: it is written with them.
          onAfterCreate: async ({ db }, { issueId }) => {
            await db.sql`UPDATE ${issues} SET ${issues.comments} = ${issues.comments} + 1
              WHERE ${eq(issues.id, issueId)}`;
          },
          onAfterDelete: async ({ db }, _id, { issueId }) => {
            await db.sql`UPDATE ${issues} SET ${issues.comments} = ${issues.comments} - 1
              WHERE ${eq(issues.id, issueId)}`;
          },
        },
      }),
      resource(labels, {
        id: labels.id,
        auth: { read: everyUser, create: everyUser, update: everyUser },
      }),
      resource(issueLabels, {
        id: [issueLabels.issueId, issueLabels.labelId],
        path: "issue-labels",
        auth: { read: everyUser, create: everyUser, delete: everyUser },
      }),
    ],
  };
}
