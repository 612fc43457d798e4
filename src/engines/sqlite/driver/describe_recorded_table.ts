import type { ColumnInfo, TableInfo } from "../../../schema/table_info.ts";

import { sqliteTriggerPrefix } from "../sql/change_log_schema.ts";
import { affinityOfType } from "../sql/column_type.ts";
import { parseCreateIndex } from "../../../sql/statements/parse_create_index.ts";
import {
  type RecordedColumn,
  type RecordedTable,
  type RecordedUniqueIndex,
  rowIdNames,
} from "../sql/recorded_table.ts";
import type { Connection } from "../../../db/driver.ts";
import { cell, selectNamed } from "../../../db/named_columns.ts";
import { repeatableDefault } from "./default_clause.ts";
import {
  type FileColumn,
  type FileUniqueIndex,
  readFileColumns,
  readFileUniqueIndexes,
} from "./tables/sqlite_catalogue.ts";

export async function describeRecordedTable(
  table: TableInfo,
  exclude: ReadonlySet<ColumnInfo>,
  connection: Connection,
): Promise<RecordedTable> {
  const { name, hasRowIds } = await findTable(table.name, connection);
  const uniques = await readFileUniqueIndexes(connection, name);
  const keyMayBeRowId = hasRowIds && !uniques.some(({ isKey }) => isKey);
  const found = recordedColumns(await readFileColumns(connection, name), keyMayBeRowId);
  const { columns, key } = withRowIdKey(found, table);
  const hidden = new Set(
    table.columns.filter((column) => exclude.has(column)).map(({ dbName }) => dbName.toLowerCase()),
  );
  const names = columns.map(({ name }) => name);
  return {
    name,
    columns,
    recorded: columns.filter(({ name }) => !hidden.has(name.toLowerCase())),
    key: key.length > 0 ? key : columns,
    rowId: hasRowIds ? rowIdName(columns) : null,
    hasStableIdentity: !hasRowIds || columns.some(({ isRowId }) => isRowId),
    mayBeInterrupted: await mayBeInterrupted(name, connection),
    uniques: uniques.map((index) => toRule(index, name, names)),
  };
}

async function findTable(
  wanted: string,
  connection: Connection,
): Promise<{ readonly name: string; readonly hasRowIds: boolean }> {
  const [listed] = await selectNamed(
    connection,
    { name: cell.text("name"), type: cell.text("type"), withoutRowid: cell.flag("wr") },
    "FROM pragma_table_list WHERE schema = 'main' AND name = ? COLLATE NOCASE",
    wanted,
  );
  if (listed === undefined) {
    throw new Error(`Cannot record the changes of "${wanted}": there is no such table`);
  }
  const { name, type, withoutRowid } = listed;
  if (type !== "table") {
    throw new Error(`Cannot record the changes of "${wanted}": it is a ${type}, not a table`);
  }
  return { name, hasRowIds: !withoutRowid };
}

function recordedColumns(
  rows: readonly FileColumn[],
  keyMayBeRowId: boolean,
): RecordedColumns {
  const keyLength = rows.filter(({ keyPosition }) => keyPosition > 0).length;
  const columns = rows.map(({ name, type, notNull, defaultSql, keyPosition, generated }) => {
    // If no index exists for a key of one column, the key is the row id.
    const isRowId = keyMayBeRowId && keyLength === 1 && keyPosition === 1;
    return {
      name,
      mayBeReal: affinityOfType(type) !== "TEXT" && !isRowId,
      generated,
      isRowId,
      replaceDefault: notNull && !isRowId ? repeatableDefault(defaultSql) : null,
    };
  });
  return { columns, key: columns.filter((_, index) => (rows[index]?.keyPosition ?? 0) > 0) };
}

interface RecordedColumns {
  readonly columns: readonly RecordedColumn[];
  readonly key: readonly RecordedColumn[];
}

function withRowIdKey(found: RecordedColumns, { primaryKey }: TableInfo): RecordedColumns {
  const [key, another] = primaryKey;
  const isFound = found.columns.some(({ name }) => name.toLowerCase() === key?.dbName);
  if (key === undefined || another !== undefined || isFound || found.key.length > 0) return found;
  const rowId: RecordedColumn = {
    name: key.dbName,
    mayBeReal: false,
    generated: false,
    isRowId: true,
    replaceDefault: null,
  };
  return { columns: [rowId, ...found.columns], key: [rowId] };
}

function rowIdName(columns: readonly RecordedColumn[]): string | null {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()));
  return rowIdNames.find((name) => !taken.has(name)) ??
    columns.find(({ isRowId }) => isRowId)?.name ?? null;
}

/** Parses CREATE INDEX, because PRAGMAs do not return an index's expressions and condition. */
function toRule(
  { statement, isPartial, columns: all, collations }: FileUniqueIndex,
  table: string,
  names: readonly string[],
): RecordedUniqueIndex {
  const parts = all.map((column, at) => ({ column, collation: collations[at] ?? "BINARY" }));
  const columns = all.flatMap((column) => column ?? []);
  if (statement === null || (!isPartial && columns.length === parts.length)) {
    return { where: null, columns, parts: parts.map((part) => ({ ...part, text: "" })) };
  }
  const text = parseCreateIndex(statement, table, names);
  return {
    where: text.where,
    columns: text.columns,
    parts: parts.map((part, index) => ({ ...part, text: text.parts[index] ?? "" })),
  };
}

async function mayBeInterrupted(table: string, connection: Connection): Promise<boolean> {
  const { rows } = await connection.query({
    text: `SELECT 1 FROM sqlite_schema AS s JOIN pragma_foreign_key_list(s.name) AS f
     WHERE s.type = 'table' AND s.rootpage > 0 AND f."table" = ? COLLATE NOCASE
       AND f.on_delete IN ('CASCADE', 'SET NULL', 'SET DEFAULT')
     UNION ALL SELECT 1 FROM sqlite_schema
     WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE AND sql LIKE '%DELETE%' AND name NOT GLOB '${sqliteTriggerPrefix}*'
     LIMIT 1`,
    values: [table, table],
  });
  return rows.length > 0;
}
