import type { JsonSchema } from "../protocol/route_description.ts";

/** Returns a JSON Schema as a TypeScript type on one line. Unsupported schemas become `unknown`. */
export function toTsType(schema: unknown): string {
  if (!isSchema(schema)) return "unknown";
  const type = plainType(schema);
  // The `enum` of a nullable schema contains null, so null is not added again.
  const namesNull = Array.isArray(schema["enum"]) && schema["enum"].includes(null);
  return schema["nullable"] === true && !namesNull ? `${type} | null` : type;
}

export function propertyName(name: string): string {
  return /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name) ? name : JSON.stringify(name);
}

function plainType(schema: JsonSchema): string {
  const { type, items, enum: values, anyOf, oneOf, allOf } = schema;
  if (Array.isArray(values)) return unionOf(values.map(literalType));
  if (Object.hasOwn(schema, "const")) return literalType(schema["const"]);
  const alternatives = anyOf ?? oneOf;
  if (Array.isArray(alternatives)) return unionOf(alternatives.map(toTsType));
  if (Array.isArray(allOf)) return allOf.map((part) => `(${toTsType(part)})`).join(" & ");
  switch (type) {
    case "string":
    case "boolean":
    case "null":
      return type;
    case "integer":
      // The client library receives this number as a string.
      return schema["x-safe-type"] === "string" ? "string" : "number";
    case "number":
      return "number";
    case "array":
      return `(${toTsType(items)})[]`;
    case "object":
      return objectType(schema);
    default:
      return "unknown";
  }
}

function objectType({ properties, required, additionalProperties }: JsonSchema): string {
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  const members = Object.entries(isSchema(properties) ? properties : {}).map(([name, schema]) =>
    `${propertyName(name)}${names.includes(name) ? "" : "?"}: ${toTsType(schema)}`
  );
  if (members.length > 0) return `{ ${members.join("; ")} }`;
  return `{ [key: string]: ${
    isSchema(additionalProperties) ? toTsType(additionalProperties) : "unknown"
  } }`;
}

function unionOf(types: readonly string[]): string {
  return types.length === 0 ? "never" : [...new Set(types)].join(" | ");
}

function literalType(value: unknown): string {
  const isLiteral = value === null || ["string", "number", "boolean"].includes(typeof value);
  return isLiteral ? JSON.stringify(value) : "unknown";
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
