/**
 * The resources of the tracker. Users see the rows of their teams, and admins of a team manage its
 * members and projects. Closing an issue leaves a comment; a closed issue does not change until it
 * is opened again.
 */
import {
  all,
  and,
  type AppConfig,
  eq,
  or,
  policy,
  Problem,
  procedure,
  relations,
  resource,
  type User,
} from "@svc/resource-api";
import { z } from "zod";
import type * as declared from "./tables.ts";

/** The tables, declared by `table()` or by Drizzle. */
export type Tables = typeof declared;

export function trackerService(tables: Tables): Pick<AppConfig, "resources" | "changes"> {
  const { users, teams, memberships, projects, issues, comments, labels, issueLabels } = tables;
  const everyUser = () => all();

  const ofTeams = relations(teams, {
    members: { type: "hasMany", resource: memberships, foreignKey: memberships.teamId },
    projects: { type: "hasMany", resource: projects, foreignKey: projects.teamId },
  });
  const ofMemberships = relations(memberships, {
    team: { type: "belongsTo", resource: teams, foreignKey: memberships.teamId },
  });
  const ofProjects = relations(projects, {
    team: { type: "belongsTo", resource: teams, foreignKey: projects.teamId },
    issues: { type: "hasMany", resource: issues, foreignKey: issues.projectId },
  });
  const ofIssues = relations(issues, {
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
  });
  const ofComments = relations(comments, {
    issue: { type: "belongsTo", resource: issues, foreignKey: comments.issueId },
  });

  // The role and the user are conditions on one membership.
  const member = policy(
    teams,
    "member of the team",
    ({ id }: User) => ofTeams.members.some(eq(memberships.userId, id)),
  );
  const admin = policy(
    teams,
    "admin of the team",
    ({ id }: User) =>
      ofTeams.members.some(and(eq(memberships.userId, id), eq(memberships.role, "admin"))),
  );
  const colleague = policy(
    memberships,
    "member of the same team",
    (user: User) => ofMemberships.team.some(member(user)),
  );
  // The first member of a new team adds itself. Later, admins add members.
  const enroller = policy(memberships, "admin, or founder of the team", (user: User) =>
    or(
      ofMemberships.team.some(admin(user)),
      and(eq(memberships.userId, user.id), ofMemberships.team.some(ofTeams.members.none())),
    ));
  const projectMember = policy(
    projects,
    "member of the team of the project",
    (user: User) => ofProjects.team.some(member(user)),
  );
  const projectAdmin = policy(
    projects,
    "admin of the team of the project",
    (user: User) => ofProjects.team.some(admin(user)),
  );
  const issueMember = policy(
    issues,
    "member of the team of the issue",
    (user: User) => ofIssues.project.some(projectMember(user)),
  );
  const issueAdmin = policy(
    issues,
    "admin of the team of the issue",
    (user: User) => ofIssues.project.some(projectAdmin(user)),
  );
  const commentMember = policy(
    comments,
    "member of the team of the comment",
    (user: User) => ofComments.issue.some(issueMember(user)),
  );
  const commentOwner = policy(comments, "author, or admin of the team", (user: User) =>
    or(
      and(eq(comments.authorId, user.id), commentMember(user)),
      ofComments.issue.some(issueAdmin(user)),
    ));

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
        auth: { read: member, create: everyUser, update: admin },
        relations: ofTeams,
        // POST /teams with { members: [{ userId, role: "admin" }] } creates both, or neither.
        nestedWrites: true,
      }),
      resource(memberships, {
        id: [memberships.teamId, memberships.userId],
        relations: ofMemberships,
        auth: { read: colleague, create: enroller },
      }),
      resource(projects, {
        id: projects.id,
        relations: ofProjects,
        auth: { read: projectMember, create: projectAdmin, update: projectAdmin },
      }),
      resource(issues, {
        id: issues.id,
        auth: {
          read: issueMember,
          create: issueMember,
          update: issueMember,
          delete: issueAdmin,
          subscribe: issueMember,
        },
        fields: {
          writable: [issues.projectId, issues.title, issues.state, issues.assigneeId],
          immutable: [issues.projectId],
        },
        etag: { versionField: issues.version },
        relations: ofIssues,
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
        auth: { read: commentMember, create: commentMember, delete: commentOwner },
        relations: ofComments,
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
