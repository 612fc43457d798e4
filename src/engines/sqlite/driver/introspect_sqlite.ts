import { identifier, isSameName, join, sql, toStatement } from "../../../sql/fragment.ts";
import type { Connection, Driver } from "../../../db/driver.ts";
import { sqliteEnumChecks } from "../../../db/tables/enum_checks.ts";
import {
  type ColumnDraft,
  completeDrafts,
  type ForeignKeyDraft,
  type Introspection,
  type IntrospectOptions,
  type TableDraft,
} from "../../../db/introspection.ts";
import type { IndexInfo } from "../../../schema/table_constraints.ts";
import { parseCreateIndex } from "../../../sql/statements/parse_create_index.ts";
import { repeatableDefault } from "./default_clause.ts";
import { rowIdColumn } from "./tables/row_id_column.ts";
import { inferSampledColumn, readColumnSamples, readKeyEnds } from "./tables/sample_columns.ts";
import {
  reasonWithCollations,
  refusedWrites,
  unknownCollations,
  unreadableColumns,
} from "./tables/refused_writes.ts";
import { readOnlyView } from "../../../schema/view_info.ts";
import { parseSimpleView } from "../../../db/views/simple_view.ts";
import {
  connectionForViews,
  readInTime,
  readOrReason,
  readViewInfo,
} from "../views/sqlite_view.ts";
import { declareKeys, inferViewKeys } from "../../../db/views/view_keys.ts";
import {
  type FileColumn,
  type FileUniqueIndex,
  readFileColumns,
  readFileForeignKeys,
  readFileUniqueIndexes,
} from "./tables/sqlite_catalogue.ts";
import { moduleOf } from "./tables/shadow_tables.ts";
import { type ListedTable, listFileTables } from "./tables/list_file_tables.ts";

export async function introspectSqlite(
  driver: Driver,
  { schemas, functions, keys = {} }: IntrospectOptions = {},
): Promise<Introspection> {
  if (schemas !== undefined || functions !== undefined) {
    const named = schemas === undefined ? "functions" : "schemas";
    throw new Error(`Cannot read the ${named} that were named: SQLite has none`);
  }
  const listed = await listFileTables(driver);
  const [columns, foreignKeys, indexes] = await Promise.all([
    readFileColumns(driver),
    readFileForeignKeys(driver),
    readFileUniqueIndexes(driver),
  ]);
  const drafts: TableDraft[] = [];
  const leftOut = [...listed.leftOut];
  const described: TableFacts[] = [];
  for (const table of listed.tables) {
    const of = <R extends { readonly owner: string }>(rows: readonly R[]) =>
      rows.filter(({ owner }) => owner === table.name);
    const unreadable = await unreadableColumns(driver, table.name, of(columns));
    const isRead = (name: string | null) => name === null || !unreadable.has(name);
    const facts = {
      table,
      columns: of(columns).filter(({ name }) => isRead(name)),
      foreignKeys: of(foreignKeys).filter((key) => key.columns.every(isRead)),
      indexes: of(indexes).filter((index) => index.columns.every(isRead)),
    };
    const read = await readOrReason(() => draftTable(driver, facts));
    if ("reason" in read) {
      const reason = await reasonWithCollations(driver, table.name, read.reason);
      leftOut.push({ table: table.name, reason });
      continue;
    }
    for (const [name, reason] of unreadable) {
      leftOut.push({ table: `${table.name}.${name}`, reason: `it cannot be read: ${reason}` });
    }
    drafts.push(read.value);
    described.push(facts);
  }
  for (
    const [draft, shown] of [[draftVirtual, listed.virtual], [draftView, listed.views]] as const
  ) {
    for (const view of shown) {
      const read = await readOrReason(() => draft(driver, view));
      if ("value" in read) drafts.push(read.value);
      else leftOut.push({ table: view.name, reason: read.reason });
    }
  }
  const keyed = declareKeys(
    inferViewKeys(drafts, isSameName),
    keys,
    leftOut.map(({ table }) => table),
  );
  const tables = completeDrafts(keyed);
  const refused = await refusedWrites(driver, described);
  return { tables, leftOut, refusedWrites: refused, otherSchemas: [], functions: {} };
}

interface TableFacts {
  readonly table: ListedTable;
  readonly columns: readonly FileColumn[];
  readonly foreignKeys: readonly ForeignKeyDraft[];
  readonly indexes: readonly FileUniqueIndex[];
}

