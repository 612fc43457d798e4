import { z } from "zod";
import { all, type AppConfig, procedure, resource, type ResourceDefinition } from "../../mod.ts";
import { databaseSearch } from "../../exports/search.ts";
import * as rules from "./policies.ts";
import {
  blocks,
  comments,
  labels,
  members,
  orgs,
  probes,
  projects,
  shares,
  taggings,
  tasks,
  teams,
} from "./tables.ts";

/** The users who may read and write all columns. */
export const cleared: readonly string[] = ["root", "ada"];
const isCleared = (user: { readonly id: string } | null) =>
  user !== null && cleared.includes(user.id);

/** The work of a hook or a procedure for a caller. */
export type Work = (api: unknown) => Promise<unknown>;

export type Scopes = typeof rules.scopes;

const allows = { enableExport: true, enableImport: true } as const;

/** Columns that some callers may use, and columns that only the cleared ones may. */
const by = <A, B>(listed: readonly A[], withheld: readonly B[]) => ({
  all: [...listed, ...withheld],
  by: (user: { readonly id: string } | null): readonly (A | B)[] =>
    isCleared(user) ? [...listed, ...withheld] : listed,
});

function live<S extends { readonly read: unknown }>(scope: S): S & { subscribe: S["read"] } {
  return { ...scope, subscribe: scope.read };
}

/** Returns the resources of the world. `works` contains the work of its probes by name. */
export function definitions(
  works: Map<string, Work>,
  scopes: Scopes = rules.scopes,
): readonly ResourceDefinition[] {
  const { publicRows } = rules;
  const nested = { capabilities: allows, nestedWrites: true } as const;
  const run = async (api: unknown, name: string) => {
    await works.get(name)?.(api);
  };
  return [
    resource(orgs, { id: orgs.id, ...nested, auth: live(scopes.orgs), relations: rules.ofOrgs }),
    resource(teams, {
      id: teams.id,
      ...nested,
      auth: live(scopes.teams),
      relations: rules.ofTeams,
    }),
    resource(members, {
      ...{ id: members.id, ...nested, auth: live(scopes.members), relations: rules.ofMembers },
    }),
    resource(projects, {
      ...{ id: projects.id, ...nested, relations: rules.ofProjects },
      auth: {
        ...live(scopes.projects),
        public: { read: publicRows.projects, subscribe: publicRows.projects },
      },
      fields: {
        readable: by([projects.id, projects.name, projects.teamId, projects.isPublic], [
          projects.budget,
        ]),
        writable: by([projects.name, projects.teamId, projects.isPublic], [projects.budget]),
      },
    }),
    resource(blocks, {
      ...{ id: blocks.id, ...nested, auth: live(scopes.blocks), relations: rules.ofBlocks },
    }),
    resource(tasks, {
      ...{
        id: tasks.id,
        ...nested,
        relations: rules.ofTasks,
        etag: { versionField: tasks.version },
      },
      auth: {
        ...live(scopes.tasks),
        public: { read: publicRows.tasks, subscribe: publicRows.tasks },
      },
      search: { fields: [tasks.title] },
      fields: {
        readable: by([
          ...[tasks.id, tasks.projectId, tasks.authorId, tasks.title, tasks.status],
          ...[tasks.points, tasks.version],
        ], [tasks.secret]),
        writable: by(
          [tasks.projectId, tasks.authorId, tasks.title, tasks.status, tasks.points],
          [tasks.secret],
        ),
      },
    }),
    resource(comments, {
      ...{ id: comments.id, ...nested, auth: live(scopes.comments), relations: rules.ofComments },
    }),
    resource(shares, {
      ...{ id: shares.id, ...nested, auth: live(scopes.shares), relations: rules.ofShares },
    }),
    resource(labels, {
      ...{ id: labels.id, capabilities: allows, relations: rules.ofLabels },
      auth: { ...live(scopes.labels), public: true },
    }),
    resource(taggings, {
      ...{ id: [taggings.taskId, taggings.labelId], ...nested, relations: rules.ofTaggings },
      auth: live(scopes.taggings),
    }),
    resource(probes, {
      id: probes.id,
      auth: { create: () => all() },
      hooks: { onAfterCreate: ({ api }, { what }) => run(api, what) },
      procedures: {
        run: procedure({
          input: z.string(),
          output: z.null(),
          handler: async ({ api }, name) => (await run(api, name), null),
        }),
      },
    }),
  ];
}

/** Returns the configuration of the world. Wrong scopes show that the matrix finds faults. */
export function worldConfig(works: Map<string, Work>, scopes?: Scopes): Omit<AppConfig, "db"> {
  return {
    resources: definitions(works, scopes),
    search: databaseSearch(),
    mcp: { write: true },
    adminUI: true,
    subscribe: { maxPerUser: 1_000, maxPerAddress: 10_000 },
  };
}
