import {
  type CommandWords,
  configOption,
  Misuse,
  optionsOf,
  readCommandWords,
  splitCommaList,
} from "../command_options.ts";
import { additionOptions, readAdditions } from "../database/additions.ts";

export type MigrateCommand = ReturnType<typeof parseMigrateArguments>;

export function parseMigrateArguments(args: readonly string[]) {
  const words = readCommandWords("migrate", args, {
    ...optionsOf("string", "db", "tables", "migrations", "down", "write"),
    ...optionsOf("boolean", "baseline", "resume", "check", "dry-run", "json"),
    config: configOption,
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
    ...{ kind: "migrate" as const, database, migrations, ...readFileOptions(words, migrations) },
    ...{ tables: words.text("tables"), config: words.text("config") },
    ...{ dryRun: words.flag("dry-run"), yes: words.flag("yes"), json: words.flag("json") },
    allowDrop: words.strings("allow-drop").flatMap(splitCommaList),
    keep: words.strings("keep").flatMap(splitCommaList),
    ...readAdditions(words, database),
  };
}

function readFileOptions(
  words: CommandWords<"baseline" | "resume" | "down" | "write" | "check">,
  migrations: string | null,
) {
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
