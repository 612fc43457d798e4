import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { sqliteTriggerPrefix } from "../../sql/sqlite/change_log_schema.ts";
import { affinityOfType } from "../../sql/sqlite/column_type.ts";
import { parseCreateIndex } from "../../sql/sqlite/parse_create_index.ts";
import { rowIdNames } from "../../sql/sqlite/replaced_rows.ts";
import type { RecordedColumn, RecordedTable, UniqueRule } from "../../sql/sqlite/recorded_table.ts";
import type { Connection } from "../driver.ts";
import { repeatableDefault } from "./default_clause.ts";

/**
 * A table as a file has it, to be recorded. Throws an Error where there is no such table. Columns
 * in `exclude` are never recorded.
 */
export async function describeRecordedTable(
  table: TableInfo,
  exclude: ReadonlySet<ColumnInfo>,
  connection: Connection,
): Promise<RecordedTable> {
  const { name, hasRowIds } = await find(table.name, connection);
  const uniques = await readUniques(name, connection);
  const { columns, key } = await readColumns(name, hasRowIds && !uniques.hasKey, connection);
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
    uniques: uniques.indexes.map((index) => toRule(index, name, names)),
  };
}

async function find(
  wanted: string,
  connection: Connection,
): Promise<{ readonly name: string; readonly hasRowIds: boolean }> {
  const [listed] = await read(
    connection,
    `SELECT name, type, wr FROM pragma_table_list
     WHERE schema = 'main' AND name = ? COLLATE NOCASE`,
    wanted,
  );
  if (listed === undefined) {
    throw new Error(`Cannot record the changes of "${wanted}": there is no such table`);
  }
  const [name, type, withoutRowid] = listed;
  if (type !== "table") {
    throw new Error(`Cannot record the changes of "${wanted}": it is a ${type}, not a table`);
  }
  return { name: String(name), hasRowIds: withoutRowid === 0 };
}

async function readColumns(
  table: string,
  keyMayBeRowId: boolean,
  connection: Connection,
): Promise<
  { readonly columns: readonly RecordedColumn[]; readonly key: readonly RecordedColumn[] }
> {
  const rows = await read(
    connection,
    `SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)`,
    table,
  );
  const keys = rows.filter(([, , , , place]) => Number(place) > 0);
  const columns = rows.map(([name, type, notNull, clause, place, hidden]): RecordedColumn => {
    const affinity = affinityOfType(String(type));
    // A key without an index, which is of one column, is the row id.
    const isRowId = keyMayBeRowId && keys.length === 1 && Number(place) === 1;
    // 2 is VIRTUAL, 3 is STORED.
    const generated = hidden === 2 || hidden === 3;
    return {
      name: String(name),
      mayBeReal: affinity !== "TEXT" && !isRowId,
      generated,
      isRowId,
      replaceDefault: notNull === 1 && typeof clause === "string" && !isRowId
        ? repeatableDefault(clause)
        : null,
    };
  });
  return { columns, key: columns.filter((_, index) => Number(rows[index]?.[4]) > 0) };
}

/** A name of the row id that no column has taken, or the column that it is. */
function rowIdName(columns: readonly RecordedColumn[]): string | null {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()));
  return rowIdNames.find((name) => !taken.has(name)) ??
    columns.find(({ isRowId }) => isRowId)?.name ?? null;
}

interface UniqueIndex {
  readonly isPartial: boolean;
  readonly statement: string | null;
  /** Null is an expression. */
  readonly parts: readonly { readonly column: string | null; readonly collation: string }[];
}

async function readUniques(
  table: string,
  connection: Connection,
): Promise<{ readonly indexes: readonly UniqueIndex[]; readonly hasKey: boolean }> {
  const rows = await read(
    connection,
    `SELECT i.name, i.origin, i.partial, s.sql, c.name, c.coll
     FROM pragma_index_list(?) AS i JOIN pragma_index_xinfo(i.name) AS c
     LEFT JOIN sqlite_schema AS s ON s.type = 'index' AND s.name = i.name
     WHERE i."unique" AND c.key ORDER BY i.seq, c.seqno`,
    table,
  );
  const byName = Map.groupBy(rows, ([name]) => String(name));
  const indexes = [...byName.values()].map((parts): UniqueIndex => ({
    isPartial: parts[0]?.[2] === 1,
    statement: textOrNull(parts[0]?.[3]),
    parts: parts.map(([, , , , column, collation]) => ({
      column: textOrNull(column),
      collation: String(collation),
    })),
  }));
  return { indexes, hasKey: rows.some(([, origin]) => origin === "pk") };
}

/** What PRAGMAs do not tell, expressions and conditions, stands in the statement alone. */
function toRule(
  { isPartial, statement, parts }: UniqueIndex,
  table: string,
  names: readonly string[],
): UniqueRule {
  const columns = parts.flatMap(({ column }) => column ?? []);
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

/** A foreign key acts, or with recursive triggers those of the table do. */
async function mayBeInterrupted(table: string, connection: Connection): Promise<boolean> {
  const [found] = await read(
    connection,
    `SELECT 1 FROM sqlite_schema AS s JOIN pragma_foreign_key_list(s.name) AS f
     WHERE s.type = 'table' AND s.rootpage > 0 AND f."table" = ? COLLATE NOCASE
       AND f.on_delete IN ('CASCADE', 'SET NULL', 'SET DEFAULT')
     UNION ALL SELECT 1 FROM sqlite_schema
     WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE AND sql LIKE '%DELETE%' AND name NOT GLOB '${sqliteTriggerPrefix}*'
     LIMIT 1`,
    table,
    table,
  );
  return found !== undefined;
}

function textOrNull(value: SqlValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}

async function read(
  connection: Connection,
  text: string,
  ...values: readonly SqlValue[]
): Promise<readonly (readonly SqlValue[])[]> {
  return (await connection.query({ text, values })).rows;
}
