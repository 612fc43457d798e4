import type { Driver, DriverReplica, PoolUsage } from "../../db/driver.ts";
import type { LogSize } from "../../db/changes/change_log.ts";
import type { HubCounts } from "../../live/stream/stream_counts.ts";
import type { Combination } from "../../metrics/metric_reading.ts";
import type { GaugeShare, Metrics } from "../../metrics/metrics.ts";
import { type Clock, deadline } from "../../runtime/runtime.ts";
import type { OutboxStats } from "../../search/outbox/search_outbox.ts";

interface MeasuredHub {
  readonly counts: HubCounts;
  readonly published: number;
  logSize(): Promise<LogSize>;
}

export interface MeasuredComponents {
  readonly hubs: { all(): readonly MeasuredHub[] };
  readonly databases: Iterable<MeasuredDriver>;
  readonly outbox: { stats(): Promise<OutboxStats> } | null;
  readonly clock: Clock;
}

/** Registers metrics of an app's components. Apps that share a registry report their sum. */
export function registerComponentMetrics(metrics: Metrics, parts: MeasuredComponents): () => void {
  const share = new MetricsShare(metrics);
  addStreamMetrics(share, parts.hubs);
  for (const driver of parts.databases) {
    const { label, poolUsage, replicas = [] } = driver;
    if (poolUsage !== undefined) addPoolMetrics(share, label, () => poolUsage.call(driver));
    for (const replica of replicas) addReplicaMetrics(share, replica);
  }
  // These metrics query databases. Pools are read first, so that they do not count the queries.
  addLogMetrics(share, parts);
  for (const driver of parts.databases) addDatabaseMetrics(share, driver, parts.clock);
  if (parts.outbox !== null) addOutboxMetrics(share, parts.outbox);
  return () => share.end();
}

type MeasuredDriver = Pick<Driver, "label" | "poolUsage" | "replicas" | "query">;

function addStreamMetrics(share: MetricsShare, hubs: MeasuredComponents["hubs"]): void {
  const sum = (of: (hub: MeasuredHub) => number) =>
    hubs.all().reduce((total, hub) => total + of(hub), 0);
  const help = (what: string) => `Live streams ${what}, by kind.`;
  for (const kind of ["rows", "aggregates"] as const) {
    const opened = () => sum(({ counts }) => counts[kind].opened);
    const ended = () => sum(({ counts }) => counts[kind].ended);
    const refused = () => sum(({ counts }) => counts[kind].refused);
    const open = share.gauge("resource_api_streams_open", help("that are open"), { kind });
    share.onRead(() => void (open.value = opened() - ended()));
    share.total("resource_api_streams_opened_total", help("that were opened"), opened, { kind });
    share.total("resource_api_streams_ended_total", help("that have ended"), ended, { kind });
    const why = "that could not be opened: too many are, or the service is busy";
    share.total("resource_api_streams_refused_total", help(why), refused, { kind });
  }
  share.total(
    "resource_api_streams_resumed_total",
    "Live streams of rows that began at a resume token.",
    () => sum(({ counts }) => counts.resumed),
  );
  share.total(
    "resource_api_changes_published_total",
    "Changes that were read from the change log and published to live streams.",
    () => sum(({ published }) => published),
  );
}

function addLogMetrics(share: MetricsShare, { hubs, clock }: MeasuredComponents): void {
  const changes = share.gauge(
    "resource_api_change_log_changes",
    "Changes in the change log; NaN if it cannot be read.",
    ...shared,
  );
  const age = share.gauge(
    "resource_api_change_log_oldest_age_seconds",
    "Age of the oldest change in the change log; NaN if it cannot be read.",
    ...shared,
  );
  const read = onceInTime(clock, () => Promise.all(hubs.all().map((hub) => hub.logSize())));
  share.onRead(async () => {
    const sizes = await read() ?? [{ changes: NaN, oldestSeconds: NaN }];
    changes.value = sizes.reduce((sum, size) => sum + size.changes, 0);
    age.value = Math.max(0, ...sizes.map(({ oldestSeconds }) => oldestSeconds));
  });
}

