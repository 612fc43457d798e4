import {
  additionOptionDescriptions,
  type GivenAdditions,
  missingDatabaseError,
  readAdditions,
} from "../database/additions.ts";
import { readCommandWords, stringOption } from "../command_options.ts";
import { readSchemaNames, schemaError } from "../database/schema_names.ts";

/** The arguments of the command that indexes all rows again. */
export interface SearchCommand extends GivenAdditions {
  readonly kind: "search";
  /** A file or a URL of a database, or null if the arguments name no database. */
  readonly database: string | null;
  /** The path of a configuration file, or null for the file in the current folder. */
  readonly config: string | null;
  /** The Postgres schemas, or null for the first schema of the search path. */
  readonly schemas: readonly string[] | null;
}

/** The section of `--help` about search. */
export const searchHelp = `Search, of service.config.ts, of another FILE, or of a database:
  search reindex [--config FILE]              index every row again, with progress
  search reindex DATABASE [--schema NAMES]    the same, for a database`;

/** Returns true if the command line starts with the command for search. */
export function isSearchCommand([first]: readonly string[]): boolean {
  return first === "search";
}

/** Parses the arguments of the command for search. Never throws. */
export function parseSearchArguments(
  [_search, ...args]: readonly string[],
): SearchCommand | { readonly kind: "misused"; readonly message: string } | {
  readonly kind: "help";
} {
  const words = readCommandWords(args, options);
  const { values, positionals } = words;
  if (values.help === true) return { kind: "help" };
  const fault = words.fault("search");
  if (fault !== null) return misused(fault);
  const [action, database = null, extra] = positionals;
  if (action !== "reindex") return misused("search takes one action: reindex");
  if (extra !== undefined) {
    return misused(`search reindex takes one database: "${extra}" is too much`);
  }
  const config = stringOption(values.config);
  if (database !== null && config !== null) {
    return misused("search reindex takes a database or --config, not both");
  }
  const additions = readAdditions(values);
  const lone = missingDatabaseError(additions, database);
  if (lone !== null) return misused(lone);
  const given = stringOption(values.schema);
  const schemas = given === null ? null : readSchemaNames(given);
  if (given !== null && schemas === null) return misused(schemaError(given));
  return { kind: "search", database, config, schemas, ...additions };
}

const options = {
  config: { type: "string", short: "c" },
  schema: { type: "string" },
  ...additionOptionDescriptions,
  help: { type: "boolean", short: "h" },
} as const;

function misused(message: string): { readonly kind: "misused"; readonly message: string } {
  return { kind: "misused", message };
}
