import {
  all,
  and,
  boolean,
  date,
  eq,
  gt,
  gte,
  integer,
  isNotNull,
  isNull,
  json,
  lte,
  ne,
  none,
  not,
  or,
  relations,
  resource,
  type ResourceDefinition,
  rsql,
  table,
  text,
  type User,
} from "../../../mod.ts";
import type { RelationTo, Rule } from "../../../exports/filter.ts";
import type { AnyTable, ColumnLike, TableLike } from "../../../exports/schema.ts";
import { roles, type TableName } from "./model.ts";

const people = table("people", {
  id: integer().primaryKey(),
  name: text(),
  age: integer(),
  active: boolean(),
  born: date(),
  bossId: integer().as("boss_id"),
  region: text(),
  num: integer(),
});
const orgs = table("orgs", {
  region: text().primaryKey(),
  num: integer().primaryKey(),
  title: text(),
  ownerId: integer().as("owner_id"),
});
const badges = table("badges", {
  id: integer().primaryKey(),
  personId: integer().as("person_id"),
  code: text(),
  not: integer(),
});
const posts = table("posts", {
  id: integer().primaryKey(),
  authorId: integer().as("author_id"),
  title: text(),
  stars: integer(),
  published: boolean(),
  day: date(),
  region: text(),
  num: integer(),
  data: json<unknown>(),
  docNo: integer().as("doc_no"),
  gone: boolean(),
});
const tags = table("tags", {
  id: text().primaryKey(),
  "the label": text(),
  weight: integer(),
});
const postTags = table("post_tags", {
  id: integer().primaryKey(),
  postId: integer().as("post_id"),
  tagId: text().as("tag_id"),
});
const memberships = table("memberships", {
  id: integer().primaryKey(),
  personId: integer().as("person_id"),
  region: text(),
  num: integer(),
  role: text({ enum: roles }),
});

const filterable = true;
const ofPeople = relations(people, {
  boss: { type: "belongsTo", resource: people, foreignKey: people.bossId, filterable },
  reports: { type: "hasMany", resource: people, foreignKey: people.bossId, filterable },
  mates: {
    type: "hasMany",
    resource: people,
    foreignKey: people.name,
    references: people.name,
    filterable,
  },
  org: { type: "belongsTo", resource: orgs, foreignKey: [people.region, people.num], filterable },
  badge: { type: "hasOne", resource: badges, foreignKey: badges.personId, filterable },
  some: { type: "hasMany", resource: posts, foreignKey: posts.authorId, filterable },
  clubs: {
    type: "manyToMany",
    resource: orgs,
    through: memberships,
    foreignKey: memberships.personId,
    references: [memberships.region, memberships.num],
    filterable,
  },
  seats: { type: "hasMany", resource: memberships, foreignKey: memberships.personId, filterable },
});
const ofOrgs = relations(orgs, {
  people: {
    type: "hasMany",
    resource: people,
    foreignKey: [people.region, people.num],
    filterable,
  },
  posts: { type: "hasMany", resource: posts, foreignKey: [posts.region, posts.num], filterable },
  owner: { type: "belongsTo", resource: people, foreignKey: orgs.ownerId, filterable },
  members: {
    type: "manyToMany",
    resource: people,
    through: memberships,
    foreignKey: [memberships.region, memberships.num],
    references: memberships.personId,
    filterable,
  },
});
const ofBadges = relations(badges, {
  "the person": {
    type: "belongsTo",
    resource: people,
    foreignKey: badges.personId,
    filterable,
  },
});
const ofPosts = relations(posts, {
  author: { type: "belongsTo", resource: people, foreignKey: posts.authorId, filterable },
  org: { type: "belongsTo", resource: orgs, foreignKey: [posts.region, posts.num], filterable },
  tags: {
    type: "manyToMany",
    resource: tags,
    through: postTags,
    foreignKey: postTags.postId,
    references: postTags.tagId,
    filterable,
  },
});
const ofTags = relations(tags, {
  posts: {
    type: "manyToMany",
    resource: posts,
    through: postTags,
    foreignKey: postTags.tagId,
    references: postTags.postId,
    filterable,
  },
});
const ofPostTags = relations(postTags, {
  post: { type: "belongsTo", resource: posts, foreignKey: postTags.postId, filterable },
});
const ofMemberships = relations(memberships, {
  person: { type: "belongsTo", resource: people, foreignKey: memberships.personId, filterable },
  org: {
    type: "belongsTo",
    resource: orgs,
    foreignKey: [memberships.region, memberships.num],
    filterable,
  },
});

const everything = {
  people: { table: people, relations: ofPeople },
  orgs: { table: orgs, relations: ofOrgs },
  badges: { table: badges, relations: ofBadges },
  posts: { table: posts, relations: ofPosts },
  tags: { table: tags, relations: ofTags },
  post_tags: { table: postTags, relations: ofPostTags },
  memberships: { table: memberships, relations: ofMemberships },
} as const;

export const tables = Object.values(everything).map(({ table }) => table);

