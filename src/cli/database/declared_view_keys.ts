import type { Database } from "../../db/database.ts";
import type { IntrospectOptions } from "../../db/introspection.ts";
import { findNamed } from "../../db/views/view_keys.ts";
import type { Observer } from "../../runtime/runtime.ts";
import { Misuse } from "../command_options.ts";
import { readSchemaNames } from "./additions.ts";

export type DeclaredKeys = Readonly<Record<string, readonly string[]>>;

/** Parses values of `--key`: `view=column,column`. A name with `=`, `,` or `"` needs quotes. */
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

/** Removes and reports the keys whose view or column no longer exists. */
export async function withRemainingKeys(
  db: Pick<Database, "introspect">,
  options: IntrospectOptions,
  observe: Observer,
): Promise<IntrospectOptions> {
  const given = Object.entries(options.keys ?? {});
  if (given.length === 0) return options;
  const { tables } = await db.introspect({ ...options, keys: undefined });
  const remaining = given.filter(([name, columns]) => {
    const view = findNamed(tables, name);
    const names = new Set(view?.columns.map(({ dbName }) => dbName));
    if (columns.every((column) => names.has(column))) return true;
    const message = `the key of ${name} is no longer used: the view or one of its columns is gone`;
    observe({ kind: "notice", message });
    return false;
  });
  return { ...options, keys: Object.fromEntries(remaining) };
}
