import { all, eq, inList, isNull } from "../../../../src/filter/builders.ts";
import { rsql } from "../../../../src/filter/filter_text.ts";
import { type Filter, or } from "../../../../src/filter/filter.ts";
import {
  resource,
  type ResourceDefinition,
} from "../../../../src/resource/define/resource_definition.ts";
import {
  bigint,
  boolean,
  bytes,
  date,
  decimal,
  integer,
  json,
  real,
  text,
  timestamp,
  uuid,
} from "../../../../src/schema/column_builder.ts";
import { table } from "../../../../src/schema/table.ts";
import { tableInfoOf } from "../../../../src/schema/table_like.ts";
import { hiddenMark } from "../../../support/http.ts";
import type { Database } from "../../../../src/db/database.ts";

/** A column of every kind, a mark of deletion, and a hidden one. */
export const things = table("things", {
  id: integer().primaryKey(),
  ownerId: text().as("owner_id"),
  name: text(),
  title: text(),
  age: integer(),
  big: bigint(),
  score: real(),
  price: decimal({ precision: 14, scale: 2 }),
  ok: boolean(),
  at: timestamp(),
  day: date(),
  ref: uuid(),
  data: json(),
  file: bytes(),
  version: integer().notNull().default(1),
  deletedAt: timestamp().as("deleted_at"),
  secret: text(),
});

/** Rows that belong to those, and go with them. */
export const parts = table("parts", {
  code: text().primaryKey(),
  thingId: integer().as("thing_id"),
  label: text(),
});

/** Their descriptions. */
export const tables = { things: tableInfoOf(things), parts: tableInfoOf(parts) };

/** Which resource a client follows. */
export type Place = keyof typeof tables;

/** Who calls. `root` may see everything. */
export const users = ["ada", "bob", "root"] as const;
export type UserName = typeof users[number];

/** Whose rows each user may see beside those without an owner. May change while streams are open. */
export type Grants = Map<UserName, readonly string[]>;

/** As every user begins. */
export function firstGrants(): Grants {
  return new Map([["ada", ["ada"]], ["bob", ["bob"]]]);
}

/** What stands in rows that a transaction takes back. */
export const undoneMark = "undone-";

/** A value for the hidden column. */
export function hiddenValue(text: string): string {
  return `${hiddenMark}${text}`;
}

/** Makes the tables; the rows of one go with those of the other. */
export async function createWorld(db: Database): Promise<void> {
  await db.createTables([things]);
  const [key, number] = db.dialect.engine === "sqlite" ? ["TEXT", "INTEGER"] : [
    'TEXT COLLATE "C"',
    "bigint",
  ];
  await db.driver.query({
    text: `CREATE TABLE parts (
      code ${key} NOT NULL PRIMARY KEY,
      thing_id ${number} REFERENCES things (id) ON DELETE CASCADE ON UPDATE CASCADE,
      label TEXT
    )`,
    values: [],
  });
}

/** The rows of the things that a user may see now. */
export function thingsScope(user: string, grants: Grants): Filter {
  // Users of requests are these.
  const owners = grants.get(user as UserName);
  if (owners === undefined) return all();
  const own = owners.length === 1
    ? eq(things.ownerId, owners[0])
    : inList(things.ownerId, [...owners]);
  return or(own, isNull(things.ownerId));
}

/** How the tables are served. */
export function definitions(grants: Grants): readonly ResourceDefinition[] {
  const { secret: _secret, deletedAt: _deletedAt, ...shown } = columnsOf();
  const writers = { create: () => all(), update: () => all(), delete: () => all() };
  return [
    resource(things, {
      id: things.id,
      auth: {
        ...writers,
        read: ({ id }) => thingsScope(id, grants),
        subscribe: ({ id }) => thingsScope(id, grants),
      },
      fields: { readable: Object.values(shown) },
      computed: { summary: (row) => `${row.secret?.length ?? "none"} ${row.title}` },
      etag: { versionField: things.version },
      softDelete: { field: things.deletedAt },
    }),
    resource(parts, {
      id: parts.code,
      auth: {
        ...writers,
        read: (user) => partsScope(user.id),
        subscribe: (user) => partsScope(user.id),
      },
      relations: { thing: { type: "belongsTo", resource: things, foreignKey: parts.thingId } },
    }),
  ];
}

function columnsOf() {
  const { id, ownerId, name, title, age, big, score, price, ok, at, day, ref } = things;
  const { data, file, version, deletedAt, secret } = things;
  return {
    ...{ id, ownerId, name, title, age, big, score, price, ok, at, day, ref },
    ...{ data, file, version, deletedAt, secret },
  };
}

/** It walks, so that a change of a thing brings parts and takes them. */
function partsScope(user: string) {
  return user === "root" ? all() : rsql`thing.ownerId==${user}`;
}
