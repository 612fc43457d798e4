import {
  type CommandWords,
  configOption,
  Misuse,
  readCommandWords,
  splitCommaList,
} from "../command_options.ts";
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
  /** True to continue a file that runs without a transaction and has stopped in the middle. */
  readonly resume: boolean;
  /** The number of applied files to undo, or null to apply files. */
  readonly down: number | null;
  /** The name of the file that receives the plan, or null to run the plan. */
  readonly write: string | null;
  /** True to only compare the database with the tables, after running the files of `migrations`. */
  readonly check: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly allowDrop: readonly string[];
  readonly keep: readonly string[];
}

export function parseMigrateArguments(args: readonly string[]): MigrateCommand {
  const words = readCommandWords("migrate", args, {
    db: { type: "string" },
    tables: { type: "string" },
    config: configOption,
    migrations: { type: "string" },
    baseline: { type: "boolean" },
    resume: { type: "boolean" },
    down: { type: "string" },
    write: { type: "string" },
    check: { type: "boolean" },
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
  const migrations = words.text("migrations");
  return {
    ...{ kind: "migrate", database, migrations, ...readFileOptions(words, migrations) },
    ...{ tables: words.text("tables"), config: words.text("config") },
    ...{ dryRun: words.flag("dry-run"), yes: words.flag("yes") },
    allowDrop: words.strings("allow-drop").flatMap(splitCommaList),
    keep: words.strings("keep").flatMap(splitCommaList),
    ...readAdditions(words, database),
  };
}

/** Reads the options that say what happens with the files of a folder: at most one of them. */
function readFileOptions(
  words: CommandWords<"baseline" | "resume" | "down" | "write" | "check">,
  migrations: string | null,
): Pick<MigrateCommand, "baseline" | "resume" | "down" | "write" | "check"> {
  const flags = {
    baseline: words.flag("baseline"),
    resume: words.flag("resume"),
    check: words.flag("check"),
  };
  const [down, write] = [words.text("down"), words.text("write")];
  const given = Object.entries({ ...flags, down: down !== null, write: write !== null })
    .flatMap(([name, isGiven]) => isGiven ? [`--${name}`] : []);
  if (given.length > 1) throw new Misuse(`${given.join(" and ")} exclude each other`);
  const [option] = given;
  if (option !== undefined && option !== "--check" && migrations === null) {
    throw new Misuse(
      `${option} belongs to the files of a folder: --migrations DIR ${option}`,
    );
  }
  if (down !== null && !/^[1-9]\d*$/.test(down)) {
    throw new Misuse(`--down takes the number of files to undo, not ${JSON.stringify(down)}`);
  }
  if (write !== null && !/^[\w-]+$/.test(write)) {
    throw new Misuse("--write takes a name of letters, digits, _ and -, such as add_sizes");
  }
  return { ...flags, down: down === null ? null : Number(down), write };
}
