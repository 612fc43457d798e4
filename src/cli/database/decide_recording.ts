import { DatabaseError } from "../../db/database_error.ts";
import { type ChangesOptions, resolveChangesOptions } from "../../db/changes/changes_options.ts";
import { setUpChangeLog } from "../../db/changes/set_up_change_log.ts";
import { whyNoChangeLog } from "../../engines/postgres/changes/why_no_change_log.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { Database } from "../../db/database.ts";

/** What the command line asks for about the recording of changes. */
export interface RecordingWishes {
  /** True if the database records the changes of every program. */
  readonly triggers: boolean;
  /** The schema of the log on Postgres, or null. */
  readonly schema: string | null;
}

/** How changes are recorded, and what live streams show by that. */
export interface Recording {
  /** Null if there is no log, and so no stream. */
  readonly changes: ChangesOptions | null;
  /** A sentence for the start of the command line. */
  readonly streams: string;
}

/**
 * Sets up the recording of changes as far as the role of a database may: by triggers, else of the
 * service's own writes, else not at all; says which it is, and what is missing for more.
 */
export async function decideRecording(
  { driver }: Database,
  tables: readonly TableInfo[],
  { triggers, schema }: RecordingWishes,
  { random }: Pick<Runtime, "random">,
): Promise<Recording> {
  const modes = triggers ? ["triggers", "service"] as const : ["service"] as const;
  const obstacles: string[] = [];
  for (const mode of modes) {
    const options: ChangesOptions = { mode, schema: schema ?? undefined };
    const changes = resolveChangesOptions(options);
    try {
      const { untracked } = await setUpChangeLog({ driver, tables, changes, random });
      const hint = triggers ? "" : "; with --triggers they show that, too";
      const own = ownWrites[driver.dialect.engine] + hint;
      const shown = untracked.length === 0 ? everything : own;
      return { changes: options, streams: [shown, ...obstacles].join(". ") };
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.kind !== "forbidden") throw error;
      obstacles.push(await whyNoChangeLog(driver, tables, changes));
    }
  }
  return { changes: null, streams: ["Live streams: none", ...obstacles].join(". ") };
}

const everything =
  "Live streams show every change of these tables, whichever program makes it: triggers record it";

const ownWrites = {
  sqlite: "Live streams show what this service writes, and begin again after what other programs " +
    "write",
  postgres: "Live streams show what this service writes, and not what other programs write",
} as const;
