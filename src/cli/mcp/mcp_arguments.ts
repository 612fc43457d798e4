import {
  additionOptionDescriptions,
  type GivenAdditions,
  readAdditions,
} from "../database/additions.ts";
import { readCommandWords, stringOption } from "../command_options.ts";
import { readSchemaNames, schemaError } from "../database/schema_names.ts";

/** The arguments of the command that serves a database to one MCP client over standard streams. */
export interface McpCommand extends GivenAdditions {
  readonly kind: "mcp";
  /** A file or a URL of a database. */
  readonly database: string;
  readonly write: boolean;
  /** The Postgres schemas, or null for the first schema of the search path. */
  readonly schemas: readonly string[] | null;
}

/** The section of `--help` about MCP. */
export const mcpHelp = `MCP over the standard streams, for the configuration of a client:
  mcp DATABASE [--write] [--schema NAMES]   tools over every table, read-only unless --write`;

/** Parses the arguments of the command for MCP. Never throws. */
export function parseMcpArguments(
  [, ...args]: readonly string[],
): McpCommand | { readonly kind: "misused"; readonly message: string } | {
  readonly kind: "help";
} {
  const words = readCommandWords(args, options);
  const { values, positionals } = words;
  if (values.help === true) return { kind: "help" };
  const fault = words.fault("mcp");
  if (fault !== null) return { kind: "misused", message: fault };
  const [database, extra] = positionals;
  if (database === undefined) return misused("needs a database: a SQLite file or a URL");
  if (extra !== undefined) return misused(`takes one database: "${extra}" is one too many`);
  const given = stringOption(values.schema);
  const schemas = given === null ? null : readSchemaNames(given);
  if (given !== null && schemas === null) return { kind: "misused", message: schemaError(given) };
  const write = values.write === true;
  return { kind: "mcp", database, write, schemas, ...readAdditions(values) };
}

const options = {
  write: { type: "boolean" },
  schema: { type: "string" },
  ...additionOptionDescriptions,
  help: { type: "boolean", short: "h" },
} as const;

function misused(message: string): { readonly kind: "misused"; readonly message: string } {
  return { kind: "misused", message: `mcp ${message}` };
}
