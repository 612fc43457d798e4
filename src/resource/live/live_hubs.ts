import type { User } from "../../auth/authorize.ts";
import type { Credentials } from "../../auth/authenticator.ts";
import { allRows, type Filter } from "../../filter/filter.ts";
import { DatabaseError } from "../../db/database_error.ts";
import type { Driver } from "../../db/driver.ts";
import type { RoleRights } from "../../db/tables/table_facts.ts";
import { openChangeLog } from "../../db/changes/open_change_log.ts";
import { purgeVersions } from "../../db/changes/row_versions.ts";
import { createMatcher } from "../../live/match/matcher.ts";
import { GroupMemory } from "../../live/aggregate/group_memory.ts";
import { LiveHub } from "../../live/live_hub.ts";
import { repeatUpkeep } from "../../live/repeat_upkeep.ts";
import { liveLimits } from "../../live/live_limits.ts";
import { StreamQuota, type StreamQuotaLimits } from "../../live/stream/stream_quota.ts";
import {
  columnsReadIn,
  type StreamRequest,
  unrecordedColumnIn,
} from "../../live/stream/stream_request.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { ChangeRecording } from "../define/resolve_change_recordings.ts";
import type { Resource } from "../model/resource.ts";
import type { Include } from "../shape/output.ts";
import { isHiddenFromRole, reportPolicyBypasses, requireShownToRole } from "./create_live_view.ts";
import { addressGroup } from "../../guard/client_address.ts";
import { invalidParameter, Problem } from "../../problem/problem.ts";
import type { Reply } from "../../protocol/reply.ts";
import type { ResourceCall } from "../model/operation.ts";
import { refusedLiteralProblem } from "../read/refused_literal.ts";

interface LiveHubsOptions {
  /** The change recording of each database. The key is the configured driver of the database. */
  readonly recordings: ReadonlyMap<Driver, ChangeRecording>;
  readonly limits: StreamQuotaLimits;
  readonly credentials: Pick<Credentials, "of">;
  readonly recheckMs: number;
  readonly queryTimeoutMs: number;
  readonly runtime: Runtime;
}

export class LiveHubs {
  readonly #options: LiveHubsOptions;
  readonly #quota: StreamQuota;
  readonly #groupMemory = new GroupMemory(liveLimits.groupMemory);
  readonly #hubs = new Map<Driver, LiveHub>();
  #stopRecheck = () => {};

  constructor(options: LiveHubsOptions) {
    this.#options = options;
    this.#quota = new StreamQuota(options.limits);
  }

  of(driver: Driver): LiveHub | null {
    return this.#hubs.get(driver) ?? null;
  }

  /** Sets up the recording of changes. Retries later for a database that cannot be reached now. */
  async open(resources: readonly Resource[]): Promise<void> {
    const rights = resources[0]?.roleRights;
    await Promise.all(
      [...this.#options.recordings.values()].map((recording) => {
        const some = resources.filter(({ driver }) => driver === recording.driver);
        for (const one of some.filter(isSubscribable)) requireDeletionRecorded(one, recording);
        return this.#openHub(recording, tablesToFollow(some), rights);
      }),
    );
    // A change of the rights affects only streams, and an app without hubs has no streams.
    if (rights?.mayChange !== true || this.#hubs.size === 0) return;
    const recheck = () => this.#recheckRoles(rights, resources);
    this.#stopRecheck = repeatUpkeep(this.#options.runtime, roleRecheckMs, recheck);
  }

  /** Counts a multiplexed stream until the returned function is called. Throws a 429 over quota. */
  takeStream(user: User | null, address: string | null, subscriptions: number): () => void {
    const slot = this.#quota.take(user, address, { streams: 1, parts: subscriptions, work: 0 });
    return () => this.#quota.free(slot);
  }

