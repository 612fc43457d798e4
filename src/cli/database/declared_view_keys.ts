import { Misuse } from "../command_options.ts";
import { readSchemaNames } from "./additions.ts";

/** The key columns of views, and of tables without a primary key, by name. */
export type DeclaredKeys = Readonly<Record<string, readonly string[]>>;

/**
 * Parses values of `--key`, each `view=column` or `view=column,column`. A name that contains `=`, a
 * comma or a quote must be in double quotes. Throws a {@link Misuse} for an invalid value.
 */
export function parseKeyOptions(values: readonly string[]): DeclaredKeys {
  const keys = new Map<string, readonly string[]>();
  for (const value of values) {
    const [, quoted, plain, list = ""] = pattern.exec(value) ?? [];
    const name = quoted?.replaceAll('""', '"') ?? plain;
    const columns = readSchemaNames(list);
    if (name === undefined || columns === null) {
      throw new Misuse(`A key must be given as view=column or view=a,b, not ${value}`);
    }
    if (keys.has(name)) {
      throw new Misuse(`Give one key for ${name}: a composite one is ${name}=a,b`);
    }
    keys.set(name, columns);
  }
  return Object.fromEntries(keys);
}

const pattern = /^(?:"((?:[^"]|"")+)"|([^"=][^=]*))=(.+)$/;
