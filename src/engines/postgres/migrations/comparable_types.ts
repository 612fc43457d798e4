export function canCompareTypes(declared: string, existing: string): boolean {
  return familyOf(declared) === familyOf(existing);
}

function familyOf(type: string): string {
  const [plain = ""] = type.toLowerCase().split("(");
  const name = plain.trim();
  return families.find((family) => family.includes(name))?.[0] ?? name;
}

const families: readonly (readonly string[])[] = [
  ["text", "character varying", "character", "citext", "name"],
  ["bigint", "integer", "smallint", "numeric", "double precision", "real"],
  ["timestamp", "timestamp with time zone", "timestamp without time zone", "date"],
  ["jsonb", "json"],
];
