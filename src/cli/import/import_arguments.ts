import {
  additionOptionDescriptions,
  type GivenAdditions,
  missingDatabaseError,
  readAdditions,
} from "../database/additions.ts";
import { readCommandWords, stringOption } from "../command_options.ts";
import { readSchemaNames, schemaError } from "../database/schema_names.ts";

/** The arguments of the command that imports a file. */
export interface ImportCommand extends GivenAdditions {
  readonly kind: "import";
  /** The path of the file, or `-` for the standard input. */
  readonly file: string;
  readonly format: "ndjson" | "csv";
  /** The name of the table, or the path of its resource. */
  readonly into: string;
  /** A file or a URL of a database, or null if the arguments name no database. */
  readonly database: string | null;
  /** The path of a configuration file, or null for the file in the current folder. */
  readonly config: string | null;
  /** The Postgres schemas, or null for the first schema of the search path. */
  readonly schemas: readonly string[] | null;
  /** The number of rows per transaction, or null to import either all rows or none. */
  readonly chunk: number | null;
  readonly dryRun: boolean;
}

/** The section of `--help` about imports. */
export const importHelp =
  `Importing rows of a file, NDJSON or CSV with a line of names; - is the standard input:
  import FILE --into TABLE [--db DATABASE | --config FILE] [--format csv|ndjson]
                         all rows or none, with progress and errors by line, as the
                         system: into a table of DATABASE, or of service.config.ts
      --chunk N          N rows in each transaction; refused chunks are named
      --dry-run          do everything, and roll it back
      --schema NAMES     the schemas of a Postgres`;

type Misused = { readonly kind: "misused"; readonly message: string };

/** Parses the arguments of the command that imports a file. Never throws. */
export function parseImportArguments(
  [_import, ...args]: readonly string[],
): ImportCommand | Misused | { readonly kind: "help" } {
  const words = readCommandWords(args, options);
  const { values, positionals } = words;
  if (values.help === true) return { kind: "help" };
  const fault = words.fault("import");
  if (fault !== null) return misused(fault);
  const [file, extra] = positionals;
  if (file === undefined || extra !== undefined) {
    return misused("import takes one file, or - for the standard input");
  }
  const into = stringOption(values.into);
  if (into === null) return misused("import needs --into TABLE");
  const [database, config] = [stringOption(values.db), stringOption(values.config)];
  if (database !== null && config !== null) {
    return misused("import takes --db or --config, not both: a configuration names its database");
  }
  const additions = readAdditions(values);
  const lone = missingDatabaseError(additions, database);
  if (lone !== null) return misused(lone);
  const format = stringOption(values.format) ?? formatOf(file);
  if (format !== "csv" && format !== "ndjson") {
    return misused(`The format must be csv or ndjson: say --format, as ${file} does not say it`);
  }
  const schemaText = stringOption(values.schema);
  const schemas = schemaText === null ? null : readSchemaNames(schemaText);
  if (schemaText !== null && schemas === null) return misused(schemaError(schemaText));
  const chunkText = stringOption(values.chunk);
  const chunk = chunkText === null ? null : /^\d{1,5}$/.test(chunkText) ? Number(chunkText) : 0;
  if (chunk !== null && (chunk < 1 || chunk > maxChunk)) {
    return misused(`The chunk must be a whole number from 1 to ${maxChunk}, not "${chunkText}"`);
  }
  const dryRun = values["dry-run"] === true;
  if (dryRun && chunk !== null) return misused("import takes --dry-run or --chunk, not both");
  return {
    ...{ kind: "import", file, format, into, database, config, schemas, chunk, dryRun },
    ...additions,
  };
}

const maxChunk = 10_000;

const options = {
  into: { type: "string" },
  db: { type: "string" },
  config: { type: "string", short: "c" },
  format: { type: "string" },
  schema: { type: "string" },
  chunk: { type: "string" },
  "dry-run": { type: "boolean" },
  ...additionOptionDescriptions,
  help: { type: "boolean", short: "h" },
} as const;

function formatOf(file: string): string {
  if (/\.csv$/i.test(file)) return "csv";
  return /\.(?:ndjson|jsonl)$/i.test(file) ? "ndjson" : "";
}

function misused(message: string): Misused {
  return { kind: "misused", message };
}
