import type { User } from "../../auth/user.ts";
import type { Credentials } from "../../auth/credentials.ts";
import { DatabaseError } from "../../db/database_error.ts";
import type { ResolvedChangesOptions } from "../../db/changes/changes_options.ts";
import type { Driver } from "../../db/driver.ts";
import type { RoleRights } from "../../db/tables/role_rights.ts";
import { openChangeLog } from "../../db/changes/open_change_log.ts";
import { createMatcher } from "../../live/match/matcher.ts";
import { GroupMemory } from "../../live/aggregate/group_memory.ts";
import { LiveHub } from "../../live/live_hub.ts";
import { repeatUpkeep } from "../../live/repeat_upkeep.ts";
import { liveLimits } from "../../live/live_limits.ts";
import { StreamQuota, type StreamQuotaLimits } from "../../live/stream/stream_quota.ts";
import { unrecordedIn } from "../../live/stream/require_recorded.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { ChangeRecording } from "../define/resolve_change_recordings.ts";
import type { Resource } from "../model/resource.ts";
import { isHiddenFromRole } from "./shown_to_role.ts";

/** What the live hubs of an app are opened with. */
export interface LiveHubsOptions {
  /** Keyed by the driver that the configuration names. */
  readonly recordings: ReadonlyMap<Driver, ChangeRecording>;
  readonly limits: StreamQuotaLimits;
  readonly credentials: Pick<Credentials, "of">;
  /** How often the credentials of open streams are read again. */
  readonly recheckMs: number;
  /** How long one query of a stream may run. */
  readonly queryTimeoutMs: number;
  readonly runtime: Runtime;
}

/** The live hubs of an app: one for each database with a subscribable resource. */
export class LiveHubs {
  readonly #options: LiveHubsOptions;
  readonly #quota: StreamQuota;
  readonly #groupMemory = new GroupMemory(liveLimits.groupMemory);
  readonly #hubs = new Map<Driver, LiveHub>();
  readonly #recorded = new Map<TableInfo, ResolvedChangesOptions>();
  #stopRecheck = () => {};

  /** None is open yet. */
  constructor(options: LiveHubsOptions) {
    this.#options = options;
    this.#quota = new StreamQuota(options.limits);
  }

  /** The hub of a database; null without a subscribable resource or without recorded changes. */
  of(driver: Driver): LiveHub | null {
    return this.#hubs.get(driver) ?? null;
  }

  /**
   * Sets up the recording of changes. A read-only database has no streams; one that cannot be
   * reached yet has streams once it can be.
   */
  async open(resources: readonly Resource[]): Promise<void> {
    const rights = resources[0]?.roleRights;
    await Promise.all(
      [...this.#options.recordings.values()].map((recording) => {
        const some = resources.filter(({ driver }) => driver === recording.driver);
        for (const one of some.filter(isSubscribable)) requireDeletionRecorded(one, recording);
        return this.#openHub(recording, tablesToFollow(some), rights);
      }),
    );
    // Without streams there is nothing to end.
    if (rights?.mayChange !== true || this.#hubs.size === 0) return;
    const recheck = () => this.#recheckRoles(rights, resources);
    this.#stopRecheck = repeatUpkeep(this.#options.runtime, roleRecheckMs, recheck);
  }

  /** How the changes of a table are recorded; null if they are not. */
  recordingOf(table: TableInfo): ResolvedChangesOptions | null {
    return this.#recorded.get(table) ?? null;
  }

  /**
   * Counts a multiplexed stream of a user and an address with so many parts, which belong to any of
   * the hubs; gives what frees its place. Throws a 429.
   */
  takeStream(user: User | null, address: string | null, subscriptions: number): () => void {
    const slot = this.#quota.takeWhole(user, address, subscriptions);
    return () => this.#quota.free(slot);
  }

