import { type ColumnInfo, plainColumn } from "../../../../schema/table_info.ts";
import type { Dialect } from "../../../../sql/dialect.ts";
import {
  type Fragment,
  identifier,
  join,
  rawSql,
  sql,
  type SqlValue,
  toStatement,
} from "../../../../sql/fragment.ts";
import { affinityOfType } from "../../sql/column_type.ts";
import { defaultTimestampFormat } from "../../sql/decoders.ts";
import type { Connection } from "../../../../db/driver.ts";
import { type InferredType, rankColumnTypes } from "./rank_column_types.ts";

export interface DeclaredColumn {
  readonly name: string;
  readonly type: string;
}

export function inferSampledColumn(
  { name, type }: DeclaredColumn,
  values: readonly SqlValue[],
  { dialect, isKey = false }: { readonly dialect: Dialect; readonly isKey?: boolean },
) {
  // All values of a key must fit its type, because no request could name a key that does not fit.
  const typical = isKey ? values.filter((value) => value !== null) : typicalValues(type, values);
  const fitting = fittingType(rankColumnTypes(type, typical), typical, dialect);
  return {
    ...plainColumn,
    ...fitting,
    isWide: fitting.kind === "integer" &&
      (/BIG|INT8/i.test(type) || typical.some((value) => typeof value === "bigint")),
    exactCase: fitting.kind === "uuid",
    name,
    dbName: name,
    existingType: type,
  };
}

/** Returns the values of the affinity's storage class, unless most values have another class. */
function typicalValues(declared: string, values: readonly SqlValue[]): readonly SqlValue[] {
  const affinity = affinityOfType(declared);
  if (affinity === "BLOB") return values;
  const given = values.filter((value) =>
    value !== null && !(value instanceof Uint8Array && value.length === 0)
  );
  const preferred = given.filter((value) =>
    affinity === "TEXT"
      ? typeof value === "string"
      : typeof value === "number" || typeof value === "bigint"
  );
  return preferred.length * 2 >= given.length ? preferred : given;
}

/** Samples the first and the last rows: a new version of a program can have changed the format. */
export async function readColumnSamples(
  connection: Connection,
  { name, columns, rowId = null }: {
    readonly name: string;
    readonly columns: readonly DeclaredColumn[];
    readonly rowId?: string | null;
  },
): Promise<readonly (readonly SqlValue[])[]> {
  const values = columns.map(({ name }) => firstPart(identifier(name)));
  const rows = (order: Fragment) =>
    sql`SELECT * FROM (SELECT ${join(values, ", ")} FROM ${identifier(name)}${order} LIMIT 200)`;
  const last = rowId === null
    ? sql``
    : sql` UNION ALL ${rows(sql` ORDER BY ${identifier(rowId)} DESC`)}`;
  return (await connection.query(toStatement(sql`${rows(sql``)}${last}`, () => "?"))).rows;
}

/** Returns the least and the greatest key by the index. They show if storage classes are mixed. */
export async function readKeyEnds(
  connection: Connection,
  table: string,
  key: readonly DeclaredColumn[],
): Promise<readonly SqlValue[]> {
  const [column] = key;
  if (column === undefined) return [];
  const name = identifier(column.name);
  const query = (order: string) =>
    sql`SELECT ${firstPart(name)} FROM (SELECT ${name} FROM ${identifier(table)}
      WHERE ${name} IS NOT NULL ORDER BY ${name} ${rawSql(order)} LIMIT 1)`;
  const both = sql`${query("ASC")} UNION ALL ${query("DESC")}`;
  const { rows } = await connection.query(toStatement(both, () => "?"));
  return rows.flat();
}

function firstPart(column: Fragment): Fragment {
  return sql`CASE typeof(${column}) WHEN 'text' THEN substr(${column}, 1, 64)
    WHEN 'blob' THEN substr(${column}, 1, 1) ELSE ${column} END`;
}

function fittingType(
  types: readonly InferredType[],
  values: readonly SqlValue[],
  dialect: Dialect,
): InferredType {
  const fitting = types.find((type) => {
    // A document cannot be parsed, because the sample contains only its beginning.
    if (type.kind === "json") return true;
    const column: ColumnInfo = { ...bareColumn, ...type };
    let fits = true;
    for (const value of values) dialect.decode(value, column, () => fits = false);
    return fits;
  });
  return fitting ?? types.at(-1) ?? bareColumn;
}

const bareColumn: ColumnInfo = {
  ...plainColumn,
  ...{ name: "", dbName: "", kind: "text", existingType: "" },
  timestampFormat: defaultTimestampFormat,
};
