import { configOption, Misuse, readCommandWords, splitCommaList } from "../command_options.ts";
import { additionOptions, type GivenAdditions, readAdditions } from "../database/additions.ts";

export interface MigrateCommand extends GivenAdditions {
  readonly kind: "migrate";
  /** The file or URL of a database; null for the configured database. */
  readonly database: string | null;
  /** The path of a module that exports tables; null for the configured tables. */
  readonly tables: string | null;
  /** The path of the configuration file; null without the option `--config`. */
  readonly config: string | null;
  /** The folder with SQL files to run; null to compute the migration from the tables. */
  readonly migrations: string | null;
  /** True to record the SQL files as already applied, without running them. */
  readonly baseline: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly allowDrop: readonly string[];
  readonly keep: readonly string[];
}

export const migrateHelp = `Changing tables:
  migrate [DATABASE]     make a database as the tables of service.config.ts are declared, or those
                         that --tables FILE exports; the statements are shown first
      --dry-run          only show them
      --yes              do not ask
      --allow-drop NAME  what may be lost: table.column, table.index or table; may be repeated
      --keep NAME        table.column is declared no more and stays: it is not renamed
      --migrations DIR   run the SQL files of a folder instead, 0001_name.sql and so on, each once
      --baseline         note these files as applied, and run none`;

/** Parses the arguments of the command `migrate`. Throws a {@link Misuse}. */
export function parseMigrateArguments(args: readonly string[]): MigrateCommand {
  const words = readCommandWords("migrate", args, {
    db: { type: "string" },
    tables: { type: "string" },
    config: configOption,
    migrations: { type: "string" },
    baseline: { type: "boolean" },
    "dry-run": { type: "boolean" },
    yes: { type: "boolean", short: "y" },
    "allow-drop": { type: "string", multiple: true },
    keep: { type: "string", multiple: true },
    ...additionOptions,
  });
  const [given, extra] = words.positionals;
  const named = words.text("db");
  if (extra !== undefined || given !== undefined && named !== null) {
    throw new Misuse("migrate takes one database: name its file or URL");
  }
  const database = given ?? named;
  const [migrations, baseline] = [words.text("migrations"), words.flag("baseline")];
  if (baseline && migrations === null) {
    throw new Misuse(
      "--baseline belongs to the files of a folder: --migrations DIR --baseline",
    );
  }
  return {
    ...{ kind: "migrate", database, migrations, baseline },
    ...{ tables: words.text("tables"), config: words.text("config") },
    ...{ dryRun: words.flag("dry-run"), yes: words.flag("yes") },
    allowDrop: words.strings("allow-drop").flatMap(splitCommaList),
    keep: words.strings("keep").flatMap(splitCommaList),
    ...readAdditions(words, database),
  };
}
