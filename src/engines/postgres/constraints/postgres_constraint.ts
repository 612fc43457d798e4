import { sqlName } from "../../../sql/fragment.ts";
import { refersTo, type TableInfo } from "../../../schema/table_info.ts";
import type { DatabaseError } from "../../../db/database_error.ts";
import type { Connection } from "../../../db/driver.ts";

export async function columnsViolatedOnPostgres(
  { kind, constraint }: DatabaseError,
  table: TableInfo,
  connection: Connection,
): Promise<readonly string[]> {
  if (constraint === null) return [];
  const { schema, table: owner, column, type, name } = constraint;
  if (owner === null) {
    const values = [sqlName(table), schema, type];
    const { rows } = await connection.query({ text: columnsOfType, values });
    // If several columns have the domain, it is unknown which of them has the wrong value.
    return rows.length === 1 ? rows.map(([name]) => String(name)) : [];
  }
  const isWithoutPartition = kind === "check" && name === null;
  const { rows } = await connection.query(
    isWithoutPartition
      ? { text: columnsOfPartitions, values: [schema, owner] }
      : { text: columnsOfConstraint, values: [sqlName(table), schema, owner, name, column] },
  );
  const columns = rows.map(([name]) => String(name));
  return kind === "foreign-key" && refersToOwnColumns(columns, table) ? [] : columns;
}

function refersToOwnColumns(columns: readonly string[], table: TableInfo): boolean {
  const key = table.primaryKey.map(({ dbName }) => dbName);
  return table.foreignKeys.some((foreignKey) =>
    refersTo(foreignKey, table) && foreignKey.columns.every((column) => columns.includes(column)) &&
    !foreignKey.references.every((column) => key.includes(column))
  );
}

const columnsOfType = `SELECT a.attname FROM pg_attribute a
  JOIN pg_type y ON y.oid = a.atttypid JOIN pg_namespace n ON n.oid = y.typnamespace
  WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
    AND n.nspname = $2 AND y.typname = $3`;

/** A query for the columns that decide to which partition of table $1.$2 a row belongs. */
const columnsOfPartitions = `SELECT a.attname FROM pg_partitioned_table p
  JOIN pg_class c ON c.oid = p.partrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (p.partattrs)
  WHERE n.nspname = $1 AND c.relname = $2 ORDER BY array_position(p.partattrs::int2[], a.attnum)`;

/**
 * Finds the column $5, and the columns of the constraint or unique index $4, including columns in
 * its expressions. The table $2.$3 is $1 or a partition of $1.
 */
const columnsOfConstraint = `WITH owner AS (
    SELECT t.oid FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
    WHERE n.nspname = $2 AND t.relname = $3
      AND to_regclass($1) IN (t.oid, pg_partition_root(t.oid))
  ), index AS (
    SELECT x.* FROM owner JOIN pg_index x ON x.indrelid = owner.oid
    JOIN pg_class i ON i.oid = x.indexrelid WHERE i.relname = $4
  ), part AS (
    SELECT k.attnum, k.place FROM owner
    JOIN pg_constraint c ON c.conrelid = owner.oid AND c.conname = $4
    CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k(attnum, place)
    UNION ALL
    SELECT k.attnum, k.place FROM index
    CROSS JOIN LATERAL unnest(index.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
    WHERE k.place <= index.indnkeyatts
    UNION ALL
    SELECT d.refobjsubid, 100 + d.refobjsubid FROM index
    JOIN pg_depend d ON d.objid = index.indexrelid AND d.refobjid = index.indrelid
    WHERE d.classid = 'pg_class'::regclass AND d.refobjsubid > 0 AND index.indexprs IS NOT NULL
    UNION ALL
    SELECT a.attnum, 0 FROM owner JOIN pg_attribute a ON a.attrelid = owner.oid
    WHERE a.attname = $5
  )
  SELECT a.attname FROM part JOIN owner ON true
  JOIN pg_attribute a ON a.attrelid = owner.oid AND a.attnum = part.attnum AND a.attnum > 0
  ORDER BY part.place`;
