import { type Described, group, listOf, named } from "../options/option.ts";
import { textLike } from "../options/option_kinds.ts";
import { InvalidValue } from "../schema/kind.ts";
import { isAny, kindOfColumn } from "../schema/structured/kind_of_column.ts";
import {
  type ColumnDefault,
  type ColumnInfo,
  createTableInfo,
  type ForeignKey,
  type TableInfo,
} from "../schema/table_info.ts";
import type { SimpleView } from "./views/simple_view.ts";

/** Options of the introspection of an existing database: which tables are described. */
export interface IntrospectOptions {
  /**
   * Postgres schemas, `*` for all that the role may use; by default the first one of the search path.
   * Tables of the first schema that is given keep their names, those of others are served as
   * `schema.table`.
   */
  readonly schemas?: readonly string[] | undefined;
  /**
   * The key columns of views and of tables without a key, by their names: `{ totals: ["region"] }`.
   * The keys that follow from the definition of a view need not be named.
   */
  readonly keys?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** The options of introspection, described. */
export const introspectOptions = group(
  {
    schemas: listOf("names of schemas", textLike("the name of a schema", /./)),
    keys: named(listOf("names of columns", textLike("the name of a column", /./)).required()),
  } satisfies Described<IntrospectOptions>,
).required();

/** The result of introspection, on either engine: the tables found in a live database. */
export interface Introspection {
  /** Tables that can be served. */
  readonly tables: readonly TableInfo[];
  /** Tables, views and generated columns that cannot, and why. */
  readonly leftOut: readonly LeftOut[];
  /** Tables that can be read, and some writes of which the database refuses, and why. */
  readonly refusedWrites?: readonly LeftOut[];
  /** Schemas of Postgres with tables that were not asked for. */
  readonly otherSchemas: readonly LeftOutSchema[];
}

/** A schema whose tables introspection has not described, as it was not asked to. */
export interface LeftOutSchema {
  /** Its name. */
  readonly schema: string;
  /** How many tables and views it has that could be served. */
  readonly tables: number;
  /** True if the role may use it. */
  readonly isOpen: boolean;
}

/** A table, a view or a column that introspection found but leaves out: it cannot be served. */
export interface LeftOut {
  /** Its name in the database; a column has its table before it, as in `notes.folded`. */
  readonly table: string;
  /** Completes "… is left out: ". */
  readonly reason: string;
}

/**
 * A table as introspection reads it on either engine, before its foreign keys are matched with the
 * others.
 */
export interface TableDraft {
  readonly name: string;
  readonly schema: string | null;
  /** Its name in paths. */
  readonly label: string;
  readonly columns: readonly ColumnDraft[];
  /** True if it is a view, also one whose rows are stored. */
  readonly isView: boolean;
  /** The definition of a view, where it is a simple one; else null. */
  readonly simple: SimpleView | null;
  /** True if its rows are only read: those of a view, or by a key that nothing enforces. */
  readonly isReadOnly: boolean;
  /** True if its first column is the number of the row, which `*` leaves out. */
  readonly hasRowId: boolean;
  /** The names of its columns, in key order; empty when there is none. */
  readonly key: readonly string[];
  /** True if no two rows have the same key. */
  readonly isDistinct: boolean;
  readonly foreignKeys: readonly ForeignKeyDraft[];
}

/** A column as introspection reads it on either engine. */
export interface ColumnDraft extends Omit<ColumnInfo, "primaryKey" | "references" | "default"> {
  readonly existingType: string;
  /** The DEFAULT clause, or null. */
  readonly defaultSql: string | null;
}

/** A foreign key as introspection reads it; SQLite may leave out the columns that it refers to. */
export interface ForeignKeyDraft
  extends
    Pick<ForeignKey, "columns" | "schema" | "table">,
    Partial<Pick<ForeignKey, "onDelete" | "onUpdate">> {
  readonly references: readonly string[] | null;
}

/** Returns true if introspection passes over a table because it is the service's own or its engine's. */
export function isInternal(name: string): boolean {
  return name.startsWith("_service_") || name.startsWith("service_fts_") || /^sqlite_/i.test(name);
}

/**
 * Completes the drafts that introspection of either engine has read to table descriptions. Foreign
 * keys to tables that are not among them are left out.
 */
export function completeDrafts(
  drafts: readonly TableDraft[],
  refreshLabels: TableInfo["refreshLabels"] = null,
): readonly TableInfo[] {
  const wide = widened(drafts);
  return wide.map((draft) => completeDraft(draft, wide, refreshLabels));
}

/** With keys of any values, and the columns that reference wide ones, or such columns, wide as well. */
function widened(drafts: readonly TableDraft[]): readonly TableDraft[] {
  let isSame = true;
  const wider = drafts.map((draft): TableDraft => {
    const names = new Set(
      foreignKeysOf(draft.foreignKeys, draft, drafts).flatMap(
        ({ columns, schema, table, references }) => {
          const target = drafts.find((other) => other.schema === schema && other.name === table);
          return columns.filter((_name, index) =>
            target?.columns.some(({ dbName, isWide }) => isWide && dbName === references[index])
          );
        },
      ),
    );
    const columns = draft.columns.map((column) => {
      const isNamed = names.has(column.dbName) ||
        isAny(column) && draft.key.includes(column.dbName);
      const mayBeWide = column.kind === "integer" || isAny(column);
      if (column.isWide || !mayBeWide || !isNamed) return column;
      isSame = false;
      return { ...column, isWide: true };
    });
    return { ...draft, columns };
  });
  return isSame ? drafts : widened(wider);
}

function completeDraft(
  draft: TableDraft,
  served: readonly TableDraft[],
  refreshLabels: TableInfo["refreshLabels"],
): TableInfo {
  const foreignKeys = foreignKeysOf(draft.foreignKeys, draft, served);
  const unknown = draft.foreignKeys.filter((key) =>
    foreignKeysOf([key], draft, served).length === 0
  );
  const columns = draft.columns.map((column) =>
    completeColumn(
      {
        ...column,
        unknownTarget: unknown.some((key) =>
          key.columns.some((name) => sameName(name, column.dbName))
        ),
      },
      draft,
      foreignKeys,
    )
  );
  // The order of the key is that of its constraint, not that of the columns.
  const primaryKey = draft.key.flatMap((name) =>
    columns.find(({ dbName }) => dbName === name) ?? []
  );
  const { name, schema, label, isReadOnly: readOnly, isDistinct: distinct } = draft;
  return createTableInfo({
    ...{ name, schema, label, columns, primaryKey, foreignKeys, own: false, readOnly, distinct },
    refreshLabels,
  });
}

/** The keys whose tables are served. */
function foreignKeysOf(
  keys: readonly ForeignKeyDraft[],
  draft: TableDraft,
  served: readonly TableDraft[],
): readonly ForeignKey[] {
  return keys.flatMap((key) => {
    const target = served.find((other) =>
      other.schema === key.schema && sameName(other.name, key.table)
    );
    return target === undefined ? [] : foreignKey(key, draft, target);
  });
}

/** The foreign key as the columns are spelled; SQLite keeps the spelling of the REFERENCES clause. */
function foreignKey(key: ForeignKeyDraft, from: TableDraft, to: TableDraft): ForeignKey[] {
  const columns = key.columns.map((name) => spelledBy(from, name));
  const references = (key.references ?? to.key).map((name) => spelledBy(to, name));
  const isWhole = columns.every((name) => name !== null) &&
    references.every((name) => name !== null) && columns.length === references.length;
  const { onDelete = null, onUpdate = null } = key;
  return isWhole
    ? [{ columns, schema: to.schema, table: to.name, references, onDelete, onUpdate }]
    : [];
}

function spelledBy(table: TableDraft, name: string): string | null {
  return table.columns.find((column) => sameName(column.dbName, name))?.dbName ?? null;
}

/** Exactly, or as SQLite compares names; Postgres never gives two spellings of one name. */
function sameName(left: string, right: string): boolean {
  return left === right || left.toLowerCase() === right.toLowerCase();
}

function completeColumn(
  draft: ColumnDraft,
  table: TableDraft,
  foreignKeys: readonly ForeignKey[],
): ColumnInfo {
  const { defaultSql, ...column } = draft;
  const alone = foreignKeys.find(({ columns }) =>
    columns.length === 1 && columns[0] === column.dbName
  );
  const target = alone?.references[0];
  const info: ColumnInfo = {
    ...column,
    primaryKey: table.key.includes(column.dbName),
    references: alone === undefined || target === undefined
      ? null
      : { schema: alone.schema, table: alone.table, column: target },
    default: null,
  };
  return Object.freeze({ ...info, default: columnDefault(defaultSql, info) });
}

/** A constant, where the clause is a plain one: it completes a body without a query. */
function columnDefault(sql: string | null, column: ColumnInfo): ColumnDefault | null {
  if (sql === null) return null;
  const database: ColumnDefault = { kind: "database", sql: column.primaryKey ? null : sql };
  // `('draft'::text)` → `'draft'`.
  const constant = constantClause.exec(sql)?.[1];
  const isStructure = (column.databaseType?.shape.kind ?? "text") !== "text";
  if (constant === undefined || column.generated || isStructure) return database;
  if (/^null$/i.test(constant)) return null;
  const isText = constant.startsWith("'");
  // Only the database knows what `TRUE` or `9.50` is in a string: in SQLite it is 1 and 9.5.
  if (!isText && (column.kind === "text" || column.kind === "json")) return database;
  // A number is a moment in the format of the column's rows, which is not known yet.
  if (column.kind === "timestamp" && /^'?[-+]?[\d.]+'?$/.test(constant)) return database;
  const text = isText ? constant.slice(1, -1).replaceAll("''", "'") : constant.toLowerCase();
  try {
    return { kind: "value", value: kindOfColumn(column).fromText(text, column) };
  } catch (error) {
    if (error instanceof InvalidValue) return database;
    throw error;
  }
}

/** A string, a number, TRUE, FALSE or NULL; perhaps in parentheses, perhaps cast. */
const constantClause =
  /^\(*('(?:[^']|'')*'|[-+]?\d[\d.]*|true|false|null)\)*(?:::[\w ()",[\]]+)?\)*$/i;
