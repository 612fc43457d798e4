import type { ScopeOptions } from "../../auth/scope.ts";
import { requireDatabase } from "../../db/require_database.ts";
import { requireKnownOptions } from "../../problem/require_known_options.ts";
import { showValue } from "../../problem/show_value.ts";
import { columnInfoOf, isColumn, tableInfoOf } from "../../schema/table_like.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type {
  BatchOptions,
  Capabilities,
  EtagOptions,
  FieldOptions,
  PaginationOptions,
  RelationOptions,
  ResourceOptions,
} from "./resource_options.ts";
import { requireTableInfo, type ResourceDefinition } from "./resource_definition.ts";
import type { AnyHooks } from "./hooks.ts";

/**
 * Checks the options of a resource at run time, for programs in JavaScript and unchecked values:
 * what the types refuse is an error that names the table and the option. What the values mean is
 * checked where they are resolved.
 */
export function checkResourceOptions({ table, options }: ResourceDefinition): void {
  const info = requireTableInfo(table);
  const subject = `Cannot serve "${info.name}"`;
  requireObject(options, `${subject}: it has no options, like { id: ${idOf(info)} }`);
  requireKnownOptions(options, knownOptions, `${subject}: a resource`);
  if (options.id === undefined) {
    throw new Error(`${subject}: id is missing: name the primary key, id: ${idOf(info)}`);
  }
  if (options.db !== undefined) requireDatabase(options.db, subject);
  checkPath(options.path, subject);
  checkAuth(options.auth, subject);
  checkGroup("capabilities", options.capabilities, knownCapabilities, subject);
  checkGroup("pagination", options.pagination, knownPagination, subject);
  checkGroup("fields", options.fields, knownFields, subject);
  checkGroup("etag", options.etag, knownEtag, subject);
  checkGroup("softDelete", options.softDelete, { field: true }, subject);
  checkGroup("hooks", options.hooks, knownHooks, subject);
  checkGroup("batch", options.batch, knownBatch, subject);
  checkRelations(options.relations, subject);
  checkColumns("id", [options.id].flat(), info);
  checkColumns("generatedFields", options.generatedFields ?? [], info);
  for (const [name, list] of Object.entries(options.fields ?? {})) {
    if (list !== undefined) checkColumns(`fields.${name}`, list, info);
  }
}

const knownOptions: Readonly<Record<keyof ResourceOptions<unknown>, true>> = {
  id: true,
  path: true,
  db: true,
  auth: true,
  capabilities: true,
  fields: true,
  strictInput: true,
  strictQuery: true,
  pagination: true,
  customOperators: true,
  etag: true,
  softDelete: true,
  hooks: true,
  generatedFields: true,
  computed: true,
  batch: true,
  relations: true,
  nestedWrites: true,
  procedures: true,
  autoRelations: true,
  rateLimit: true,
  cost: true,
  pow: true,
  captcha: true,
  overflow: true,
};

const knownRelation: Readonly<Record<keyof RelationOptions, true>> = {
  type: true,
  resource: true,
  foreignKey: true,
  references: true,
  through: true,
  filterable: true,
};

const knownScopes: Readonly<Record<keyof ScopeOptions, true>> = {
  public: true,
  read: true,
  create: true,
  update: true,
  delete: true,
  subscribe: true,
};

const knownCapabilities: Readonly<Record<keyof Capabilities, true>> = {
  enableCreate: true,
  enableUpdate: true,
  enableDelete: true,
  enableBatch: true,
  enableExport: true,
  enableAggregations: true,
  enableSubscribe: true,
};

const knownEtag: Readonly<Record<keyof EtagOptions<unknown>, true>> = {
  versionField: true,
  updatedAtField: true,
  idField: true,
  algorithm: true,
  require: true,
};

const knownHooks: Readonly<Record<keyof AnyHooks, true>> = {
  onBeforeCreate: true,
  onAfterCreate: true,
  onBeforeUpdate: true,
  onAfterUpdate: true,
  onBeforeDelete: true,
  onAfterDelete: true,
  timeoutMs: true,
};

const knownBatch: Readonly<Record<keyof BatchOptions, true>> = {
  create: true,
  update: true,
  replace: true,
  delete: true,
  incrementVersion: true,
};

