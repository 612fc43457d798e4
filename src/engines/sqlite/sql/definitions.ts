import type { DefinitionDialect } from "../../../sql/definition_dialect.ts";

export const sqliteDefinitions: DefinitionDialect = {
  identity: [],
  // SQLite computes decimals as doubles: `3 * 0.1` is 0.30000000000000004. After rounding to the
  // digits of a double, the result is the same as on Postgres.
  generatedValue({ kind, scale }, given) {
    if (kind !== "decimal") return `${given}\n`;
    if (scale !== null) return `round((${given}\n), ${scale})`;
    return `CASE WHEN (${given}\n) IS NOT NULL THEN printf('%.15g', (${given}\n)) END`;
  },
  bytesLiteral: (hex) => `X'${hex}'`,
};
