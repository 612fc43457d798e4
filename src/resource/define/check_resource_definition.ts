import type {
  PublicOptions,
  PublicScopeFunction,
  ScopeFunction,
  ScopeOptions,
} from "../../auth/authorize.ts";
import { databaseOption } from "../../db/require_database.ts";
import type { CustomOperator } from "../../filter/operators/operator_registry.ts";
import { protectionOptionRules } from "../../guard/resource_protection_options.ts";
import {
  type Described,
  either,
  group,
  groupOf,
  listOf,
  mapOf,
  type OptionValues,
} from "../../options/option.ts";
import {
  callback,
  flag,
  number,
  oneOf,
  synchronous,
  testedValue,
  textLike,
  timerMs,
  whole,
} from "../../options/option_kinds.ts";
import type { IndexErrorHandler } from "../../search/indexer.ts";
import { type ColumnLike, isColumn, type TableLike } from "../../schema/table_like.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { AnyHooks } from "../model/hooks.ts";
import { procedureOptionRules } from "./resolve_procedures.ts";
import { requireOwnRelations } from "./relations.ts";
import { requireTableInfo, type ResourceDefinition } from "./resource_definition.ts";
import type {
  AutoRelationOptions,
  BatchOptions,
  Capabilities,
  ColumnReferenceOf,
  EtagOptions,
  FieldFunction,
  FieldOptions,
  HistoryOptions,
  ImportLimits,
  PaginationOptions,
  RelationOptions,
  ResourceOptions,
  SearchFieldOptions,
  SearchOptions,
  SoftDeleteOptions,
} from "../model/resource_options.ts";

type Row = Record<string, unknown>;

const isColumnReference = (given: unknown) => typeof given === "string" || isColumn(given);
const column = testedValue<ColumnReferenceOf<Row>>("a column", isColumnReference);
const columns = listOf("columns", column);
const fieldFunction = synchronous<FieldFunction<Row>>();
const fieldList = either(
  either(columns, fieldFunction),
  group({ all: columns.required(), by: fieldFunction.required() })
    .fitting("an object with `all` and `by`", (given) => !isColumn(given)),
);
const table = testedValue<TableLike<unknown, unknown> | TableInfo>(
  "a table",
  (given) => typeof given === "object" && given !== null,
);
const scope = callback<ScopeFunction>("a function of the user, like () => all()");

const publicRows = either(
  flag(),
  callback<PublicScopeFunction>("a function that gives a filter"),
).default(false);
const publicAccess = groupOf<PublicOptions>()({ read: publicRows, subscribe: publicRows }).fitting(
  "an object",
  (given) => writesArePrivate(given) === null,
);

function writesArePrivate(given: unknown): string | null {
  const write = ["create", "update", "delete"].find((access) => access in Object(given));
  return write === undefined ? null : `cannot open ${write}: only read and subscribe can be public`;
}

