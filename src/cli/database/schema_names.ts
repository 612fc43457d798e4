import { quoteIdentifier } from "../../sql/fragment.ts";
import { type CommandWords, Misuse } from "../command_options.ts";

/**
 * Parses the value of `--schema`: names of schemas with commas between, or `*` for all. A name with
 * a comma or a quote must be in double quotes, as in SQL. Upper case is kept without quotes.
 * Returns null for an invalid list.
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

/** Returns a schema's name in the syntax of `--schema`, without quotes for the shell. */
export function formatSchemaName(name: string): string {
  return /^\s|\s$|[",]|^\*$/.test(name) ? quoteIdentifier(name) : name;
}

/** Reads the option `--schema`; null if it is missing. Throws a {@link Misuse}. */
export function readSchemaOption(words: CommandWords<"schema">): readonly string[] | null {
  const text = words.text("schema");
  if (text === null) return null;
  const names = readSchemaNames(text);
  if (names !== null) return names;
  throw new Misuse(
    `The schemas must be names between commas, as in a,b or "a,b",c, not ${text}`,
  );
}
