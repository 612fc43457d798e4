import { DatabaseError } from "../../db/database_error.ts";
import type { Driver } from "../../db/driver.ts";
import { openChangeLog } from "../../db/changes/open_change_log.ts";
import { createMatcher } from "../../live/match/matcher.ts";
import { LiveHub } from "../../live/live_hub.ts";
import { liveLimits } from "../../live/live_limits.ts";
import { StreamQuota, type StreamQuotaLimits } from "../../live/stream/stream_quota.ts";
import { unrecordedIn } from "../../live/stream/require_recorded.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { RecordedDriver } from "../define/recorded_drivers.ts";
import type { Resource } from "../define/resource.ts";

/** What the hubs of an app are made of. */
export interface LiveHubsOptions {
  /** By the drivers that the configuration names. */
  readonly recorded: ReadonlyMap<Driver, RecordedDriver>;
  readonly limits: StreamQuotaLimits;
  readonly runtime: Runtime;
}

/** The hubs of an app: one for each database with a resource that somebody may subscribe to. */
export class LiveHubs {
  readonly #options: LiveHubsOptions;
  readonly #quota: StreamQuota;
  readonly #hubs = new Map<Driver, LiveHub>();

  /** None is open yet. */
  constructor(options: LiveHubsOptions) {
    this.#options = options;
    this.#quota = new StreamQuota(options.limits);
  }

  /** The hub of a database; null where nobody may subscribe, or no changes are recorded. */
  of(driver: Driver): LiveHub | null {
    return this.#hubs.get(driver) ?? null;
  }

  /**
   * Lets changes be recorded. A database that only gives has no streams; one that cannot be reached
   * now has them once it can.
   */
  async open(resources: readonly Resource[]): Promise<void> {
    await Promise.all(
      [...this.#options.recorded.values()].map((recorded) => {
        const some = resources.filter(({ driver }) => driver === recorded.driver);
        for (const one of some.filter(isFollowed)) requireDeletionRecorded(one, recorded);
        return this.#openOne(recorded, tablesOf(some));
      }),
    );
  }

  /** Ends all streams, evenly over a time. */
  async drain(windowMs: number): Promise<void> {
    await Promise.all([...this.#hubs.values()].map((hub) => hub.drain(windowMs)));
  }

  /** Ends all streams at once. */
  async close(): Promise<void> {
    await Promise.all([...this.#hubs.values()].map((hub) => hub.close()));
  }

  async #openOne(
    { driver, changes }: RecordedDriver,
    tables: ReadonlySet<TableInfo>,
  ): Promise<void> {
    const { runtime } = this.#options;
    const hub = new LiveHub({
      openLog: () => openChangeLog({ driver, tables, changes, runtime }),
      matcher: createMatcher(driver, runtime),
      runtime,
      limits: liveLimits,
      excluded: changes.exclude,
      quota: this.#quota,
    });
    try {
      this.#hubs.set(driver, hub);
      await hub.start();
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      const message = `the changes of ${driver.label} are not recorded: ${error.message}`;
      runtime.observe({ kind: "notice", message });
      if (error.kind !== "read-only") return;
      this.#hubs.delete(driver);
      await hub.close();
    }
  }
}

function isFollowed({ capabilities, policy }: Resource): boolean {
  return capabilities.enableSubscribe &&
    (policy.public.has("subscribe") || policy.scopes.has("subscribe"));
}

/** Whether a row is marked deleted decides about every stream. */
function requireDeletionRecorded({ live, table }: Resource, { changes }: RecordedDriver): void {
  const column = unrecordedIn(live, changes.exclude);
  if (column === null) return;
  throw new Error(
    `Cannot follow "${table.name}": "changes.exclude" names "${column.name}", which marks its ` +
      "rows deleted",
  );
}

/** What may be followed, with the tables that relations lead to: scopes may walk them. */
function tablesOf(resources: readonly Resource[]): ReadonlySet<TableInfo> {
  const byTable = Map.groupBy(resources, ({ table }) => table);
  const tables = new Set(resources.filter(isFollowed).map(({ table }) => table));
  // The set grows while it is walked, until no relation leads out of it.
  for (const table of tables) {
    const relations = byTable.get(table)?.flatMap((one) => [...one.relations.values()]) ?? [];
    for (const { steps } of relations) for (const step of steps) tables.add(step.table);
  }
  return tables;
}