/** Matches the characters that RFC 3986, 3.3, allows in a path segment. `%` encodes all others. */
const segmentPattern = /^(?!\.{1,2}$)(?:[\w.~!$&'()*+,;=:@-]|%[\dA-F]{2})+$/i;

const path = textLike("", /^[^/]/).fitting(
  'like "notes", with no slash at an end and what a URL cannot hold percent-encoded',
  (path) => path.split("/").every(isSegment),
);

/** Returns true for a segment without percent-encoding, or with that of `encodeURIComponent`. */
function isSegment(segment: string): boolean {
  if (!segmentPattern.test(segment)) return false;
  if (!segment.includes("%")) return true;
  try {
    return encodeURIComponent(decodeURIComponent(segment)) === segment;
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}

const relatedColumn = testedValue<ColumnLike<unknown> | string>("a column", isColumnReference);
const relation = groupOf<RelationOptions>()({
  type: oneOf("belongsTo", "hasOne", "hasMany", "manyToMany").required(),
  resource: either(table, textLike("the name of one", /./)).required(),
  foreignKey: either(relatedColumn, listOf("columns", relatedColumn)).required(),
  references: either(relatedColumn, listOf("columns", relatedColumn)),
  through: table,
  filterable: flag().default(false),
});

const hooks = {
  onBeforeCreate: callback<NonNullable<AnyHooks["onBeforeCreate"]>>(),
  onAfterCreate: callback<NonNullable<AnyHooks["onAfterCreate"]>>(),
  onBeforeUpdate: callback<NonNullable<AnyHooks["onBeforeUpdate"]>>(),
  onAfterUpdate: callback<NonNullable<AnyHooks["onAfterUpdate"]>>(),
  onBeforeDelete: callback<NonNullable<AnyHooks["onBeforeDelete"]>>(),
  onAfterDelete: callback<NonNullable<AnyHooks["onAfterDelete"]>>(),
  timeoutMs: timerMs().default(5_000),
} satisfies Described<AnyHooks>;

const members = {
  id: either(columns, column).required(),
  path,
  db: databaseOption(),
  auth: groupOf<ScopeOptions>()({
    public: either(flag(), publicAccess).advising(writesArePrivate),
    read: scope,
    create: scope,
    update: scope,
    delete: scope,
    subscribe: scope,
  }).advising((given) =>
    typeof given === "function" ? "is a function: say for what, like auth: { read: … }" : null
  ),
  capabilities: groupOf<Capabilities>()({
    enableCreate: flag().default(true),
    enableUpdate: flag().default(true),
    enableDelete: flag().default(true),
    enableBatch: flag().default(true),
    enableExport: flag().default(false),
    enableImport: flag().default(false),
    enableAggregations: flag().default(true),
    enableSubscribe: flag().default(true),
  }).default({}),
  fields: groupOf<FieldOptions<Row>>()({
    readable: fieldList,
    writable: fieldList,
    immutable: fieldList,
    filterable: fieldList,
    sortable: fieldList,
  }),
  strictInput: flag().default(false),
  strictQuery: flag().default(true),
  pagination: groupOf<PaginationOptions>()({
    defaultLimit: whole({ from: 1 }),
    maxLimit: whole({ from: 1 }).default(100),
  }).default({}),
  generatedFields: columns.default([]),
  computed: mapOf(synchronous<(row: Row) => unknown>().required()).default({}),
  hooks: group(hooks).asGiven<AnyHooks>().default({}),
  etag: groupOf<EtagOptions<Row>>()({
    versionField: column,
    updatedAtField: column,
    idField: column,
    algorithm: oneOf("weak", "strong").default("weak"),
    require: flag().default(false),
  }),
  softDelete: groupOf<SoftDeleteOptions<Row>>()({ field: column.required() }),
  history: groupOf<HistoryOptions>()({
    retentionMs: whole({ from: 60_000 }).default(30 * 86_400_000),
  }),
  relations: mapOf(relation.required()).default({}),
  autoRelations: either(
    flag(),
    groupOf<AutoRelationOptions>()({ filterable: flag().default(false) }),
  ),
  nestedWrites: flag().default(false),
  search: groupOf<SearchOptions<Row>>()({
    enabled: flag().default(true),
    indexName: textLike("a name of letters, digits, _ and -", /^[\p{L}_][\p{L}\p{N}_-]*$/u),
    fields: either(
      columns,
      mapOf(
        groupOf<SearchFieldOptions>()({
          weight: number({ from: 0.01, to: 1_000 }).default(1),
          searchable: flag().default(true),
        }).default({}),
      ),
    ),
    autoIndex: flag().default(true),
    outbox: flag().default(false),
    onIndexError: callback<IndexErrorHandler>(),
  }).default({}),
  procedures: mapOf(procedureOptionRules.required()).default({}),
  batch: groupOf<BatchOptions>()({
    create: whole({ from: 1 }).default(100),
    update: whole({ from: 1 }).default(100),
    replace: whole({ from: 1 }).default(100),
    delete: whole({ from: 1 }).default(100),
    incrementVersion: flag().default(false),
  }).default({}),
  imports: groupOf<ImportLimits>()({
    maxBytes: whole({ from: 1 }).default(1_000_000_000),
  }).default({}),
  customOperators: mapOf(
    groupOf<CustomOperator>()({
      toSql: synchronous<CustomOperator["toSql"]>().required(),
      matches: synchronous<CustomOperator["matches"]>().required(),
    }).asGiven<CustomOperator>().required(),
  ).default({}),
  ...protectionOptionRules,
} satisfies Described<ResourceOptions<Row>>;

export const resourceOptionRules = group(members).required();

export interface CheckedDefinition extends ResourceDefinition {
  readonly options: OptionValues<typeof members>;
  readonly hookTimeoutMs: number;
}

export function readDefinition({ table, options }: ResourceDefinition): CheckedDefinition {
  const info = requireTableInfo(table);
  const place = { subject: `Cannot serve "${info.name}"`, path: "" };
  // A program without type checks can omit the options.
  const given: Partial<ResourceOptions<Row>> | undefined = options;
  if (given === undefined) {
    throw new Error(`${place.subject}: it has no options, like { id: ${idOf(info)} }`);
  }
  if (given.id === undefined) {
    const what = info.primaryKey.length === 0 ? "it has no key" : "name the primary key";
    throw new Error(`${place.subject}: id is missing: ${what}, id: ${idOf(info)}`);
  }
  requireOwnRelations(given.relations, info);
  const read = resourceOptionRules.read(options, place);
  const hookTimeoutMs = hooks.timeoutMs.read(read.hooks.timeoutMs, place);
  return { table, options: read, hookTimeoutMs };
}

function idOf({ name, primaryKey, declared }: TableInfo): string {
  const columns = primaryKey.map((column) =>
    declared ? `${name}.${column.name}` : JSON.stringify(column.name)
  );
  return columns.length === 1 ? columns.join() : `[${columns.join(", ")}]`;
}
