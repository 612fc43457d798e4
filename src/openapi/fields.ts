import type { JsonSchema } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";
import { mayWrite } from "../resource/write/values/parse_fields.ts";
import { isAny, isDocument } from "../schema/structured/kind_of_column.ts";
import type { ColumnKind } from "../schema/kind.ts";
import { type ColumnInfo, isRequired } from "../schema/table_info.ts";
import { answeredColumn, structureOf } from "./column_json_schema.ts";

/** The description of one field of a resource. A field that responses never contain has none. */
export interface FieldSchema {
  /** Name in rows and in bodies. */
  readonly name: string;
  /**
   * The kind of its column; `any` for a column that may contain numbers and strings. A computed
   * field may have any value.
   */
  readonly type: ColumnKind | "any" | "computed";
  /**
   * For an integer: a string of digits with safe numbers, which the client requests. For `any`: the
   * form in paths, where a value beyond 2^53 is a string of digits, and a string that looks like a
   * number is quoted.
   */
  readonly wide?: true;
  /** True if a row may have null in this field. */
  readonly nullable: boolean;
  /** True if the body that creates a row must contain the field. */
  readonly required: boolean;
  /** The only allowed strings. */
  readonly enum?: readonly string[];
  /** Minimum length of a string in characters. */
  readonly minLength?: number;
  /** Maximum length of a string in characters. */
  readonly maxLength?: number;
  /** Regular expression with the flag `u` that must match a part of a string. */
  readonly pattern?: string;
  /** Format of a string. */
  readonly format?: "email";
  /** Lowest value, as in JSON. */
  readonly min?: unknown;
  /** Highest value, as in JSON. */
  readonly max?: unknown;
  /** JSON Schema (OpenAPI 3.0) of lists, and of objects with known members. */
  readonly schema?: JsonSchema;
  /** Present if no body sets the field. */
  readonly readOnly?: true;
  /** Present if only the body that creates a row sets the field. */
  readonly createOnly?: true;
  /** Present if only some users may read the field, which other responses do not contain. */
  readonly perUser?: true;
}

/** Returns the fields that responses contain: readable columns, then computed fields. */
export function fieldsOf(resource: Resource): readonly FieldSchema[] {
  const columns = resource.fields.readable.map((column) => fieldOf(column, resource));
  const computed = resource.computed.fields.map(([name]): FieldSchema => ({
    ...{ name, type: "computed", nullable: true, required: false, readOnly: true },
  }));
  return [...columns, ...computed];
}

/** Returns true if the body that creates a row must contain a writable column. */
export function mustSend(column: ColumnInfo, resource: Resource): boolean {
  if (!isRequired(column) || column.default !== null || resource.generated.has(column)) {
    return false;
  }
  return !isFilledByRelation(column, resource);
}

function fieldOf(column: ColumnInfo, resource: Resource): FieldSchema {
  const { name, kind, notNull } = column;
  const isWritten = mayWrite(column, resource);
  return {
    name,
    type: isAny(column) ? "any" : kind,
    ...(column.isWide ? { wide: true } : {}),
    nullable: !notNull,
    required: isWritten && mustSend(column, resource),
    ...rulesOf(column),
    ...(kind !== "json" || isDocument(column)
      ? {}
      : { schema: structureOf(column, answeredColumn) }),
    ...(isWritten ? {} : { readOnly: true }),
    ...(isWritten && isFixed(column, resource) ? { createOnly: true } : {}),
    ...(resource.varyingFields.has("readable") ? { perUser: true } : {}),
  };
}

function rulesOf(
  { enumValues, minLength, maxLength, pattern, format, min, max }: ColumnInfo,
): Partial<FieldSchema> {
  return {
    ...(enumValues === null ? {} : { enum: enumValues }),
    ...(minLength === null ? {} : { minLength }),
    ...(maxLength === null ? {} : { maxLength }),
    ...(pattern === null ? {} : { pattern: pattern.source }),
    ...(format === null ? {} : { format }),
    ...(min === null ? {} : { min: inJson(min) }),
    ...(max === null ? {} : { max: inJson(max) }),
  };
}

/** Converts a limit to a JSON number: programs read integers of any length as doubles. */
function inJson(limit: unknown): unknown {
  return typeof limit === "bigint" ? Number(limit) : limit;
}

/** Returns true if an update must not change the column: a body may only repeat a key. */
function isFixed(column: ColumnInfo, { fields }: Resource): boolean {
  return column.primaryKey || fields.immutable.has(column);
}

/** Returns true if a row that the body embeds determines the foreign key. */
function isFilledByRelation(column: ColumnInfo, { nestedWrites, relations }: Resource): boolean {
  return nestedWrites &&
    [...relations.values()].some(({ type, steps: [step] }) =>
      type === "belongsTo" && step.own.includes(column)
    );
}
