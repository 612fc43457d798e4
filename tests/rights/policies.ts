import {
  all,
  and,
  eq,
  inList,
  ne,
  not,
  or,
  policy,
  relations,
  rsql,
  type User,
} from "../../mod.ts";
import type { Rule } from "../../exports/filter.ts";
import {
  blocks,
  comments,
  labels,
  members,
  orgs,
  projects,
  shares,
  taggings,
  tasks,
  teams,
} from "./tables.ts";

const filterable = true;

export const ofOrgs = relations(orgs, {
  teams: { type: "hasMany", resource: teams, foreignKey: teams.orgId, filterable },
});
export const ofTeams = relations(teams, {
  org: { type: "belongsTo", resource: orgs, foreignKey: teams.orgId, filterable },
  members: { type: "hasMany", resource: members, foreignKey: members.teamId, filterable },
  projects: { type: "hasMany", resource: projects, foreignKey: projects.teamId, filterable },
});
export const ofMembers = relations(members, {
  team: { type: "belongsTo", resource: teams, foreignKey: members.teamId, filterable },
});
export const ofProjects = relations(projects, {
  team: { type: "belongsTo", resource: teams, foreignKey: projects.teamId, filterable },
  tasks: { type: "hasMany", resource: tasks, foreignKey: tasks.projectId, filterable },
  blocks: { type: "hasMany", resource: blocks, foreignKey: blocks.projectId, filterable },
});
export const ofBlocks = relations(blocks, {
  project: { type: "belongsTo", resource: projects, foreignKey: blocks.projectId, filterable },
});
export const ofTasks = relations(tasks, {
  project: { type: "belongsTo", resource: projects, foreignKey: tasks.projectId, filterable },
  comments: { type: "hasMany", resource: comments, foreignKey: comments.taskId, filterable },
  shares: { type: "hasMany", resource: shares, foreignKey: shares.taskId, filterable },
  labels: {
    type: "manyToMany",
    resource: labels,
    through: taggings,
    foreignKey: taggings.taskId,
    references: taggings.labelId,
    filterable,
  },
});
export const ofComments = relations(comments, {
  task: { type: "belongsTo", resource: tasks, foreignKey: comments.taskId, filterable },
});
export const ofShares = relations(shares, {
  task: { type: "belongsTo", resource: tasks, foreignKey: shares.taskId, filterable },
});
export const ofLabels = relations(labels, {
  tasks: {
    type: "manyToMany",
    resource: tasks,
    through: taggings,
    foreignKey: taggings.labelId,
    references: taggings.taskId,
    filterable,
  },
});
export const ofTaggings = relations(taggings, {
  task: { type: "belongsTo", resource: tasks, foreignKey: taggings.taskId, filterable },
});

const isRoot = (user: User) => user.id === "root";
/** Adds the exception of each rule: root may access every row. */
const unlessRoot = <Of>(rows: (user: User) => Rule<Of>) => (user: User): Rule<Of> =>
  isRoot(user) ? all() : rows(user);
const samples: readonly User[] = [{ id: "ada" }, { id: "root" }];

const owner = (user: User) => eq(orgs.ownerId, user.id);
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
const teamOwner = policy(
  teams,
  "owner of the team's org",
  (user: User) => rsql`org.some(ownerId==${user.id})`,
);
const orgOfTeam = policy(
  orgs,
  "owner, or on a team of the org",
  unlessRoot((user) => or(owner(user), ofOrgs.teams.some(onTeam(user)))),
  { samples },
);
const teamSeen = policy(
  teams,
  "on the team, or owner of its org",
  unlessRoot((user) => or(onTeam(user), teamOwner(user))),
  { samples },
);
const projectOfTeam = policy(
  projects,
  "of a team of the user, and not blocked",
  (user: User) =>
    and(
      rsql`team.some(${teamSeen(user)})`,
      ofProjects.blocks.none(eq(blocks.userId, user.id)),
    ),
);
const projectAdmin = policy(
  projects,
  "admin of the project's team",
  (user: User) => ofProjects.team.some(teamAdmin(user)),
);
const taskSeen = policy(
  tasks,
  "of a project of a team of the user, or shared",
  unlessRoot((user) =>
    or(
      ofTasks.project.some(projectOfTeam(user)),
      ofTasks.shares.some(eq(shares.userId, user.id)),
    )
  ),
  { samples },
);
const taskAdmin = policy(
  tasks,
  "admin of the task's team",
  (user: User) => rsql`project.some(${projectAdmin(user)})`,
);
const author = (user: User) => eq(tasks.authorId, user.id);
const unlocked = not(eq(tasks.status, "locked"));
const ofAuthor = (user: User) => rsql`task.some(${author(user)})`;

