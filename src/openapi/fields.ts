import type { JsonSchema } from "../protocol/route_description.ts";
import type { Resource } from "../resource/model/resource.ts";
import { mayWrite } from "../resource/write/values/parse_fields.ts";
import { isAny, isDocument } from "../schema/structured/kind_of_column.ts";
import type { ColumnKind } from "../schema/kind.ts";
import { type ColumnInfo, isRequired } from "../schema/table_info.ts";
import { answeredColumn, structureOf } from "./column_json_schema.ts";

/** The description of one field of a resource. A field that answers do not hold has none. */
export interface FieldSchema {
  /** In rows and in bodies. */
  readonly name: string;
  /**
   * The kind of its column; `any` for one that may hold numbers and strings. A computed field may have
   * any value.
   */
  readonly type: ColumnKind | "any" | "computed";
  /**
   * Of an integer: with safe numbers, as the client asks for them, it is a string of digits. Of `any`:
   * it is what a path has, beyond 2^53 a string of digits, and a string that looks like a number has
   * quotes in it.
   */
  readonly wide?: true;
  /** True if a row may have null there. */
  readonly nullable: boolean;
  /** True if the body that creates a row must hold it. */
  readonly required: boolean;
  /** The only strings that it may have. */
  readonly enum?: readonly string[];
  /** Of a string: the fewest characters. */
  readonly minLength?: number;
  /** Of a string: the most characters. */
  readonly maxLength?: number;
  /** Of a string: a regular expression with the flag `u` that a part of it matches. */
  readonly pattern?: string;
  /** Of a string: what it is. */
  readonly format?: "email";
  /** The lowest value, as it is in JSON. */
  readonly min?: unknown;
  /** The highest value, as it is in JSON. */
  readonly max?: unknown;
  /** Of lists, and of objects whose members are known: the JSON Schema of a value (OpenAPI 3.0). */
  readonly schema?: JsonSchema;
  /** No body sets it. */
  readonly readOnly?: true;
  /** Only the body that creates a row sets it. */
  readonly createOnly?: true;
  /** The users that may read it are not all of them: other answers do not have it. */
  readonly perUser?: true;
}

/** Describes the fields of a resource that answers hold: readable columns, then computed fields. */
export function fieldsOf(resource: Resource): readonly FieldSchema[] {
  const columns = resource.fields.readable.map((column) => fieldOf(column, resource));
  const computed = resource.computed.fields.map(([name]): FieldSchema => ({
    ...{ name, type: "computed", nullable: true, required: false, readOnly: true },
  }));
  return [...columns, ...computed];
}

/** Returns true if the body that creates a row must hold a column that it may hold. */
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

/** JSON has integers of any length, and programs read them as doubles. */
function inJson(limit: unknown): unknown {
  return typeof limit === "bigint" ? Number(limit) : limit;
}

/** A body that changes a row may name its key, and the key only as it is. */
function isFixed(column: ColumnInfo, { fields }: Resource): boolean {
  return column.primaryKey || fields.immutable.has(column);
}

/** A row that the body embeds gives the foreign key. */
function isFilledByRelation(column: ColumnInfo, { nestedWrites, relations }: Resource): boolean {
  return nestedWrites &&
    [...relations.values()].some(({ type, steps: [step] }) =>
      type === "belongsTo" && step.own.includes(column)
    );
}
