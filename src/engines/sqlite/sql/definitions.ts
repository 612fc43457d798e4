import type { DefinitionDialect } from "../../../sql/definition_dialect.ts";

export const sqliteDefinitions: DefinitionDialect = {
  identity: [],
  // Rounds decimals, because SQLite computes them as doubles: `3 * 0.1` is 0.30000000000000004.
  generatedValue({ kind, scale }, given) {
    if (kind !== "decimal") return `${given}\n`;
    if (scale !== null) return `round((${given}\n), ${scale})`;
    return `CASE WHEN (${given}\n) IS NOT NULL THEN printf('%.15g', (${given}\n)) END`;
  },
  bytesLiteral: (hex) => `X'${hex}'`,
};
