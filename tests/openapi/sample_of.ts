// deno-lint-ignore no-explicit-any -- members of a document, as far as they are needed here
type Member = any;

/** A value that a schema of the document accepts: with every property but those that embed rows. */
export function sampleOf(schema: Member, document: Member): unknown {
  if (schema.$ref !== undefined) {
    return sampleOf(document.components.schemas[schema.$ref.split("/").at(-1)], document);
  }
  if (schema.default !== undefined) return schema.default;
  if (schema.enum !== undefined) return schema.enum[0];
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        Object.entries<Member>(schema.properties ?? {})
          .filter(([name, member]) => schema.required?.includes(name) || isPlain(member))
          .map(([name, member]) => [name, sampleOf(member, document)]),
      );
    case "array":
      return [sampleOf(schema.items, document)];
    case "integer":
    case "number":
      return Math.max(1, schema.minimum ?? 1);
    case "boolean":
      return true;
    case "string":
      return textOf(schema);
    default:
      return null;
  }
}

/** A foreign key is not sent: it would have to exist. */
function isPlain({ type, format, properties, nullable }: Member): boolean {
  if (format === "uuid") return nullable !== true;
  return type !== "array" && !(type === "object" && properties === undefined);
}

function textOf({ format, pattern }: Member): string {
  switch (format) {
    case "date-time":
      return "2026-01-02T03:04:05Z";
    case "date":
      return "2026-01-02";
    case "uuid":
      return "0190f3a2-7d1c-7000-8000-000000000000";
    case "email":
      return "ada@example.com";
    default:
      return pattern === undefined ? "text" : "1";
  }
}
