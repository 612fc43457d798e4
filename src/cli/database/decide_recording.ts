import { DatabaseError } from "../../db/database_error.ts";
import { type ChangesOptions, resolveChangesOptions } from "../../db/changes/changes_options.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { Database } from "../../db/database.ts";
import { engineOf } from "../../db/engine/engine.ts";

export interface RecordingOptions {
  readonly triggers: boolean;
  readonly schema: string | null;
  /** The number of days for which versions of rows are kept; null for no history. */
  readonly historyDays?: number | null;
}

export interface Recording {
  /** The options of the change log; null if there is no change log, and so no live streams. */
  readonly changes: ChangesOptions | null;
  readonly streams: string;
}

/** Tries to record changes by triggers (if requested), then by the service, as rights permit. */
export async function decideRecording(
  { driver }: Database,
  tables: readonly TableInfo[],
  { triggers, schema }: RecordingOptions,
  { random }: Pick<Runtime, "random">,
): Promise<Recording> {
  const modes = triggers ? ["triggers", "service"] as const : ["service"] as const;
  const engine = engineOf(driver).changes;
  const obstacles: string[] = [];
  for (const mode of modes) {
    const options: ChangesOptions = { mode, schema: schema ?? undefined };
    const changes = resolveChangesOptions(options);
    try {
      const { untracked } = await engine.setUp({ driver, tables, changes, random });
      const hint = triggers ? "" : "; with --triggers they show that, too";
      const own = engine.ownWrites + hint;
      const shown = untracked.length === 0 ? everything : own;
      return { changes: options, streams: [shown, ...obstacles].join(". ") };
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.kind !== "forbidden") throw error;
      obstacles.push(await engine.whyForbidden(driver, tables, changes));
    }
  }
  return { changes: null, streams: ["Live streams: none", ...obstacles].join(". ") };
}

const everything =
  "Live streams show every change of these tables, whichever program makes it: triggers record it";
