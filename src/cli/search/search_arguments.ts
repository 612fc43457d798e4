import { configOption, Misuse, readCommandWords } from "../command_options.ts";
import { additionOptions, readAdditions, readSchemaOption } from "../database/additions.ts";

/** The arguments of the command `search`, which indexes all rows again. */
export type SearchCommand = ReturnType<typeof parseSearchArguments>;

export const searchHelp = `Search, of service.config.ts, of another FILE, or of a database:
  search reindex [--config FILE]              index every row again, with progress
  search reindex DATABASE [--schema NAMES]    the same, for a database`;

/** Parses the arguments of the command `search`. Throws a {@link Misuse}. */
export function parseSearchArguments(args: readonly string[]) {
  const words = readCommandWords("search", args, {
    config: configOption,
    schema: { type: "string" },
    ...additionOptions,
  });
  const [action, database = null, extra] = words.positionals;
  if (action !== "reindex") throw new Misuse("search takes one action: reindex");
  if (extra !== undefined) {
    throw new Misuse(`search reindex takes one database: "${extra}" is too much`);
  }
  const config = words.text("config");
  if (database !== null && config !== null) {
    throw new Misuse("search reindex takes a database or --config, not both");
  }
  const schemas = readSchemaOption(words);
  return { kind: "search" as const, database, config, schemas, ...readAdditions(words, database) };
}
