import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { SqliteAdditions } from "../../db/driver_options.ts";
import { stringOption } from "../command_options.ts";

/** The options that load SQL functions and SQLite extensions for a program that writes. */
export const additionOptionDescriptions = {
  functions: { type: "string" },
  extension: { type: "string", multiple: true },
} as const;

/** The section of `--help` about SQL functions and extensions. */
export const additionsHelp =
  `The commands import, mcp, search reindex and migrate take --functions FILE and --extension FILE with
a SQLite file.`;

/** The SQL functions and extensions that a command adds to the SQLite file. */
export interface GivenAdditions {
  /** Absent if the arguments name neither functions nor extensions. */
  readonly additions?: SqliteAdditions;
}

/** Parses the options of {@link additionOptionDescriptions}. */
export function readAdditions(values: Readonly<Record<string, unknown>>): GivenAdditions {
  const extensions = [values.extension ?? []].flat().map(String);
  const functions = stringOption(values.functions);
  if (functions === null && extensions.length === 0) return {};
  return { additions: additionsByPath({ functions, extensions }) };
}

/** Loads SQL functions and extensions from paths relative to the current folder. */
export function additionsByPath(
  { functions, extensions }: {
    readonly functions: string | null;
    readonly extensions: readonly string[];
  },
): SqliteAdditions {
  return {
    functions: functions === null ? undefined : pathToFileURL(resolve(functions)),
    extensions: extensions.length === 0 ? undefined : extensions,
  };
}

/** Returns an error message if additions are named without a database, otherwise null. */
export function missingDatabaseError(
  { additions }: GivenAdditions,
  database: string | null,
): string | null {
  return additions === undefined || database !== null
    ? null
    : "The options --functions and --extension belong to a database: a configuration names its own";
}