async function draftTable(driver: Driver, facts: TableFacts): Promise<TableDraft> {
  const { table, columns, indexes } = facts;
  const uniques = indexes.filter(({ isPartial }) => !isPartial);
  const key = columns
    .filter(({ keyPosition }) => keyPosition > 0)
    .sort((left, right) => left.keyPosition - right.keyPosition);
  const countsUp = key.length === 1 && !uniques.some(({ isKey }) => isKey);
  const unshadowed = rowIdColumn(columns.map(({ name }) => name));
  const rowId = key.length === 0 ? unshadowed : null;
  const last = table.withoutRowid ? null : unshadowed?.name ?? null;
  const [sample, unknown, keyEnds, hasNullKey] = await Promise.all([
    readColumnSamples(driver, { name: table.name, columns, rowId: last }),
    unknownCollations(driver, table.name, columns),
    readKeyEnds(driver, table.name, key),
    countsUp || table.withoutRowid ? false : readHasNull(driver, table, key),
  ]);
  const enums = sqliteEnumChecks(table.sql);
  return {
    name: table.name,
    schema: null,
    label: table.name,
    ...{ view: null, isReadOnly: false, simple: null, hasRowId: rowId !== null },
    key: rowId === null ? key.map(({ name }) => name) : [rowId.dbName],
    isDistinct: !hasNullKey,
    foreignKeys: facts.foreignKeys,
    indexes: indexes.flatMap((index) => describedIndex(index, facts)),
    columns: [...(rowId === null ? [] : [rowId])].concat(
      columns.map((column, index): ColumnDraft => {
        const values = sample.flatMap((row) => row[index] ?? []);
        const isKey = column.keyPosition > 0;
        const ends = column.name === key[0]?.name ? keyEnds : [];
        const known = [...values, ...ends];
        const sampled = inferSampledColumn(column, known, { dialect: driver.dialect, isKey });
        return {
          ...sampled,
          // SQLite allows NULL in a key that is not declared NOT NULL, but NULL is rare.
          notNull: column.notNull || isKey && !hasNullKey,
          unique: uniques.some((unique) =>
            !unique.isKey && unique.columns.length === 1 && unique.columns[0] === column.name
          ),
          generated: column.generated,
          looseCollation: unknown.has(column.name),
          defaultSql: isKey && countsUp ? "the next row id" : repeatableDefault(column.defaultSql),
          enumValues: sampled.kind === "text" && sampled.databaseType === undefined
            ? enums.get(column.name.toLowerCase()) ?? null
            : null,
        };
      }),
    ),
  };
}

function describedIndex(
  { name, isPartial, statement, columns, isKey }: FileUniqueIndex,
  { table, columns: all }: TableFacts,
): readonly IndexInfo[] {
  const names = columns.flatMap((column) => column ?? []);
  if (isKey || names.length < columns.length || !isPartial && names.length < 2) return [];
  const { where } = isPartial
    ? parseCreateIndex(statement ?? "", table.name, all.map((column) => column.name))
    : { where: null };
  return [{ name, columns: names, unique: true, where }];
}

async function draftView(
  driver: Driver,
  { name, sql }: ListedTable,
  view: TableDraft["view"] = null,
): Promise<TableDraft> {
  const columns = await readFileColumns(driver, name);
  const sample = await readInTime(
    () => readColumnSamples(connectionForViews(driver), { name, columns }),
    [],
  );
  const unknown = await unknownCollations(driver, name, columns);
  return {
    name,
    schema: null,
    label: name,
    view: view ?? await readViewInfo(driver, name, columns.map((column) => column.name)),
    ...{ isReadOnly: false, simple: parseSimpleView(sql), hasRowId: false },
    ...{ key: [], isDistinct: false, foreignKeys: [] },
    columns: columns.map((column, index) => ({
      ...inferSampledColumn(column, sample.flatMap((row) => row[index] ?? []), driver),
      ...{ notNull: false, unique: false, generated: false, defaultSql: null, enumValues: null },
      ...{ varies: true, looseCollation: unknown.has(column.name) },
    })),
  };
}

/** Describes a virtual table as a view. Its key is the row id (FTS) or first column (R*Tree). */
async function draftVirtual(driver: Driver, table: ListedTable): Promise<TableDraft> {
  // Describes no writes: a read-only connection rejects even EXPLAIN of a write to the table.
  const draft = await draftView(driver, table, readOnlyView);
  const module = moduleOf(table.sql) ?? "";
  const isFullText = /^fts[345]$/.test(module);
  if (!isFullText && !/^rtree/.test(module)) return draft;
  const columns = draft.columns.map((column) => ({ ...column, varies: false }));
  const rowId = isFullText ? rowIdColumn(columns.map(({ name }) => name)) : null;
  const shown = rowId === null ? columns : [rowId, ...columns];
  const key = isFullText ? rowId : columns[0];
  const isKey = (name: string) => name === key?.name;
  return {
    ...{ ...draft, hasRowId: rowId !== null, isDistinct: true },
    columns: shown.map((column) => ({ ...column, notNull: isKey(column.name) })),
    key: key === null || key === undefined ? [] : [key.name],
  };
}

async function readHasNull(
  connection: Connection,
  table: ListedTable,
  key: readonly FileColumn[],
): Promise<boolean> {
  const open = key.filter(({ notNull }) => !notNull);
  if (open.length === 0) return false;
  const isNull = join(open.map(({ name }) => sql`${identifier(name)} IS NULL`), " OR ");
  const query = sql`SELECT 1 FROM ${identifier(table.name)} WHERE ${isNull} LIMIT 1`;
  return (await connection.query(toStatement(query, () => "?"))).rows.length > 0;
}
