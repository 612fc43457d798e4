import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { SqliteAdditions } from "../../db/driver_options.ts";
import { isServerUrl } from "../../engines/server_url.ts";
import { type CommandWords, Misuse, splitCommaList } from "../command_options.ts";
import { quoteIdentifier } from "../../sql/fragment.ts";

export const additionOptions = {
  functions: { type: "string" },
  extension: { type: "string", multiple: true },
} as const;

export interface GivenAdditions {
  readonly additions?: SqliteAdditions;
  readonly functions?: readonly string[];
}

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

/**
 * Parses `--schema`: names separated by commas, or `*` for all schemas. A name with a comma or a
 * quote needs double quotes. Unlike in SQL, an unquoted name keeps its upper case. Null if invalid.
 */
export function readSchemaNames(text: string): readonly string[] | null {
  const names: string[] = [];
  let rest = text;
  while (true) {
    const [whole, quoted, plain] = nameAtStart.exec(rest) ?? [];
    const name = quoted?.replaceAll('""', '"') ?? plain;
    if (whole === undefined || name === undefined || name === "") return null;
    names.push(name);
    rest = rest.slice(whole.length);
    if (rest === "") return names;
    rest = rest.slice(1);
  }
}

const nameAtStart = /^\s*(?:"((?:[^"]|"")+)"|([^\s",](?:[^",]*[^\s",])?))\s*(?=,|$)/;

/** Returns a schema's name in the syntax of `--schema`. The caller must quote it for a shell. */
export function formatSchemaName(name: string): string {
  return /^\s|\s$|[",]|^\*$/.test(name) ? quoteIdentifier(name) : name;
}

export function readSchemaOption(words: CommandWords<"schema">): readonly string[] | null {
  const text = words.text("schema");
  if (text === null) return null;
  const names = readSchemaNames(text);
  if (names !== null) return names;
  throw new Misuse(
    `The schemas must be names between commas, as in a,b or "a,b",c, not ${text}`,
  );
}
