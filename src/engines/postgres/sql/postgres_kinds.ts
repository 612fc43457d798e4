import type { ColumnKind } from "../../../schema/kind.ts";
import { isSpecialValue } from "../../../schema/special_values.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import { type Fragment, rawSql } from "../../../sql/fragment.ts";

export interface PostgresKind {
  /** The type of a column that the service creates. */
  readonly type: string;
  /** The cast of a bound value to the type that is compared with columns of the kind. */
  readonly cast: Fragment;
  /** True if equal values are identical. False for 1.0 and 1.00, and for kinds without equality. */
  readonly isStrict: boolean;
  /** The form in which SQL computes minima and maxima. All forms have the same order. */
  readonly extremes: "own" | "of booleans" | "of text";
  /** The values that an existing column may store unlike the service: none, zero, or any value. */
  readonly otherForms: "none" | "of zero" | "all";
}

const strict = { isStrict: true, extremes: "own", otherForms: "none" } as const;
const loose = { ...strict, isStrict: false } as const;

export const postgresKinds: Readonly<Record<ColumnKind, PostgresKind>> = {
  text: { ...strict, type: 'text COLLATE "C"', cast: rawSql("::text") },
  integer: { ...strict, type: "int8", cast: rawSql("::int8") },
  bigint: { ...strict, type: "int8", cast: rawSql("::int8") },
  // Floats have the value −0, which the service returns as 0.
  real: { ...loose, type: "float8", cast: rawSql("::float8"), otherForms: "of zero" },
  decimal: { ...loose, type: "numeric", cast: rawSql("::numeric") },
  // Postgres has no min() of booleans, and before 18 none of uuids. Their text has the same order.
  boolean: { ...strict, type: "boolean", cast: rawSql("::boolean"), extremes: "of booleans" },
  timestamp: { ...strict, type: "timestamptz(6)", cast: rawSql("::timestamptz") },
  date: { ...strict, type: "date", cast: rawSql("::date") },
  uuid: { ...strict, type: "uuid", cast: rawSql("::uuid"), extremes: "of text" },
  // The text of a document may have spaces and trailing zeros, and the JSON null is not NULL.
  json: { ...loose, type: "jsonb", cast: rawSql("::jsonb"), otherForms: "all" },
  bytes: { ...loose, type: "bytea", cast: rawSql("::bytea") },
};

/**
 * Returns true if Postgres may store a value in another form than a write of the service would.
 * Some Postgres types also have special values that do not exist in their column kind.
 */
export function hasOtherStoredForms(value: unknown, { kind, existingType }: ColumnInfo): boolean {
  const { otherForms } = postgresKinds[kind];
  const isOther = otherForms === "all" || otherForms === "of zero" && value === 0;
  if (existingType !== null && isOther) return true;
  return typeof value === "string" && isSpecialValue(value, kind);
}