// The check picks tables, columns and relations at random, so that no type can know which they are.
type AnyColumn = ColumnLike<unknown>;
type AnyRelation = RelationTo<AnyTable, AnyTable>;

export function tableOf(name: TableName): TableLike<unknown, unknown> {
  return everything[name].table as unknown as TableLike<unknown, unknown>;
}

export function columnsOf(name: TableName): { readonly [name: string]: AnyColumn } {
  return everything[name].table as unknown as { readonly [name: string]: AnyColumn };
}

export function relationsOf(name: TableName): { readonly [name: string]: AnyRelation } {
  return everything[name].relations as unknown as { readonly [name: string]: AnyRelation };
}

/** Which rows a reader may read, as a rule and as SQL over an alias. */
interface Right {
  readonly rule: Rule;
  sql(alias: string): string;
}

const everyRow: Right = { rule: all(), sql: () => "1 = 1" };
const noRow: Right = { rule: none(), sql: () => "1 = 0" };
const right = (rule: Rule, sql: (alias: string) => string): Right => ({ rule, sql });

/** Tables that a reader may read only in part; all rows of the others. */
export const readers: Readonly<Record<string, Readonly<Partial<Record<TableName, Right>>>>> = {
  all: {},
  part: {
    people: right(not(eq(people.age, 2)), (a) => `${a}.age IS NULL OR ${a}.age <> 2`),
    orgs: right(lte(orgs.num, 1), (a) => `${a}.num <= 1`),
    badges: right(isNotNull(badges.code), (a) => `${a}.code IS NOT NULL`),
    posts: right(
      or(eq(posts.published, true), isNull(posts.stars)),
      (a) => `${a}.published OR ${a}.stars IS NULL`,
    ),
    tags: right(gte(tags.weight, 1), (a) => `${a}.weight >= 1`),
    post_tags: right(gt(postTags.id, 2), (a) => `${a}.id > 2`),
    memberships: right(ne(memberships.role, "member"), (a) => `${a}.role <> 'member'`),
  },
  walk: {
    people: right(
      ofPeople.badge.none(rsql`not==2`),
      (a) => `NOT EXISTS (SELECT 1 FROM badges b WHERE b.person_id = ${a}.id AND b."not" = 2)`,
    ),
    posts: right(
      rsql`author.some(age>=1),tags.none(weight==2)`,
      (a) =>
        `EXISTS (SELECT 1 FROM people b WHERE b.id = ${a}.author_id AND b.age >= 1) OR
        ${a}.id NOT IN (SELECT l.post_id FROM post_tags l CROSS JOIN tags t
          WHERE t.id = l.tag_id AND t.weight = 2 AND l.post_id IS NOT NULL)`,
    ),
    post_tags: right(
      and(isNotNull(postTags.tagId), ofPostTags.post.every(rsql`stars!=3`)),
      (a) =>
        `${a}.tag_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM posts b
          WHERE b.id = ${a}.post_id AND COALESCE(b.stars, 3) = 3)`,
    ),
  },
  denied: { tags: noRow, badges: noRow, memberships: noRow },
  unlinked: { post_tags: noRow, memberships: noRow, orgs: noRow },
};

export function rightOf(reader: string, table: TableName): Right {
  return readers[reader]?.[table] ?? everyRow;
}

/** The condition for rows that are not marked as deleted. */
export function keptSql(table: TableName, alias: string): string {
  return table === "posts" ? `${alias}.gone IS NOT TRUE` : "1 = 1";
}

/** A rule that the check gives to a user for one of the tables. */
export interface Scope {
  readonly table: TableName;
  readonly access: "read" | "create" | "update";
  readonly rule: Rule;
}

export type Scopes = Map<string, Scope>;

export function resourcesOf(scopes: Scopes): readonly ResourceDefinition[] {
  const authOf = (name: TableName) => {
    const of = (access: Scope["access"]) => ({ id }: User): Rule => {
      const scope = scopes.get(id);
      const isMeant = scope?.table === name && scope.access === access;
      return isMeant ? scope.rule : rightOf(id, name).rule;
    };
    // The rules are about any table, and each access has rules about its own.
    return {
      read: of("read"),
      create: of("create"),
      update: of("update"),
      subscribe: of("read"),
    } as object;
  };
  return [
    resource(people, { id: people.id, relations: ofPeople, auth: authOf("people") }),
    resource(orgs, {
      id: [orgs.region, orgs.num],
      relations: ofOrgs,
      auth: authOf("orgs"),
    }),
    resource(badges, { id: badges.id, relations: ofBadges, auth: authOf("badges") }),
    resource(posts, {
      id: posts.id,
      relations: ofPosts,
      softDelete: { field: posts.gone },
      auth: authOf("posts"),
    }),
    resource(tags, { id: tags.id, relations: ofTags, auth: authOf("tags") }),
    resource(postTags, {
      id: postTags.id,
      relations: ofPostTags,
      auth: authOf("post_tags"),
    }),
    resource(memberships, {
      id: memberships.id,
      relations: ofMemberships,
      auth: authOf("memberships"),
    }),
  ];
}
