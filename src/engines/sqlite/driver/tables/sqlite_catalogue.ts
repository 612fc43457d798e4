import type { Connection } from "../../../../db/driver.ts";
import type { ForeignKeyDraft } from "../../../../db/introspection.ts";
import { cell, type NamedRow, selectNamed } from "../../../../db/named_columns.ts";

/** SQL that is true if an `ANY` column converts no strings to numbers, as in a STRICT table. */
const hasStrictAny = "(t.strict OR t.type = 'view' AND " +
  "EXISTS (SELECT 1 FROM pragma_table_list AS l WHERE l.schema = 'main' AND l.strict))";

const columnFacts = {
  owner: cell.text("t.name"),
  name: cell.text("c.name"),
  type: cell.text(`CASE WHEN upper(c.type) = 'ANY' AND ${hasStrictAny} THEN '' ELSE c.type END`),
  notNull: cell.flag(`c."notnull"`),
  defaultSql: cell.textOrNull("c.dflt_value"),
  keyPosition: cell.number("c.pk"),
  // In the result of this PRAGMA, 2 means VIRTUAL and 3 means STORED.
  generated: cell.flag("c.hidden IN (2, 3)"),
};

export type FileColumn = NamedRow<typeof columnFacts>;

export async function readFileColumns(
  connection: Connection,
  table: string | null = null,
): Promise<readonly FileColumn[]> {
  return await selectNamed(
    connection,
    columnFacts,
    `FROM pragma_table_list(?) AS t JOIN pragma_table_xinfo(t.name) AS c
     WHERE t.schema = 'main' AND c.hidden <> 1 ${table === null ? "AND t.type = 'table'" : ""}
     ORDER BY t.name, c.cid`,
    table,
  );
}

export async function readFileForeignKeys(
  connection: Connection,
): Promise<readonly (ForeignKeyDraft & { readonly owner: string })[]> {
  const rows = await selectNamed(
    connection,
    {
      owner: cell.text("t.name"),
      table: cell.text(`f."table"`),
      columns: cell.list(`json_group_array(f."from" ORDER BY f.seq)`),
      to: cell.list<string | null>(`json_group_array(f."to" ORDER BY f.seq)`),
    },
    `FROM pragma_table_list AS t JOIN pragma_foreign_key_list(t.name) AS f
     WHERE t.schema = 'main' AND t.type = 'table'
     GROUP BY t.name, f.id ORDER BY t.name, f.id DESC`,
  );
  return rows.map(({ to, ...key }) => ({
    ...key,
    schema: null,
    references: to.includes(null) ? null : to.map(String),
  }));
}

const uniqueIndexFacts = {
  owner: cell.text("t.name"),
  name: cell.text("i.name"),
  /** True for the index of the primary key. A key that is the row id has no index. */
  isKey: cell.flag("i.origin = 'pk'"),
  isPartial: cell.flag("i.partial"),
  statement: cell.textOrNull(
    "(SELECT s.sql FROM sqlite_schema AS s WHERE s.type = 'index' AND s.name = i.name)",
  ),
  /** The indexed columns. An expression is null. */
  columns: cell.list<string | null>("json_group_array(c.name ORDER BY c.seqno)"),
  collations: cell.list("json_group_array(c.coll ORDER BY c.seqno)"),
};

export type FileUniqueIndex = NamedRow<typeof uniqueIndexFacts>;

export async function readFileUniqueIndexes(
  connection: Connection,
  table: string | null = null,
): Promise<readonly FileUniqueIndex[]> {
  return await selectNamed(
    connection,
    uniqueIndexFacts,
    `FROM pragma_table_list(?) AS t JOIN pragma_index_list(t.name) AS i
     JOIN pragma_index_xinfo(i.name) AS c
     WHERE t.schema = 'main' AND t.type = 'table' AND i."unique" AND c.key
     GROUP BY t.name, i.name ORDER BY t.name, ${table === null ? "i.name" : "i.seq"}`,
    table,
  );
}
