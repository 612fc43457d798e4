import type { ColumnKind } from "../../../schema/kind.ts";
import { isSpecialValue } from "../../../schema/special_values.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import { type Fragment, rawSql } from "../../../sql/fragment.ts";

export interface PostgresKind {
  readonly type: string;
  readonly cast: Fragment;
  /** True if equal values are identical, unlike 1.0 and 1.00. False for kinds without equality. */
  readonly isStrict: boolean;
  /** How SQL computes an extreme: with `min` and `max`, `bool_and` and `bool_or`, or as text. */
  readonly extremes: "own" | "of booleans" | "of text";
  /** The values whose stored form can differ from the form in which the service writes them. */
  readonly otherForms: "none" | "of zero" | "all";
}

const strict = { isStrict: true, extremes: "own", otherForms: "none" } as const;
const loose = { ...strict, isStrict: false } as const;

export const postgresKinds: Readonly<Record<ColumnKind, PostgresKind>> = {
  text: { ...strict, type: 'text COLLATE "C"', cast: rawSql("::text") },
  integer: { ...strict, type: "int8", cast: rawSql("::int8") },
  bigint: { ...strict, type: "int8", cast: rawSql("::int8") },
  // Floats have a −0, which the service returns as 0.
  real: { ...loose, type: "float8", cast: rawSql("::float8"), otherForms: "of zero" },
  decimal: { ...loose, type: "numeric", cast: rawSql("::numeric") },
  // Postgres has no min() of booleans, nor of uuids before version 18. Text has the same order.
  boolean: { ...strict, type: "boolean", cast: rawSql("::boolean"), extremes: "of booleans" },
  timestamp: { ...strict, type: "timestamptz(6)", cast: rawSql("::timestamptz") },
  date: { ...strict, type: "date", cast: rawSql("::date") },
  uuid: { ...strict, type: "uuid", cast: rawSql("::uuid"), extremes: "of text" },
  // Other programs can write other spaces, `1.0` instead of `1`, or the document `null` for NULL.
  json: { ...loose, type: "jsonb", cast: rawSql("::jsonb"), otherForms: "all" },
  bytes: { ...loose, type: "bytea", cast: rawSql("::bytea") },
};

export function mayBeStoredDifferently(
  value: unknown,
  { kind, existingType }: ColumnInfo,
): boolean {
  const { otherForms } = postgresKinds[kind];
  const isOther = otherForms === "all" || otherForms === "of zero" && value === 0;
  if (existingType !== null && isOther) return true;
  return typeof value === "string" && isSpecialValue(value, kind);
}
