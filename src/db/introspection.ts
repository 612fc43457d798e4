import { isSameName } from "../sql/fragment.ts";
import { groupOf, listOf, mapOf } from "../options/option.ts";
import { textLike } from "../options/option_kinds.ts";
import { InvalidValue } from "../schema/kind.ts";
import { isAny, kindOfColumn } from "../schema/structured/structured_value.ts";
import {
  type ColumnDefault,
  type ColumnInfo,
  createTableInfo,
  type ForeignKey,
  type TableInfo,
} from "../schema/table_info.ts";
import type { IndexInfo } from "../schema/table_constraints.ts";
import type { FunctionProcedure } from "./functions/database_function.ts";
import type { SimpleView } from "./views/simple_view.ts";

/** Options for the description of an existing database. */
export interface IntrospectOptions {
  /**
   * Postgres schemas, or `*` for all that the role may use. Default: the first schema of the search
   * path. Tables of the first schema keep their names. Other tables are served as `schema.table`.
   */
  readonly schemas?: readonly string[] | undefined;
  /** Key columns for each view, or table without a key, by its name: `{ totals: ["region"] }`. */
  readonly keys?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Postgres roles whose readable tables are described. Default: the role of the connection. */
  readonly roles?: readonly string[] | undefined;
  /**
   * The names of the Postgres functions to describe. `*` means all functions of `schemas` that the
   * role may call. If a function takes a row of a table and returns one value, it becomes a column
   * of the table. Other functions become procedures. Default: none.
   */
  readonly functions?: readonly string[] | undefined;
}

export const introspectOptionRules = groupOf<IntrospectOptions>()({
  schemas: listOf("names of schemas", textLike("the name of a schema", /./)),
  keys: mapOf(listOf("names of columns", textLike("the name of a column", /./)).required()),
  roles: listOf("names of roles", textLike("the name of a role", /./)),
  functions: listOf("names of functions", textLike("the name of a function", /./)),
}).required();

/** The result of introspection: the tables found in a database. */
export interface Introspection {
  /** Tables that can be served. */
  readonly tables: readonly TableInfo[];
  /** The tables, views and generated columns that cannot be served, with reasons. */
  readonly leftOut: readonly LeftOut[];
  /** The readable tables for which the database rejects some kinds of writes, with reasons. */
  readonly refusedWrites?: readonly LeftOut[];
  /** The Postgres schemas that have tables but were not requested. */
  readonly otherSchemas: readonly LeftOutSchema[];
  /** Procedures that call functions, by function name, for the `procedures` of a resource. */
  readonly functions: Readonly<Record<string, FunctionProcedure>>;
}

/** A schema that was not requested, so its tables were not described. */
export interface LeftOutSchema {
  /** The name of the schema. */
  readonly schema: string;
  /** The number of tables and views in the schema that could be served. */
  readonly tables: number;
  /** True if the role may use the schema. */
  readonly isOpen: boolean;
}

/** A table, a view or a column that was found but cannot be served. */
export interface LeftOut {
  /** The name in the database. A column's name includes its table, as in `notes.folded`. */
  readonly table: string;
  /** The reason, as the rest of a sentence that begins with "… is left out: ". */
  readonly reason: string;
}

/** A table as introspection reads it, before its foreign keys are resolved to tables. */
export interface TableDraft extends Pick<TableInfo, "name" | "schema" | "label" | "view"> {
  readonly description?: string | null;
  readonly columns: readonly ColumnDraft[];
  readonly functionColumns?: readonly ColumnInfo[];
  readonly simple: SimpleView | null;
  /** True if rows cannot be written, as in a table whose key is not enforced. */
  readonly isReadOnly: boolean;
  /** True if the first column is SQLite's row id, which `SELECT *` omits. */
  readonly hasRowId: boolean;
  readonly key: readonly string[];
  /** True if no two rows have the same key. */
  readonly isDistinct: boolean;
  readonly foreignKeys: readonly ForeignKeyDraft[];
  readonly indexes?: readonly IndexInfo[];
}

export interface ColumnDraft extends Omit<ColumnInfo, "primaryKey" | "references" | "default"> {
  readonly existingType: string;
  readonly defaultSql: string | null;
}

