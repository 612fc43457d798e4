import {
  all,
  eq,
  integer,
  json,
  resource,
  type ResourceDefinition,
  table,
  text,
} from "../../mod.ts";
import { databaseSearch } from "../../exports/search.ts";
import type { Engine } from "../support/engines.ts";
import { insertRows, type Service, userHeader, withService } from "../support/http.ts";

const teams = table("teams", {
  id: integer().primaryKey(),
  name: text().notNull(),
  budget: integer(),
});
const people = table("people", {
  id: integer().primaryKey(),
  name: text().notNull(),
  teamId: integer().notNull().as("team_id"),
  status: text().notNull(),
  version: integer().notNull().default(1),
  ownerId: text().notNull().as("owner_id"),
  salary: integer(),
  note: text(),
  ssn: text().unique(),
  mentorId: integer().as("mentor_id"),
  file: json(),
});

/** Who calls, by the fields and the rows that they may see. */
export type Role = "anonymous" | "clerk" | "boss";
const isBoss = (user: { readonly id: string } | null) => user?.id === "boss";
const published = () => eq(people.status, "published");
const own = (user: { readonly id: string }) => isBoss(user) ? all() : eq(people.ownerId, user.id);

const shared = {
  id: people.id,
  auth: {
    public: { read: published, subscribe: published },
    ...{ read: own, subscribe: own, create: own, update: own, delete: own },
  },
  fields: {
    readable: (user: { readonly id: string } | null) => [
      ...[people.id, people.name, people.teamId, people.status],
      ...(user === null ? [] : [people.version, people.ownerId]),
      ...(isBoss(user)
        ? [people.salary, people.note, people.ssn, people.mentorId, people.file]
        : []),
    ],
    writable: (user: { readonly id: string } | null) => [
      ...[people.name, people.teamId, people.status],
      ...(user === null ? [] : [people.ownerId]),
      ...(isBoss(user) ? [people.salary, people.note, people.mentorId] : []),
    ],
    // The explicit lists are narrowed as well.
    filterable: [...Object.values(people)],
    sortable: [...Object.values(people)],
  },
  relations: {
    team: { type: "belongsTo", resource: teams, foreignKey: people.teamId, filterable: true },
    mentor: { type: "belongsTo", resource: people, foreignKey: people.mentorId, filterable: true },
    pupils: { type: "hasMany", resource: people, foreignKey: people.mentorId, filterable: true },
  },
  capabilities: { enableExport: true, enableImport: true },
} as const;

const definitions: readonly ResourceDefinition[] = [
  resource(people, {
    ...shared,
    etag: { versionField: people.version },
    search: { fields: [people.name] },
  }),
  // Its tags are hashes, its search looks in all texts, and its rows are written with others.
  resource(people, {
    ...shared,
    path: "hashed",
    etag: {},
    search: { indexName: "hashed" },
    nestedWrites: true,
    strictInput: true,
    batch: { incrementVersion: true },
  }),
  resource(teams, {
    id: teams.id,
    auth: { public: { read: true }, create: () => all() },
    fields: {
      readable: {
        all: [teams.id, teams.name, teams.budget],
        by: (user) => isBoss(user) ? [teams.id, teams.name, teams.budget] : [teams.id, teams.name],
      },
    },
    relations: {
      people: { type: "hasMany", resource: people, foreignKey: people.teamId, filterable: true },
    },
  }),
];

/** A row whose withheld values differ between the worlds. */
function person(id: number, world: 0 | 1, values: Record<string, unknown>) {
  return {
    ...{ id, name: `n${id % 3}`, teamId: 1 + id % 2, status: "published", version: 3 },
    ownerId: "other",
    salary: world === 0 ? 10 * id : 1_000 - id,
    note: world === 0 ? `apple pie ${id}` : null,
    ssn: `${world}-${id}`,
    mentorId: world === 0 ? 1 : (id % 4) + 1,
    file: { a: world === 0 ? 10 : id, tags: [`tag${world}`] },
    ...values,
  };
}

async function fill({ db }: Service, role: Role, world: 0 | 1): Promise<void> {
  const differs = (from: number) =>
    role === "anonymous"
      ? { version: from + 5 * world, ownerId: world === 0 ? "clerk" : "other" }
      : {};
  await insertRows(
    db,
    teams,
    [1, 2].map((id) => ({ id, name: `t${id}`, budget: id + 50 * world })),
  );
  const draft = { status: "draft", name: `d${world}` };
  await insertRows(db, people, [
    ...[1, 2, 3, 4].map((id) => person(id, world, differs(id))),
    ...(role === "clerk" ? [person(5, world, { status: "draft", ownerId: "clerk" })] : []),
    ...[6, 7 + world, 9 + 2 * world].map((id) => person(id, world, draft)),
  ]);
}

/**
 * Runs `work` over two databases that differ only in what a role may not see: in values that are
 * withheld from it, and in rows outside of its scope.
 */
export async function inBothWorlds(
  engine: Engine,
  role: Role,
  work: (worlds: readonly [Service, Service]) => Promise<void>,
): Promise<void> {
  const within = (world: 0 | 1, inner: (service: Service) => Promise<void>) =>
    withService(
      engine,
      [teams, people],
      () => ({ resources: definitions, search: databaseSearch() }),
      async (service) => {
        await fill(service, role, world);
        await service.app.reindex();
        await inner(service);
      },
    );
  await within(0, (first) => within(1, (second) => work([first, second])));
}

/** The headers of a role. */
export const as = (role: Role): Record<string, string> =>
  role === "anonymous" ? {} : { [userHeader]: role };
