import { z } from "zod";
import {
  all,
  bytes,
  decimal,
  eq,
  integer,
  json,
  none,
  procedure,
  resource,
  type ResourceDefinition,
  table,
  text,
  timestamp,
  type User,
} from "../../mod.ts";
import type { TableLike } from "../../src/schema/table_like.ts";

/** What no description may hold: the names and values of hidden columns begin with it. */
export const secretMark = "zqsecret";

const people = table("people", {
  id: text().primaryKey(),
  name: text({ maxLength: 80 }).notNull(),
  zqsecretSalary: integer().as("zqsecret_salary"),
});

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id").references(() => people.id),
  title: text({ maxLength: 200 }).notNull(),
  status: text({ enum: ["draft", "published"] }).notNull().default("draft"),
  price: decimal({ precision: 8, scale: 2 }),
  picture: bytes(),
  data: json(),
  version: integer().notNull().default(1),
  createdAt: timestamp().notNull().as("created_at"),
  deletedAt: timestamp().as("deleted_at"),
  zqsecretToken: text().as("zqsecret_token"),
});

/** A table that only some users may read, and that others do not know of. */
const audits = table("audits", {
  id: integer().primaryKey(),
  zqsecretLine: text(),
  at: timestamp(),
});

export const describedTables: readonly TableLike<unknown, unknown>[] = [people, notes, audits];

/** Three related resources with hidden columns, rights of every kind and procedures. */
export function describedResources(): readonly ResourceDefinition[] {
  const own = (user: User) => eq(notes.ownerId, user.id);
  return [
    resource(notes, {
      id: notes.id,
      auth: { public: { read: true }, create: own, update: own, delete: own, subscribe: own },
      fields: {
        readable: [
          ...[notes.id, notes.ownerId, notes.title, notes.status, notes.price, notes.picture],
          ...[notes.data, notes.version, notes.createdAt, notes.deletedAt],
        ],
        immutable: [notes.createdAt],
      },
      generatedFields: [notes.ownerId, notes.createdAt],
      etag: { versionField: notes.version },
      softDelete: { field: notes.deletedAt },
      computed: { shout: (row) => row.title.toUpperCase() },
      nestedWrites: true,
      relations: {
        owner: { type: "belongsTo", resource: people, foreignKey: notes.ownerId, filterable: true },
      },
      procedures: {
        publish: procedure({
          input: z.object({ id: z.int(), why: z.string().optional() }),
          output: z.object({ published: z.boolean() }),
          handler: () => ({ published: true }),
        }),
        ping: procedure({
          input: z.date().or(z.null()),
          output: z.literal("pong"),
          public: true,
          handler: () => "pong" as const,
        }),
      },
    }),
    resource(people, {
      id: people.id,
      path: "staff/people",
      auth: { read: () => all() },
      fields: { readable: [people.id, people.name] },
      relations: { notes: { type: "hasMany", resource: notes, foreignKey: notes.ownerId } },
      capabilities: { enableBatch: false, enableAggregations: false },
    }),
    resource(audits, {
      id: audits.id,
      auth: { read: (user: User) => user.id === "root" ? all() : none() },
      fields: { readable: [audits.id, audits.at] },
      capabilities: { enableCreate: false, enableUpdate: false, enableDelete: false },
    }),
  ];
}
