import type { ColumnKind } from "../schema/kind.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import type { Fragment } from "./fragment.ts";

/** The member names and array indexes that lead to a value within a JSON document. */
export type JsonPath = readonly string[];

export function isJsonIndex(name: string): boolean {
  return /^(?:0|[1-9]\d{0,8})$/.test(name);
}

/** The part of a dialect for values within JSON documents. */
export interface JsonPathDialect {
  /** Returns the value at a path of a json column. */
  at(column: ColumnInfo, path: JsonPath): JsonPathValue;
  /** Returns a decimal, bound for a comparison with {@link JsonPathValue.number}. */
  boundNumber(plain: string): Fragment;
  /** The kind of column that sorts {@link JsonPathValue.number} in numeric order. */
  readonly numberKind: ColumnKind;
}

/** SQL for a value in a document. Each member is NULL if the JSON is invalid or lacks the value. */
export interface JsonPathValue {
  /** The type, as a string: `'null'` for the JSON `null`, and other strings for other values. */
  readonly type: Fragment;
  /** The characters of a string, or NULL for other types. Strings sort by code point. */
  readonly text: Fragment;
  /** The value as a number with all its digits, or NULL for other types. */
  readonly number: Fragment;
  /** `'true'` or `'false'`, or NULL for other types. */
  readonly boolean: Fragment;
}