  all(): readonly LiveHub[] {
    return [...this.#hubs.values()];
  }

  async purge(): Promise<void> {
    await Promise.all([...this.#hubs.values()].map((hub) => hub.purge()));
  }

  async drain(windowMs: number): Promise<void> {
    await Promise.all([...this.#hubs.values()].map((hub) => hub.drain(windowMs)));
  }

  async close(): Promise<void> {
    this.#stopRecheck();
    await Promise.all([...this.#hubs.values()].map((hub) => hub.close()));
  }

  /** Ends streams of tables with rows or columns that the database now hides from the service. */
  async #recheckRoles(rights: RoleRights, resources: readonly Resource[]): Promise<void> {
    await rights.read();
    const hidden = new Set(resources.filter(isHiddenFromRole).map(({ table }) => table));
    if (hidden.size > 0) { for (const hub of this.#hubs.values()) hub.revoke(hidden); }
    await reportPolicyBypasses(resources, rights, this.#options.runtime.observe);
  }

  async #openHub(
    { driver, changes }: ChangeRecording,
    { recorded: tables, unrecorded }: ReturnType<typeof tablesToFollow>,
    rights: RoleRights | undefined,
  ): Promise<void> {
    const { runtime, queryTimeoutMs, credentials, recheckMs } = this.#options;
    let known: ReadonlySet<TableInfo> = new Set();
    const onSecured = (secured: ReadonlySet<TableInfo>) => {
      if (!secured.isSubsetOf(known)) driver.renewConnections?.();
      known = secured;
      hub.hide(secured);
      // The rights for new streams are read again now, or by the next recheck if this read fails.
      rights?.readAgain().catch(() => {});
    };
    const hub = new LiveHub({
      openLog: () => openChangeLog({ driver, tables, changes, onSecured, runtime }),
      matcher: createMatcher(driver, runtime, (table) => known.has(table)),
      purgeVersions: () => purgeVersions(driver, changes.history ?? new Map(), runtime.clock.now()),
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

const roleRecheckMs = 60_000;

function isSubscribable(resource: Resource): boolean {
  return resource.isSubscribable;
}

/** Requires that changes of the soft-deletion column are recorded: a stream must see deletions. */
function requireDeletionRecorded(
  { undeleted, table }: Resource,
  { changes }: ChangeRecording,
): void {
  const column = unrecordedColumnIn(undeleted, changes.exclude);
  if (column === null) return;
  throw new Error(
    `Cannot follow "${table.label}": "changes.exclude" names "${column.name}", which marks its ` +
      "rows deleted",
  );
}

function hasHistory({ table, recording }: Resource): boolean {
  return recording?.history?.has(table) === true;
}

function tablesToFollow(resources: readonly Resource[]) {
  const byTable = Map.groupBy(resources, ({ table }) => table);
  const tables = new Set(
    resources.filter((one) => isSubscribable(one) || hasHistory(one)).map(({ table }) => table),
  );
  // The set grows during the iteration, until no relation leads to a new table.
  for (const table of tables) {
    const relations = byTable.get(table)?.flatMap((one) => [...one.relations.values()]) ?? [];
    for (const { steps } of relations) for (const step of steps) tables.add(step.table);
  }
  const all = [...tables];
  return {
    recorded: new Set(all.filter(({ recordable }) => recordable)),
    /** The columns of related views. The change log does not record changes of views. */
    unrecorded: all.filter(({ recordable }) => !recordable).flatMap(({ columns }) => columns),
  };
}

/** The body of a live stream. Null for a HEAD request and in a multiplexed stream. */
export type StreamBody = ReadableStream<Uint8Array> | null;

export function hubOf(resource: Resource): LiveHub {
  const hub = resource.hub();
  // A database without a hub has no subscribable resource: `authorize` has denied the stream.
  if (hub === null) throw new Problem("not-found", "There is nothing at this path");
  return hub;
}

export async function openStream(
  { resource, request, user }: ResourceCall,
  open: (caller: Omit<StreamRequest, "view" | "scope" | "filter">) => Promise<StreamBody>,
): Promise<StreamBody> {
  const { raw, delivery } = request;
  if (raw === null || delivery === null) throw new Error("Only a request opens a stream");
  // A stream for HEAD would never end, because no client reads the body of its response.
  if (raw.method === "HEAD") return null;
  await requireShownToRole(resource, "live stream");
  // One statement evaluates the filters of many streams: one invalid value would fail all of them.
  const refused = await refusedLiteralProblem(request.query.get("filter"), resource);
  if (refused !== null) throw refused;
  const { url, policy, table, reader } = resource;
  return await open({
    resource: url,
    access: "subscribe",
    policy,
    table,
    reader,
    user,
    sameFieldsAs: resource.sameFieldsAs(),
    address: addressGroup(request.address()),
    disconnected: delivery.delivered() ?? aborted(raw),
    part: delivery.part(),
  });
}

export function streamReply(body: StreamBody): Reply {
  return { status: 200, headers: streamHeaders, body };
}

/** Resolves when the client disconnects. Called rarely: a listener needs kilobytes of memory. */
function aborted({ signal }: Request): Promise<unknown> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

/** Proxies must not cache, buffer or compress a stream. Caddy 2.6 ignores `no-transform`. */
export const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "content-encoding": "identity",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** Throws a 400 for a computed column: its values can change without a recorded row change. */
export function requireStoredColumns(
  columns: readonly ColumnInfo[],
  filter: Filter,
  include: readonly Include[] = [],
): void {
  for (const { view, order, filter } of include) {
    const shown = [...view.visible, ...order.map(({ column }) => column)];
    requireStoredColumns(shown, filter.unrestricted ?? allRows, view.include);
  }
  const computed = [...columns, ...columnsReadIn(filter)].find(({ rowFunction }) => rowFunction);
  if (computed === undefined) return;
  throw invalidParameter(
    `Cannot subscribe with ${JSON.stringify(computed.name)}: a function of the database computes ` +
      "it, and live streams contain only stored columns. Read it by a list",
  );
}
