import { isSameName, quoteIdentifier, sqlName } from "../../../sql/fragment.ts";
import type { Connection } from "../../../db/driver.ts";
import { cell, selectNamed } from "../../../db/named_columns.ts";
import { postgresEnumCheck } from "../../../db/tables/enum_checks.ts";
import {
  type CheckShape,
  type ColumnShape,
  type ExistingShapes,
  type IndexShape,
  isWholeUnique,
  type TableName,
  type TableShape,
  type UniqueShape,
} from "../../../db/migrations/compare/table_shape.ts";
import { parseCreateTable } from "../../../sql/statements/parse_create_table.ts";
import { columnNames } from "../driver/tables/postgres_catalogue.ts";
import { runInSavepoint } from "../../../db/database_handle.ts";
import type { DeclaredTable } from "../../../db/migrations/compare/compare_tables.ts";

export async function readPostgresShapes(
  connection: Connection,
  names: readonly TableName[],
): Promise<ExistingShapes> {
  const asked = names.map((table) => [sqlName(table), table] as const);
  const rows = await selectNamed(
    connection,
    {
      id: cell.text("c.oid"),
      asked: cell.text("n.name"),
      isTable: cell.flag("c.relkind IN ('r', 'p')"),
    },
    `FROM json_array_elements_text($1::json) WITH ORDINALITY AS n(name, position)
     JOIN pg_class c ON c.oid = to_regclass(n.name) ORDER BY n.position`,
    JSON.stringify(asked.map(([name]) => name)),
  );
  const byName = new Map(asked);
  const found = rows.flatMap(({ id, asked, isTable }) => {
    const table = byName.get(asked);
    return table === undefined ? [] : [{ id, table, isTable }];
  });
  const tables = found.filter(({ isTable }) => isTable);
  const ids = JSON.stringify(tables.map(({ id }) => id));
  const columns = await readColumns(connection, ids);
  const constraints = await readConstraints(connection, ids);
  const indexes = await readIndexes(connection, ids);
  return {
    tables: tables.map(({ id, table }) => {
      const of = <R extends { readonly owner: string }>(rows: readonly R[]) =>
        rows.filter(({ owner }) => owner === id).map(withoutOwner);
      return shapeOf(table, of(columns), of(constraints), of(indexes));
    }),
    others: found.filter(({ isTable }) => !isTable).map(({ table }) => table),
  };
}

function withoutOwner<R extends { readonly owner: string }>(row: R): Omit<R, "owner"> {
  const { owner: _owner, ...rest } = row;
  return rest;
}

type Owned<T> = T & { readonly owner: string };

async function readColumns(
  connection: Connection,
  ids: string,
): Promise<readonly Owned<ColumnShape>[]> {
  const rows = await selectNamed(
    connection,
    {
      owner: cell.text("a.attrelid"),
      name: cell.text("a.attname"),
      type: cell.text("format_type(a.atttypid, a.atttypmod)"),
      collation: cell.textOrNull(`(SELECT l.collname FROM pg_collation l
        WHERE l.oid = a.attcollation AND a.attcollation <> t.typcollation)`),
      notNull: cell.flag("a.attnotnull"),
      countsUp: cell.flag(
        "a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%'",
      ),
      isGenerated: cell.flag("a.attgenerated <> ''"),
      expression: cell.textOrNull("pg_get_expr(d.adbin, d.adrelid)"),
    },
    `FROM pg_attribute a
     JOIN pg_type t ON t.oid = a.atttypid
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid IN (${idsOf}) AND a.attnum > 0 AND NOT a.attisdropped
     ORDER BY a.attrelid, a.attnum`,
    ids,
  );
  return rows.map(({ isGenerated, expression, ...column }) => ({
    ...column,
    default: isGenerated || column.countsUp ? null : expression,
    generated: isGenerated ? expression : null,
    members: null,
  }));
}

const idsOf = "SELECT json_array_elements_text($1::json)::oid";

async function readConstraints(connection: Connection, ids: string) {
  const rows = await selectNamed(
    connection,
    {
      owner: cell.text("k.conrelid"),
      name: cell.text("k.conname"),
      kind: cell.text("k.contype"),
      columns: cell.list(columnNames("k.conrelid", "k.conkey")),
      definition: cell.text("pg_get_constraintdef(k.oid)"),
      table: cell.text("f.relname"),
      schema: cell.textOrNull(
        "CASE WHEN m.nspname IS DISTINCT FROM current_schema() THEN m.nspname END",
      ),
      references: cell.list(columnNames("k.confrelid", "k.confkey")),
      onDelete: cell.text("k.confdeltype"),
      onUpdate: cell.text("k.confupdtype"),
    },
    `FROM pg_constraint k
     LEFT JOIN pg_class f ON f.oid = k.confrelid
     LEFT JOIN pg_namespace m ON m.oid = f.relnamespace
     WHERE k.conrelid IN (${idsOf}) AND k.contype IN ('p', 'u', 'c', 'f') ORDER BY k.oid`,
    ids,
  );
  return rows.map(({ onDelete, onUpdate, ...constraint }) => ({
    ...constraint,
    onDelete: actions.get(onDelete) ?? null,
    onUpdate: actions.get(onUpdate) ?? null,
  }));
}

const actions: ReadonlyMap<string, string> = new Map([
  ["c", "cascade"],
  ["r", "restrict"],
  ["n", "set null"],
  ["d", "set default"],
]);

