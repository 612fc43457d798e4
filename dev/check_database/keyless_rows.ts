import type { FieldSchema } from "../../src/openapi/fields.ts";
import type { ResourceSchema } from "../../src/openapi/service_schema.ts";
import type { CheckContext } from "./check_resource.ts";
import type { Cell, OracleTable } from "./oracle.ts";
import { isSameValue } from "./same_value.ts";

type Row = Readonly<Record<string, unknown>>;
type Cells = readonly Cell[];

/** Returns each row of a response with its row of SQL, in any order. Null if a row has no pair. */
export function pairRows(
  rows: readonly Row[],
  stored: readonly Cells[],
  { fields, varying }: {
    readonly fields: readonly FieldSchema[];
    readonly varying: ReadonlySet<string>;
  },
): readonly (Cells | null)[] {
  const left = new Set(stored);
  return rows.map((row) => {
    for (const cells of left) {
      const isSame = fields.every(({ name, type }, index) =>
        varying.has(name) || isSameValue(row[name] ?? null, cells[index] ?? null, type) !== false
      );
      if (!isSame) continue;
      left.delete(cells);
      return cells;
    }
    return null;
  });
}

/** Returns the columns whose values differ between two results of SQL, by two query plans. */
export async function findVarying(
  { fields }: ResourceSchema,
  table: OracleTable,
  key: readonly string[] | null,
  { oracle, maxRows }: CheckContext,
): Promise<ReadonlySet<string>> {
  const columns = fields.map(({ name }) => name);
  const select = (limit: number, by: readonly string[]) =>
    oracle.select({
      ...{ table, columns, where: [], limit },
      order: by.map((column) => ({ column, descending: false })),
    });
  const all = await select(maxRows, key ?? []);
  if (key === null && all.length === maxRows) return new Set();
  const sorted = await select(maxRows, key ?? columns);
  const page = await select(101, key ?? columns);
  const answers = [[all, sorted], [sorted.slice(0, 101), page]] as const;
  const valuesOf = (rows: readonly Cells[], index: number) =>
    rows.map((cells) => String(cells[index])).sort().join("\0");
  return new Set(
    columns.filter((_, index) =>
      answers.some(([one, other]) => valuesOf(one, index) !== valuesOf(other, index))
    ),
  );
}