/** The scopes of all resources. The oracle contains the same rules in plain code. */
export const scopes = {
  orgs: {
    read: orgOfTeam,
    create: unlessRoot(owner),
    update: unlessRoot(owner),
    delete: unlessRoot((user) => and(owner(user), ofOrgs.teams.none())),
  },
  teams: {
    read: teamSeen,
    create: unlessRoot(teamOwner),
    update: unlessRoot((user) => and(teamAdmin(user), ofTeams.org.every(eq(orgs.frozen, false)))),
    delete: unlessRoot((user) =>
      and(
        teamOwner(user),
        ofTeams.members.none(and(eq(members.role, "admin"), ne(members.userId, user.id))),
      )
    ),
  },
  members: {
    read: unlessRoot((user) => ofMembers.team.some(onTeam(user))),
    create: unlessRoot((user) => ofMembers.team.some(teamAdmin(user))),
    update: unlessRoot((user) => ofMembers.team.some(teamAdmin(user))),
    delete: unlessRoot((user) =>
      or(eq(members.userId, user.id), rsql`team.some(${teamAdmin(user)})`)
    ),
  },
  projects: {
    read: unlessRoot(projectOfTeam),
    create: unlessRoot(projectAdmin),
    update: unlessRoot((user) =>
      and(projectAdmin(user), ofProjects.blocks.none(eq(blocks.userId, user.id)))
    ),
    delete: unlessRoot((user) =>
      and(projectAdmin(user), ofProjects.tasks.every(eq(tasks.status, "done")))
    ),
  },
  blocks: {
    read: unlessRoot((user) => ofBlocks.project.some(projectAdmin(user))),
    create: unlessRoot((user) => ofBlocks.project.some(projectAdmin(user))),
    delete: unlessRoot((user) => ofBlocks.project.some(projectAdmin(user))),
  },
  tasks: {
    read: taskSeen,
    create: unlessRoot((user) =>
      and(
        author(user),
        ofTasks.project.some(ofProjects.team.some(ofTeams.members.some(
          and(eq(members.userId, user.id), inList(members.role, ["admin", "member"])),
        ))),
      )
    ),
    update: unlessRoot((user) => or(and(author(user), unlocked), taskAdmin(user))),
    delete: unlessRoot((user) => and(unlocked, or(author(user), taskAdmin(user)))),
  },
  comments: {
    read: unlessRoot((user) =>
      or(eq(comments.authorId, user.id), ofComments.task.some(taskSeen(user)))
    ),
    create: unlessRoot<"comments">((user) =>
      rsql`authorId==${user.id};task.some(not(status==locked),${author(user)})`
    ),
    update: unlessRoot((user) => eq(comments.authorId, user.id)),
    delete: unlessRoot((user) =>
      or(eq(comments.authorId, user.id), ofComments.task.some(taskAdmin(user)))
    ),
  },
  shares: {
    read: unlessRoot((user) => or(eq(shares.userId, user.id), ofShares.task.some(author(user)))),
    create: unlessRoot<"shares">(ofAuthor),
    delete: unlessRoot((user) => ofShares.task.some(author(user))),
  },
  labels: { read: () => all() },
  taggings: {
    read: unlessRoot((user) => or(eq(taggings.byId, user.id), ofTaggings.task.some(author(user)))),
    create: unlessRoot((user) => ofTaggings.task.some(author(user))),
    delete: unlessRoot((user) => ofTaggings.task.some(author(user))),
  },
} as const;

export const publicRows = {
  projects: () => eq(projects.isPublic, true),
  tasks: () => ofTasks.project.some(eq(projects.isPublic, true)),
} as const;
