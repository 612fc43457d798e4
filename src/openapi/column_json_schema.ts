import type { JsonSchema } from "../protocol/route_description.ts";
import { isAny } from "../schema/structured/structured_value.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";

export function withComment(schema: JsonSchema, { description }: ColumnInfo): JsonSchema {
  if (description === null) return schema;
  const words = [description, schema["description"]].filter((part) => part !== undefined);
  return { ...schema, description: words.join("\n\n") };
}

export function responseColumnSchema(column: ColumnInfo): JsonSchema {
  const { kind } = column;
  if (isAny(column)) return numberOrText;
  const limits = kind === "text" && column.enumValues === null ? {} : enumOf(column);
  return nullable({ ...plainType(column), ...limits }, !column.notNull);
}

export function bodyColumnSchema(column: ColumnInfo, mayBeNull: boolean): JsonSchema {
  const { kind } = column;
  if (isAny(column)) return numberOrText;
  switch (kind) {
    case "bigint":
      return nullable(
        { type: "string", pattern: "^-?[0-9]{1,18}$", ...limitsInWords(column) },
        mayBeNull,
      );
    case "decimal":
      return nullable(
        { type: "string", pattern: decimalPattern(column), ...limitsInWords(column) },
        mayBeNull,
      );
    case "text":
      return nullable({ type: "string", ...enumOf(column), ...limitsOfText(column) }, mayBeNull);
    case "json":
      return nullable(structureSchema(column, bodyColumnSchema), mayBeNull);
    case "timestamp":
    case "date":
      return nullable({ ...plainType(column), ...limitsInWords(column) }, mayBeNull);
    case "integer":
      return column.isWide
        ? { oneOf: [nullable(plainInteger, mayBeNull), digits] }
        : nullable({ ...plainInteger, ...limitsOfNumber(column) }, mayBeNull);
    case "real":
      return nullable({ ...plainType(column), ...limitsOfNumber(column) }, mayBeNull);
    case "boolean":
    case "uuid":
    case "bytes":
      return nullable(plainType(column), mayBeNull);
  }
}

/** A schema for a number or a string, without `type`: OpenAPI 3.0 allows only one type. */
const numberOrText: JsonSchema = {
  description:
    "A number or a string. With Accept: application/json;numbers=safe an integer beyond " +
    '2^53 is { "$number": "9007199254740993" }.',
};

export function limitsOfText({ minLength, maxLength, pattern, format }: ColumnInfo): JsonSchema {
  return {
    ...(minLength === null ? {} : { minLength }),
    ...(maxLength === null ? {} : { maxLength }),
    ...(pattern === null ? {} : { pattern: pattern.source }),
    ...(format === null ? {} : { format }),
  };
}

function limitsOfNumber({ min, max }: ColumnInfo): JsonSchema {
  return {
    ...(min === null ? {} : { minimum: Number(min) }),
    ...(max === null ? {} : { maximum: Number(max) }),
  };
}

function limitsInWords({ min, max }: ColumnInfo): JsonSchema {
  const words = [
    ...(min === null ? [] : [`at least ${min}`]),
    ...(max === null ? [] : [`at most ${max}`]),
  ];
  return words.length === 0 ? {} : { description: `Must be ${words.join(" and ")}.` };
}

export function structureSchema(
  { databaseType }: ColumnInfo,
  memberOf: (column: ColumnInfo, mayBeNull: boolean) => JsonSchema,
): JsonSchema {
  const shape = databaseType?.shape;
  switch (shape?.kind) {
    case "list": {
      let items = memberOf(shape.element, true);
      for (let level = 1; level < shape.dimensions; level++) items = { type: "array", items };
      return { type: "array", items };
    }
    case "record":
      return {
        type: "object",
        properties: Object.fromEntries(
          shape.fields.map((field) => [field.name, memberOf(field, true)]),
        ),
      };
    case "map":
      return { type: "object", additionalProperties: { type: "string", nullable: true } };
    default:
      return {};
  }
}

export function keySegmentSchema({ primaryKey }: Pick<TableInfo, "primaryKey">) {
  const [column, second] = primaryKey;
  const names = primaryKey.map(({ name }) => name).join(",");
  if (column === undefined || second !== undefined) {
    return {
      schema: { type: "string", minLength: 1 },
      description: `The values of ${names}, each percent-encoded, with commas between them.`,
    };
  }
  const type = column.kind === "integer" ? "integer" : "string";
  return {
    schema: { type, ...(type === "string" ? { minLength: 1 } : {}) },
    description: "The key of the row.",
  };
}

const plainInteger: JsonSchema = { type: "integer", format: "int64" };

/** An integer as a string of digits, which bodies can contain instead of a number. */
const digits: JsonSchema = { type: "string", pattern: "^-?[0-9]{1,18}$" };

/** The schema of an integer that is a string of digits if the client asks for safe numbers. */
const safeString: JsonSchema = {
  description:
    "With Accept: application/json;numbers=safe it is a string of digits, which bodies always take.",
  "x-safe-type": "string",
};

function plainType(column: ColumnInfo): JsonSchema {
  switch (column.kind) {
    case "integer":
      return column.isWide ? { ...plainInteger, ...safeString } : plainInteger;
    case "real":
      return { type: "number", format: "double" };
    case "boolean":
      return { type: "boolean" };
    case "timestamp":
      return { type: "string", format: "date-time" };
    case "date":
      return { type: "string", format: "date" };
    case "uuid":
      return { type: "string", format: "uuid" };
    case "bytes":
      return { type: "string", format: "byte" };
    case "bigint":
      return { type: "string", format: "int64", pattern: "^-?[0-9]+$" };
    case "decimal":
      return { type: "string", format: "decimal" };
    case "json":
      return structureSchema(column, responseColumnSchema);
    case "text":
      return { type: "string" };
  }
}

function enumOf({ enumValues }: ColumnInfo): JsonSchema {
  return enumValues === null ? {} : { enum: enumValues };
}

/** Makes a schema accept null. OpenAPI 3.0 has no null type, so an `enum` must contain null. */
function nullable(schema: JsonSchema, isNullable: boolean): JsonSchema {
  if (!isNullable || schema["type"] === undefined) return schema;
  const values = schema["enum"];
  return {
    ...schema,
    nullable: true,
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
  };
}

/** The number of digits up to which every engine stores a decimal exactly. */
const exactDigits = 15;

function decimalPattern({ precision, scale }: ColumnInfo): string {
  const fraction = Math.min(scale ?? 5, exactDigits - 1);
  const whole = Math.max(1, Math.min(precision ?? exactDigits, exactDigits) - fraction);
  const digits = `^-?[0-9]{1,${whole}}`;
  return fraction === 0 ? `${digits}$` : `${digits}(\\.[0-9]{1,${fraction}})?$`;
}
