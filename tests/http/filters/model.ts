/** What the oracle knows of the tables of the check, written for it alone. */

export type Kind = "text" | "integer" | "boolean" | "date" | "json";
export type Value = string | number | boolean;

export interface ModelColumn {
  readonly db: string;
  readonly kind: Kind;
}

/** Pairs of columns in the database that are equal. */
export type Pairs = readonly (readonly [string, string])[];

export interface ModelRelation {
  readonly to: TableName;
  /** From the row to the related row, or to the link. */
  readonly on: Pairs;
  readonly via?: { readonly table: TableName; readonly on: Pairs };
}

export interface ModelTable {
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, ModelColumn>>;
  readonly relations: Readonly<Record<string, ModelRelation>>;
}

export const tableNames = [
  "people",
  "orgs",
  "badges",
  "posts",
  "tags",
  "post_tags",
  "memberships",
] as const;
export type TableName = typeof tableNames[number];

const text = (db: string): ModelColumn => ({ db, kind: "text" });
const integer = (db: string): ModelColumn => ({ db, kind: "integer" });
const boolean = (db: string): ModelColumn => ({ db, kind: "boolean" });
const orgKey: Pairs = [["region", "region"], ["num", "num"]];

export const model: Readonly<Record<TableName, ModelTable>> = {
  people: {
    key: ["id"],
    columns: {
      id: integer("id"),
      name: text("name"),
      age: integer("age"),
      active: boolean("active"),
      born: { db: "born", kind: "date" },
      bossId: integer("boss_id"),
      region: text("region"),
      num: integer("num"),
    },
    relations: {
      boss: { to: "people", on: [["boss_id", "id"]] },
      reports: { to: "people", on: [["id", "boss_id"]] },
      mates: { to: "people", on: [["name", "name"]] },
      org: { to: "orgs", on: orgKey },
      badge: { to: "badges", on: [["id", "person_id"]] },
      some: { to: "posts", on: [["id", "author_id"]] },
      clubs: {
        to: "orgs",
        on: [["id", "person_id"]],
        via: { table: "memberships", on: orgKey },
      },
      seats: { to: "memberships", on: [["id", "person_id"]] },
    },
  },
  orgs: {
    key: ["region", "num"],
    columns: {
      region: text("region"),
      num: integer("num"),
      title: text("title"),
      ownerId: integer("owner_id"),
    },
    relations: {
      people: { to: "people", on: orgKey },
      posts: { to: "posts", on: orgKey },
      owner: { to: "people", on: [["owner_id", "id"]] },
      members: {
        to: "people",
        on: orgKey,
        via: { table: "memberships", on: [["person_id", "id"]] },
      },
    },
  },
  badges: {
    key: ["id"],
    columns: {
      id: integer("id"),
      personId: integer("person_id"),
      code: text("code"),
      not: integer("not"),
    },
    relations: { "the person": { to: "people", on: [["person_id", "id"]] } },
  },
  posts: {
    key: ["id"],
    columns: {
      id: integer("id"),
      authorId: integer("author_id"),
      title: text("title"),
      stars: integer("stars"),
      published: boolean("published"),
      day: { db: "day", kind: "date" },
      region: text("region"),
      num: integer("num"),
      data: { db: "data", kind: "json" },
    },
    relations: {
      author: { to: "people", on: [["author_id", "id"]] },
      org: { to: "orgs", on: orgKey },
      tags: {
        to: "tags",
        on: [["id", "post_id"]],
        via: { table: "post_tags", on: [["tag_id", "id"]] },
      },
    },
  },
  tags: {
    key: ["id"],
    columns: { id: text("id"), "the label": text("the label"), weight: integer("weight") },
    relations: {
      posts: {
        to: "posts",
        on: [["id", "tag_id"]],
        via: { table: "post_tags", on: [["post_id", "id"]] },
      },
    },
  },
  post_tags: {
    key: ["id"],
    columns: { id: integer("id"), postId: integer("post_id"), tagId: text("tag_id") },
    relations: { post: { to: "posts", on: [["post_id", "id"]] } },
  },
  memberships: {
    key: ["id"],
    columns: {
      id: integer("id"),
      personId: integer("person_id"),
      region: text("region"),
      num: integer("num"),
      role: text("role"),
    },
    relations: {
      person: { to: "people", on: [["person_id", "id"]] },
      org: { to: "orgs", on: orgKey },
    },
  },
};

/** Every text that a column may hold, beside the columns with a list of their own. */
export const texts: readonly string[] = [
  "red",
  "Red",
  "RED",
  "it's",
  'a"b',
  "",
  " ",
  "null",
  "not",
  "some",
  "a;b,(c)",
  "\\",
  "É",
  "é",
  "ΟΔΟΣ",
  "οδος",
  "50%",
  "a_b",
  "👍",
];
export const regions: readonly string[] = ["eu", "EU", "o'x"];
export const roles: readonly string[] = ["admin", "member", "Admin"];
export const days: readonly string[] = ["2024-01-01", "2024-01-02", "2023-12-31"];
/** What a document may be; a row says by `doc_no` which one it has, which only the oracle reads. */
export const documents: readonly unknown[] = [
  { k: 1 },
  { k: "1" },
  { k: 2, a: { b: "Red" } },
  { k: null, a: { b: "red" } },
  { k: true },
  { k: false, a: [] },
  { a: { b: "it's" } },
  [1, 2],
  [2, "1"],
  "text",
];

/** The values that a column of a table holds. */
export function poolOf(table: TableName, column: string): readonly Value[] {
  const { kind } = columnOf(table, column);
  if (kind === "boolean") return [true, false];
  if (kind === "date") return days;
  if (kind === "integer") {
    return column === "num" ? [1, 2] : [0, 1, 2, 3, -1, 4, 5, 6];
  }
  if (column === "region") return regions;
  if (column === "role") return roles;
  return texts;
}

export function columnOf(table: TableName, column: string): ModelColumn {
  const found = model[table].columns[column];
  if (found === undefined) throw new Error(`no column ${table}.${column}`);
  return found;
}

export function relationOf(table: TableName, name: string): ModelRelation {
  const found = model[table].relations[name];
  if (found === undefined) throw new Error(`no relation ${table}.${name}`);
  return found;
}

/** The table at the end of a path. */
export function endOf(table: TableName, path: readonly string[]): TableName {
  return path.reduce<TableName>((at, name) => relationOf(at, name).to, table);
}