/** A foreign key as introspection reads it. On SQLite, the referenced columns can be missing. */
export interface ForeignKeyDraft
  extends
    Pick<ForeignKey, "columns" | "schema" | "table">,
    Partial<Pick<ForeignKey, "onDelete" | "onUpdate">> {
  readonly references: readonly string[] | null;
}

export function isInternal(name: string): boolean {
  return name.startsWith("_service_") || name.startsWith("service_fts_") || /^sqlite_/i.test(name);
}

/** Converts drafts to complete table descriptions. Omits foreign keys to tables without a draft. */
export function completeDrafts(
  drafts: readonly TableDraft[],
  refreshLabels: TableInfo["refreshLabels"] = null,
): readonly TableInfo[] {
  const wide = widened(drafts);
  return wide.map((draft) => {
    const foreignKeys = foreignKeysOf(draft.foreignKeys, draft, wide);
    const unknown = draft.foreignKeys.filter((key) =>
      foreignKeysOf([key], draft, wide).length === 0
    );
    const columns = draft.columns.map((column) =>
      completeColumn(
        {
          ...column,
          unknownTarget: unknown.some((key) =>
            key.columns.some((name) => isSameName(name, column.dbName))
          ),
        },
        draft,
        foreignKeys,
      )
    );
    // The key constraint determines the order of key columns. The table's order can differ.
    const primaryKey = draft.key.flatMap((name) =>
      columns.find(({ dbName }) => dbName === name) ?? []
    );
    const { name, schema, label, description = null, view, functionColumns = [] } = draft;
    const { isReadOnly: readOnly, isDistinct: distinct } = draft;
    return createTableInfo({
      ...{ name, schema, label, description, columns, functionColumns, primaryKey, foreignKeys },
      ...{ own: false, readOnly, view, distinct, indexes: draft.indexes ?? [] },
      refreshLabels,
    });
  });
}

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

function foreignKeysOf(
  keys: readonly ForeignKeyDraft[],
  draft: TableDraft,
  served: readonly TableDraft[],
): readonly ForeignKey[] {
  return keys.flatMap((key) => {
    const target = served.find((other) =>
      other.schema === key.schema && isSameName(other.name, key.table)
    );
    return target === undefined ? [] : foreignKey(key, draft, target);
  });
}

/** Returns the key with columns spelled as in the tables, not as in SQLite's FOREIGN KEY clause. */
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
  return table.columns.find((column) => isSameName(column.dbName, name))?.dbName ?? null;
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

/** Parses a DEFAULT clause. For a constant, also returns the value, which API descriptions show. */
function columnDefault(sql: string | null, column: ColumnInfo): ColumnDefault | null {
  if (sql === null) return null;
  const database: ColumnDefault = { kind: "database", sql: column.primaryKey ? null : sql };
  // The constant, such as `'draft'` in `('draft'::text)`.
  const constant = constantClause.exec(sql)?.[1];
  const isStructure = (column.databaseType?.shape.kind ?? "text") !== "text";
  if (constant === undefined || column.generated || isStructure) return database;
  if (/^null$/i.test(constant)) return null;
  const isText = constant.startsWith("'");
  // In a string column, the stored value can differ from the constant: SQLite stores `TRUE` as 1.
  if (!isText && (column.kind === "text" || column.kind === "json")) return database;
  // The number is a timestamp, but it is not known yet in which format the column stores these.
  if (column.kind === "timestamp" && /^'?[-+]?[\d.]+'?$/.test(constant)) return database;
  const text = isText ? constant.slice(1, -1).replaceAll("''", "'") : constant.toLowerCase();
  try {
    return { kind: "database", sql, value: kindOfColumn(column).fromText(text, column) };
  } catch (error) {
    if (error instanceof InvalidValue) return database;
    throw error;
  }
}

/** Matches a string, a number, TRUE, FALSE or NULL, possibly in parentheses and with a cast. */
const constantClause =
  /^\(*('(?:[^']|'')*'|[-+]?\d[\d.]*|true|false|null)\)*(?:::[\w ()",[\]]+)?\)*$/i;
