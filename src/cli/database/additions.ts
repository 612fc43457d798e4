import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { SqliteAdditions } from "../../db/driver_options.ts";
import { isServerUrl } from "../../engines/server_url.ts";
import { type CommandWords, Misuse, splitCommaList } from "../command_options.ts";

/** The options that load SQL functions and SQLite extensions, for commands that write. */
export const additionOptions = {
  functions: { type: "string" },
  extension: { type: "string", multiple: true },
} as const;

export const additionsHelp =
  `The commands import, mcp, search reindex and migrate take --functions FILE and --extension FILE with
a SQLite file.`;

/** The SQL functions and extensions that a command adds to the SQLite file. */
export interface GivenAdditions {
  /** The functions and extensions; absent if the arguments name none. */
  readonly additions?: SqliteAdditions;
  /** The functions of Postgres to serve, or `*` for all; absent for none. */
  readonly functions?: readonly string[];
}

/**
 * Reads {@link additionOptions}. Throws a {@link Misuse} if no database is named: a configuration
 * file then names functions and extensions itself.
 */
export function readAdditions(
  words: CommandWords<keyof typeof additionOptions>,
  database: string | null,
): GivenAdditions {
  const extensions = words.strings("extension");
  const functions = words.text("functions");
  if (functions === null && extensions.length === 0) return {};
  if (database === null) {
    throw new Misuse(
      "The options --functions and --extension belong to a database: a configuration names its own",
    );
  }
  if (isServerUrl(database)) {
    if (extensions.length > 0) throw new Misuse("The option --extension belongs to a SQLite file");
    return { functions: splitCommaList(functions) };
  }
  return {
    additions: {
      functions: functions === null ? undefined : pathToFileURL(resolve(functions)),
      extensions: extensions.length === 0 ? undefined : extensions,
    },
  };
}
