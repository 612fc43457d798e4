import type { JsonSchema } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";
import { mayWrite } from "../resource/write/values/parse_fields.ts";
import { isAny, isDocument } from "../schema/structured/structured_value.ts";
import type { ColumnKind } from "../schema/kind.ts";
import { type ColumnInfo, isRequired } from "../schema/table_info.ts";
import { limitsOfText, responseColumnSchema, structureSchema } from "./column_json_schema.ts";

/** The description of a field that responses can contain. */
export interface FieldSchema {
  /** Name of the field in rows and in bodies. */
  readonly name: string;
  /** The comment on the column in the database. Absent if the column has no comment. */
  readonly description?: string;
  /** Column kind. `any` allows numbers and strings; a `computed` field can have any value. */
  readonly type: ColumnKind | "any" | "computed";
  /**
   * For an integer, true if the client library receives strings of digits, because values can
   * exceed 2^53. For `any`, true if a number beyond 2^53 is a string of digits, and a string that
   * looks like a number is quoted, as in paths.
   */
  readonly wide?: true;
  /** True if the field can be null in a row. */
  readonly nullable: boolean;
  /** True if the body that creates a row must contain the field. */
  readonly required: boolean;
  /** The allowed strings. Absent if all strings are allowed. */
  readonly enum?: readonly string[];
  /** Minimum length of the field's strings in characters. */
  readonly minLength?: number;
  /** Maximum length of the field's strings in characters. */
  readonly maxLength?: number;
  /** Regular expression with the flag `u`. It must match at least a part of each string. */
  readonly pattern?: string;
  /** Format that each string must have. */
  readonly format?: "email";
  /** The lowest allowed value, as a JSON value. */
  readonly min?: unknown;
  /** The highest allowed value, as a JSON value. */
  readonly max?: unknown;
  /** JSON Schema (OpenAPI 3.0) of the field. Present for lists, and objects with known members. */
  readonly schema?: JsonSchema;
  /** Present if no body can set the field. */
  readonly readOnly?: true;
  /** Present if only the body that creates a row can set the field. */
  readonly createOnly?: true;
  /** Present if responses contain the field only if `select` names it. */
  readonly onSelect?: true;
  /** Present if the readable fields depend on the user. Responses can then omit the field. */
  readonly perUser?: true;
}

export function fieldsOf(resource: Resource): readonly FieldSchema[] {
  const columns = resource.fields.selectable.map((column) => fieldOf(column, resource));
  const computed = resource.computed.fields.map(([name]): FieldSchema => ({
    ...{ name, type: "computed", nullable: true, required: false, readOnly: true },
  }));
  return [...columns, ...computed];
}

export function isRequiredOnCreate(column: ColumnInfo, resource: Resource): boolean {
  if (!isRequired(column) || column.default !== null || resource.generated.has(column)) {
    return false;
  }
  // A body needs no foreign key to a row that the same request writes.
  return !resource.nestedWrites ||
    [...resource.relations.values()].every(({ type, steps: [step] }) =>
      type !== "belongsTo" || !step.own.includes(column)
    );
}

function fieldOf(column: ColumnInfo, resource: Resource): FieldSchema {
  const { name, kind, notNull, description } = column;
  const isWritten = mayWrite(column, resource);
  return {
    name,
    ...(description === null ? {} : { description }),
    type: isAny(column) ? "any" : kind,
    ...(column.isWide ? { wide: true } : {}),
    nullable: !notNull,
    required: isWritten && isRequiredOnCreate(column, resource),
    ...rulesOf(column),
    ...(kind !== "json" || isDocument(column)
      ? {}
      : { schema: structureSchema(column, responseColumnSchema) }),
    ...(isWritten ? {} : { readOnly: true }),
    ...(column.rowFunction === undefined ? {} : { onSelect: true }),
    ...(isWritten && (column.primaryKey || resource.fields.immutable.has(column))
      ? { createOnly: true }
      : {}),
    ...(resource.varyingFields.has("readable") ? { perUser: true } : {}),
  };
}

export function rulesOf(column: ColumnInfo): Partial<FieldSchema> {
  const { enumValues, min, max } = column;
  return {
    ...(enumValues === null ? {} : { enum: enumValues }),
    ...limitsOfText(column),
    ...(min === null ? {} : { min: inJson(min) }),
    ...(max === null ? {} : { max: inJson(max) }),
  };
}

/** Converts a bigint to a JSON number. OpenAPI tools read long integers as doubles anyway. */
function inJson(limit: unknown): unknown {
  return typeof limit === "bigint" ? Number(limit) : limit;
}
