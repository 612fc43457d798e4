import {
  additionOptionDescriptions,
  type GivenAdditions,
  missingDatabaseError,
  readAdditions,
} from "../database/additions.ts";
import { readCommandWords, repeatedOption, stringOption } from "../command_options.ts";

/** The arguments of the command that migrates a database. */
export interface MigrateCommand extends GivenAdditions {
  readonly kind: "migrate";
  /** A file or a URL of a database, or null for the configured database. */
  readonly database: string | null;
  /** The path of a module that exports tables, or null for the tables in the configuration. */
  readonly tables: string | null;
  /** The path of a configuration file, or null if the option `--config` is missing. */
  readonly config: string | null;
  /** The folder of SQL files to run, or null to plan the migration from the tables. */
  readonly migrations: string | null;
  /** True if the command records the SQL files as applied without running them. */
  readonly baseline: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly allowDrop: readonly string[];
  readonly keep: readonly string[];
}

/** The section of `--help` about migrations. */
export const migrateHelp = `Changing tables:
  migrate [DATABASE]     make a database as the tables of service.config.ts are declared, or those
                         that --tables FILE exports; the statements are shown first
      --dry-run          only show them
      --yes              do not ask
      --allow-drop NAME  what may be lost: table.column, table.index or table; may be repeated
      --keep NAME        table.column is declared no more and stays: it is not renamed
      --migrations DIR   run the SQL files of a folder instead, 0001_name.sql and so on, each once
      --baseline         note these files as applied, and run none`;

/** Parses the arguments of the command that migrates. Never throws. */
export function parseMigrateArguments(
  [_migrate, ...args]: readonly string[],
): MigrateCommand | { readonly kind: "misused"; readonly message: string } | {
  readonly kind: "help";
} {
  const misused = (message: string) => ({ kind: "misused", message }) as const;
  const words = readCommandWords(args, options);
  const { values, positionals: [given, extra] } = words;
  if (values.help === true) return { kind: "help" };
  const fault = words.fault("migrate");
  if (fault !== null) return misused(fault);
  const named = stringOption(values.db);
  if (extra !== undefined || given !== undefined && named !== null) {
    return misused("migrate takes one database: name its file or URL");
  }
  const database = given ?? named;
  const additions = readAdditions(values);
  const lone = missingDatabaseError(additions, database);
  if (lone !== null) return misused(lone);
  const [tables, config, migrations] = [values.tables, values.config, values.migrations].map(
    stringOption,
  );
  const baseline = values.baseline === true;
  if (baseline && (migrations ?? null) === null) {
    return misused("--baseline belongs to the files of a folder: --migrations DIR --baseline");
  }
  return {
    ...{ kind: "migrate", database, ...additions },
    ...{ tables: tables ?? null, config: config ?? null, migrations: migrations ?? null },
    ...{ dryRun: values["dry-run"] === true, yes: values.yes === true, baseline },
    ...{ allowDrop: repeatedOption(values["allow-drop"]), keep: repeatedOption(values.keep) },
  };
}

const options = {
  db: { type: "string" },
  tables: { type: "string" },
  config: { type: "string", short: "c" },
  migrations: { type: "string" },
  baseline: { type: "boolean" },
  "dry-run": { type: "boolean" },
  yes: { type: "boolean", short: "y" },
  ...additionOptionDescriptions,
  "allow-drop": { type: "string", multiple: true },
  keep: { type: "string", multiple: true },
  help: { type: "boolean", short: "h" },
} as const;