  /** All that are open. */
  all(): readonly LiveHub[] {
    return [...this.#hubs.values()];
  }

  /** Deletes the recorded changes of every database that are older than they are kept. */
  async purge(): Promise<void> {
    await Promise.all([...this.#hubs.values()].map((hub) => hub.purge()));
  }

  /** Ends all streams, evenly over a time. */
  async drain(windowMs: number): Promise<void> {
    await Promise.all([...this.#hubs.values()].map((hub) => hub.drain(windowMs)));
  }

  /** Ends all streams at once. */
  async close(): Promise<void> {
    this.#stopRecheck();
    await Promise.all([...this.#hubs.values()].map((hub) => hub.close()));
  }

  /** Ends the streams of tables that the database hides from the service by now. */
  async #recheckRoles(rights: RoleRights, resources: readonly Resource[]): Promise<void> {
    await rights.read();
    const hidden = new Set(resources.filter(isHiddenFromRole).map(({ table }) => table));
    if (hidden.size === 0) return;
    for (const hub of this.#hubs.values()) hub.revoke(hidden);
  }

  async #openHub(
    { driver, changes }: ChangeRecording,
    { recorded: tables, unrecorded }: TablesToFollow,
    rights: RoleRights | undefined,
  ): Promise<void> {
    const { runtime, queryTimeoutMs, credentials, recheckMs } = this.#options;
    const onSecured = (secured: ReadonlySet<TableInfo>) => {
      hub.hide(secured);
      // Streams that begin are refused by these. Where the read fails, the next minute has another.
      rights?.readAgain().catch(() => {});
    };
    const hub = new LiveHub({
      openLog: () => openChangeLog({ driver, tables, changes, onSecured, runtime }),
      matcher: createMatcher(driver, runtime),
      runtime,
      credentials,
      recheckMs,
      limits: { ...liveLimits, queryTimeoutMs },
      excluded: new Set([...changes.exclude, ...unrecorded]),
      quota: this.#quota,
      groupMemory: this.#groupMemory,
    });
    try {
      this.#hubs.set(driver, hub);
      for (const table of tables) this.#recorded.set(table, changes);
      await hub.start();
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      const message = `the changes of ${driver.label} are not recorded: ${error.message}`;
      runtime.observe({ kind: "notice", message });
      if (error.kind !== "read-only") return;
      this.#hubs.delete(driver);
      for (const table of tables) this.#recorded.delete(table);
      await hub.close();
    }
  }
}

const roleRecheckMs = 60_000;

function isSubscribable(resource: Resource): boolean {
  return resource.isSubscribable;
}

/** Every stream depends on whether a row is marked deleted, so the column must be recorded. */
function requireDeletionRecorded(
  { undeleted, table }: Resource,
  { changes }: ChangeRecording,
): void {
  const column = unrecordedIn(undeleted, changes.exclude);
  if (column === null) return;
  throw new Error(
    `Cannot follow "${table.label}": "changes.exclude" names "${column.name}", which marks its ` +
      "rows deleted",
  );
}

interface TablesToFollow {
  readonly recorded: ReadonlySet<TableInfo>;
  /** The columns of views among those that relations lead to: no log has their changes. */
  readonly unrecorded: readonly ColumnInfo[];
}

/** The subscribable tables and those that their relations lead to, which scopes may walk. */
function tablesToFollow(resources: readonly Resource[]): TablesToFollow {
  const byTable = Map.groupBy(resources, ({ table }) => table);
  const tables = new Set(resources.filter(isSubscribable).map(({ table }) => table));
  // The set grows during the iteration, until no relation leads out of it.
  for (const table of tables) {
    const relations = byTable.get(table)?.flatMap((one) => [...one.relations.values()]) ?? [];
    for (const { steps } of relations) for (const step of steps) tables.add(step.table);
  }
  const all = [...tables];
  return {
    recorded: new Set(all.filter(({ readOnly }) => !readOnly)),
    unrecorded: all.filter(({ readOnly }) => readOnly).flatMap(({ columns }) => columns),
  };
}