async function readIndexes(
  connection: Connection,
  ids: string,
): Promise<readonly Owned<IndexShape>[]> {
  return await selectNamed(
    connection,
    {
      owner: cell.text("i.indrelid"),
      name: cell.text("c.relname"),
      parts: cell.list(`(SELECT json_agg(CASE WHEN i.indkey[n - 1] = 0
          THEN pg_get_indexdef(i.indexrelid, n, true)
          ELSE (SELECT a.attname FROM pg_attribute a
            WHERE a.attrelid = i.indrelid AND a.attnum = i.indkey[n - 1]) END ORDER BY n)
        FROM generate_series(1, i.indnkeyatts) AS n)`),
      unique: cell.flag("i.indisunique"),
      where: cell.textOrNull("pg_get_expr(i.indpred, i.indrelid)"),
      isPlain: cell.flag(
        "m.amname = 'btree' AND i.indexprs IS NULL AND i.indnatts = i.indnkeyatts",
      ),
      isValid: cell.flag("i.indisvalid AND i.indisready"),
      sql: cell.text("pg_get_indexdef(i.indexrelid)"),
    },
    `FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
     WHERE i.indrelid IN (${idsOf}) AND NOT EXISTS (SELECT FROM pg_constraint k
       WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
     ORDER BY i.indexrelid`,
    ids,
  );
}

function shapeOf(
  { schema, name }: TableName,
  columns: readonly ColumnShape[],
  constraints: readonly Omit<Awaited<ReturnType<typeof readConstraints>>[number], "owner">[],
  indexes: readonly IndexShape[],
): TableShape {
  const of = (kind: string) => constraints.filter((one) => one.kind === kind);
  const enums = of("c").flatMap(({ name, columns: [column, another], definition }) => {
    const values = postgresEnumCheck(definition);
    const isOne = column !== undefined && another === undefined && values !== null;
    return isOne ? [{ column, members: { values, check: name } }] : [];
  });
  const enumNames = new Set(enums.map(({ members }) => members.check));
  return {
    ...{ schema, name, sql: null },
    columns: columns.map((column) => ({
      ...column,
      members: enums.find((one) => one.column === column.name)?.members ?? null,
    })),
    key: of("p")[0]?.columns ?? [],
    keyName: of("p")[0]?.name ?? null,
    uniques: [
      ...of("u").map(({ name, columns }): UniqueShape => ({ name, columns, index: null })),
      ...indexes.filter(isWholeUnique).map(({ name, parts, sql }): UniqueShape => ({
        ...{ name, columns: parts, index: sql },
      })),
    ],
    checks: of("c").filter(({ name }) => !enumNames.has(name)).map((one): CheckShape => ({
      name: one.name,
      sql: one.definition.replace(/^CHECK \((.*)\)(?: NO INHERIT)?(?: NOT VALID)?$/s, "$1"),
    })),
    foreignKeys: of("f").map(({ kind: _kind, definition: _definition, ...key }) => key),
    indexes: indexes.filter((index) => !isWholeUnique(index)),
  };
}

export async function shapesPrintedByPostgres(
  connection: Connection,
  declared: readonly DeclaredTable[],
): Promise<readonly DeclaredTable[]> {
  const shapes: TableShape[] = [];
  const rollBack = new Error("The temporary tables are not kept");
  const read = async () => {
    for (const { shape } of declared) {
      for (const text of temporaryTable(shape)) await connection.query({ text, values: [] });
    }
    const names = declared.map(({ table: { name } }) => ({ schema: "pg_temp", name }));
    shapes.push(...(await readPostgresShapes(connection, names)).tables);
    throw rollBack;
  };
  await runInSavepoint(connection, "written_tables", read).catch((error) => {
    if (error !== rollBack) throw error;
  });
  return declared.map((one) => {
    const written = shapes.find(({ name }) => name === one.table.name);
    return written === undefined ? one : { ...one, shape: withExpressions(one, written) };
  });
}

/** Returns the SQL of a temporary table. It must not have foreign keys to permanent tables. */
function temporaryTable({ name, sql, indexes }: TableShape): readonly string[] {
  const definitions = parseCreateTable(sql ?? "()").definitions
    .filter(({ column, constraints: [constraint] }) =>
      column !== null || constraint?.kind !== "references"
    );
  const table = quoteIdentifier(name);
  return [
    `CREATE TEMPORARY TABLE ${table} (${definitions.map(({ text }) => text).join(", ")})`,
    ...indexes.filter(({ where }) => where !== null).map((index) =>
      `CREATE INDEX ${quoteIdentifier(index.name)} ON pg_temp.${table} (${
        index.parts.map(quoteIdentifier).join(", ")
      }) WHERE ${index.where}`
    ),
  ];
}

function withExpressions({ shape }: DeclaredTable, written: TableShape): TableShape {
  const namedChecks = new Set(shape.checks.map(({ name }) => name));
  return {
    ...shape,
    columns: shape.columns.map((column) => {
      const found = written.columns.find(({ name }) => isSameName(name, column.name));
      if (found === undefined) return column;
      const members = found.members === null ? null : { values: found.members.values, check: null };
      return { ...column, default: found.default, generated: found.generated, members };
    }),
    checks: written.checks.map(({ name, sql }) => ({
      name: namedChecks.has(name) ? name : null,
      sql,
    })),
    indexes: shape.indexes.map((index) => {
      const found = written.indexes.find(({ name }) => name === index.name);
      return found === undefined ? index : { ...index, where: found.where };
    }),
  };
}
