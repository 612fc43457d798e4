import {
  type ChangesOptions,
  resolveChangesOptions,
  type ResolvedChangesOptions,
} from "../../db/changes/changes_options.ts";
import type { Driver } from "../../db/driver.ts";
import { openRecordingDriver } from "../../db/changes/recorded_writes.ts";
import type { Random } from "../../runtime/runtime.ts";
import type { ResourceDefinition } from "./resource_options.ts";
import { isSubscribable } from "./subscribable.ts";
import { tableInfoOf } from "./table_of.ts";

/** How a database is written to, and how its changes are recorded. */
export interface ChangeRecording {
  /** The one to write by: it may record what it writes. */
  readonly driver: Driver;
  readonly changes: ResolvedChangesOptions;
}

/** What an app serves, and from where. */
export interface ServedDefinitions {
  readonly resources: readonly ResourceDefinition[];
  /** Of definitions without a database of their own. */
  readonly db: { readonly driver: Driver };
}

/**
 * How each database is written to, and recorded, by the drivers that the configuration names.
 * Tables of somebody else get no triggers unless the options say so; there the service's own writes
 * record themselves. Nothing is recorded where nobody may subscribe.
 */
export async function resolveChangeRecording(
  { resources, db }: ServedDefinitions,
  options: ChangesOptions,
  random: Random,
): Promise<ReadonlyMap<Driver, ChangeRecording>> {
  const recorded = new Map<Driver, ChangeRecording>();
  const driverOf = ({ options }: ResourceDefinition) => (options.db ?? db).driver;
  for (const [driver, served] of Map.groupBy(resources, driverOf)) {
    if (!served.some(({ options }) => isSubscribable(options))) continue;
    const tables = served.map(({ table }) => tableInfoOf(table));
    const mode = tables.every(({ own }) => own) ? "triggers" : "service";
    const changes = resolveChangesOptions({ ...options, mode: options.mode ?? mode });
    const writeBy = changes.mode === "triggers"
      ? driver
      : await openRecordingDriver({ driver, tables, changes, random });
    recorded.set(driver, { driver: writeBy, changes });
  }
  return recorded;
}