const knownPagination: Readonly<Record<keyof PaginationOptions, true>> = {
  defaultLimit: true,
  maxLimit: true,
};

const knownFields: Readonly<Record<keyof FieldOptions<unknown>, true>> = {
  readable: true,
  writable: true,
  filterable: true,
  sortable: true,
};

/** How `id` would be written for this table. */
function idOf({ name, primaryKey, own }: TableInfo): string {
  const columns = primaryKey.map((column) =>
    own ? `${name}.${column.name}` : JSON.stringify(column.name)
  );
  return columns.length === 1 ? columns.join() : `[${columns.join(", ")}]`;
}

/** RFC 3986, 3.3: every other character is percent-encoded in a segment of a request's path. */
const segmentPattern = /^(?!\.{1,2}$)(?:[\w.~!$&'()*+,;=:@-]|%[\dA-F]{2})+$/i;

function checkPath(path: unknown, subject: string): void {
  if (path === undefined) return;
  if (typeof path !== "string") {
    throw new Error(`${subject}: path must be a text like "notes", not ${showValue(path)}`);
  }
  if (path.split("/").every((segment) => segmentPattern.test(segment))) return;
  throw new Error(
    `${subject}: path must be like "notes", with no slash at an end and what a URL ` +
      `cannot hold percent-encoded, not ${JSON.stringify(path)}`,
  );
}

function checkAuth(auth: unknown, subject: string): void {
  if (auth === undefined) return;
  if (typeof auth === "function") {
    throw new Error(`${subject}: auth is a function: say for what, like auth: { read: … }`);
  }
  checkGroup("auth", auth, knownScopes, subject);
  if (auth !== undefined && "public" in auth) checkPublic(auth.public, subject);
  for (const [name, scope] of Object.entries(auth)) {
    if (name === "public" || scope === undefined || typeof scope === "function") continue;
    throw new Error(
      `${subject}: auth.${name} must be a function of the user, like () => all(), ` +
        `not ${showValue(scope)}`,
    );
  }
}

/** A filter or a function here would open every row, because it is neither false nor absent. */
function checkPublic(open: unknown, subject: string): void {
  if (open === undefined || typeof open === "boolean") return;
  requireObject(
    open,
    `${subject}: auth.public must be true, false or like { read: true }, not ${showValue(open)}`,
  );
  for (const [access, value] of Object.entries(open)) {
    if (value === undefined || typeof value === "boolean") continue;
    if (access !== "read" && access !== "subscribe") continue; // refused where it is resolved
    throw new Error(
      `${subject}: auth.public.${access} must be true or false, not ${showValue(value)}: ` +
        "it opens all rows",
    );
  }
}

function checkRelations(relations: unknown, subject: string): void {
  if (relations === undefined) return;
  requireObject(relations, `${subject}: relations must be an object, not ${showValue(relations)}`);
  for (const [name, relation] of Object.entries(relations)) {
    const option = `relations.${name}`;
    requireObject(relation, `${subject}: ${option} must be an object, not ${showValue(relation)}`);
    requireKnownOptions(relation, knownRelation, `${subject}: ${option}`);
  }
}

function checkGroup(
  name: string,
  group: unknown,
  known: Readonly<Record<string, true>>,
  subject: string,
): asserts group is object | undefined {
  if (group === undefined) return;
  requireObject(group, `${subject}: ${name} must be an object, not ${showValue(group)}`);
  requireKnownOptions(group, known, `${subject}: ${name}`);
}

/** A column of another table with the same name would be mistaken for this table's. */
function checkColumns(option: string, references: unknown, table: TableInfo): void {
  const subject = `Cannot serve "${table.name}": ${option}`;
  if (!Array.isArray(references)) {
    throw new Error(`${subject} must be a list of columns, not ${showValue(references)}`);
  }
  for (const reference of references) {
    // Names are deprecated, and looked up where the resource is resolved.
    if (typeof reference === "string") continue;
    if (!isColumn(reference)) {
      throw new Error(`${subject} takes columns, not ${showValue(reference)}`);
    }
    const column = columnInfoOf(reference);
    if (table.columns.includes(column)) continue;
    const other = tableInfoOf(reference).name;
    throw new Error(`${subject} names "${column.name}" of another table, "${other}"`);
  }
}

function requireObject(value: unknown, message: string): asserts value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(message);
}