function addDatabaseMetrics(share: MetricsShare, driver: MeasuredDriver, clock: Clock): void {
  const help = "1 if the database responds to a query within a second, else 0.";
  const up = share.gauge("resource_api_db_up", help, { database: driver.label }, "min");
  const query = async () => await driver.query({ text: "SELECT 1", values: [] });
  const check = onceInTime(clock, query);
  share.onRead(async () => void (up.value = await check() === null ? 0 : 1));
}

/** Resolves to null after an error or a second, or while an earlier call holds a connection. */
function onceInTime<T>(clock: Clock, work: () => Promise<T>): () => Promise<T | null> {
  let isRunning = false;
  return async () => {
    if (isRunning) return null;
    isRunning = true;
    const result = work().finally(() => isRunning = false);
    return await deadline(1_000, clock, () => new Error("late")).within(result).catch(() => null);
  };
}

function addPoolMetrics(share: MetricsShare, name: string, usage: () => PoolUsage): void {
  const pool = { db_client_connection_pool_name: name };
  const connections = (state: string) =>
    share.gauge("db_client_connection_count", "Connections of the pool, by state.", {
      ...pool,
      db_client_connection_state: state,
    });
  const [used, idle] = [connections("used"), connections("idle")];
  const help = (what: string) => `Uses that ${what} for a connection of the pool.`;
  const pending = share.gauge("db_client_connection_pending_requests", help("wait"), pool);
  share.onRead(() => {
    const now = usage();
    used.value = now.used;
    idle.value = now.size - now.used;
    pending.value = now.waiting;
  });
  const waits = () => usage().waits;
  share.total("resource_api_db_pool_waits_total", help("had to wait"), waits, pool);
  const waitedSeconds = () => usage().waitedMs / 1_000;
  const time = "Time that uses have waited for a connection of the pool.";
  share.total("resource_api_db_pool_wait_seconds_total", time, waitedSeconds, pool);
}

function addReplicaMetrics(share: MetricsShare, { driver, counts }: DriverReplica): void {
  const help = "Reads of a replica; with another outcome than `read`, the primary ran the read.";
  for (const outcome of ["read", "late", "failed"] as const) {
    const labels = { database: driver.label, outcome };
    share.total("resource_api_replica_reads_total", help, () => counts[outcome], labels);
  }
}

function addOutboxMetrics(
  share: MetricsShare,
  outbox: NonNullable<MeasuredComponents["outbox"]>,
): void {
  const help = (what: string) => `${what}; NaN while its store does not answer.`;
  const entries = help("Entries of the search outbox, by state");
  const count = (state: string) =>
    share.gauge("resource_api_search_outbox_entries", entries, { state }, "max");
  const [pending, dead] = [count("pending"), count("dead")];
  const age = share.gauge(
    "resource_api_search_outbox_oldest_age_seconds",
    help("How long the oldest pending entry of the search outbox has waited"),
    ...shared,
  );
  share.onRead(async () => {
    // If the outbox's store fails, only these metrics are NaN. Indexing reports the failure.
    const now = await outbox.stats().catch(() => null);
    pending.value = now?.pending ?? NaN;
    dead.value = now?.dead ?? NaN;
    age.value = now === null ? NaN : (now.oldestAgeMs ?? 0) / 1_000;
  });
}

/** All workers report the same change log and outbox, so the metrics show the maximum of them. */
const shared = [{}, "max"] as const;

type Labels = Readonly<Record<string, string>>;

/** One source's part of shared metrics. `end` removes only this source's values from gauges. */
export class MetricsShare {
  readonly #metrics: Metrics;
  readonly #ends: (() => void)[] = [];

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  gauge(name: string, help: string, labels: Labels = {}, combine?: Combination): GaugeShare {
    const family = this.#metrics.gauge(name, { help, labels: Object.keys(labels), combine });
    const share = family.series(...Object.values(labels)).share();
    this.#ends.push(share.end);
    return share;
  }

  counter(name: string, help: string, labels: Labels = {}): (total: number) => void {
    const family = this.#metrics.counter(name, { help, labels: Object.keys(labels) });
    return family.series(...Object.values(labels)).follow();
  }

  total(name: string, help: string, read: () => number, labels?: Labels): void {
    const count = this.counter(name, help, labels);
    this.onRead(() => count(read()));
  }

  onRead(update: () => void | Promise<void>): void {
    this.#ends.push(this.#metrics.onRead(update));
  }

  end(): void {
    for (const end of this.#ends) end();
  }
}
