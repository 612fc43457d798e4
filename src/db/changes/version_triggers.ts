import { createHash } from "node:crypto";
import { quoteIdentifier } from "../../sql/fragment.ts";
import type { Connection } from "../driver.ts";

/** The prefix of the names of all triggers that record versions. */
export const versionTriggerPrefix = "_service_history_";

/**
 * Creates the triggers that record versions, and drops outdated triggers of the same tables. `text`
 * is the SQL of a trigger without its name, or null for a table without a history.
 */
export async function updateVersionTriggers(
  connection: Connection,
  { installed, tables, drop }: {
    /** The names of the triggers of the change log. */
    readonly installed: readonly string[];
    readonly tables: readonly { readonly name: string; readonly text: string | null }[];
    readonly drop: (name: string) => string;
  },
): Promise<void> {
  for (const { name, text } of tables) {
    const prefix = `${versionTriggerPrefix}${shortHash(name)}_`;
    const wanted = text === null ? null : prefix + shortHash(text);
    const outdated = installed.filter((one) => one.startsWith(prefix) && one !== wanted);
    const created = wanted === null || installed.includes(wanted)
      ? []
      : [`CREATE TRIGGER ${quoteIdentifier(wanted)} ${text}`];
    for (const statement of [...outdated.map((one) => drop(quoteIdentifier(one))), ...created]) {
      await connection.query({ text: statement, values: [] });
    }
  }
}

export function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
