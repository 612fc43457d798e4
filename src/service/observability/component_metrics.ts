import type { Driver, PoolUsage } from "../../db/driver.ts";
import type { LogSize } from "../../db/changes/change_log.ts";
import type { HubCounts } from "../../live/stream/stream_counts.ts";
import type { Counter, Gauge, GaugeShare, MetricFamily, Metrics } from "../../metrics/metrics.ts";
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
  const add = { metrics, share };
  addStreamMetrics(add, parts.hubs);
  for (const driver of parts.databases) {
    const { label, poolUsage } = driver;
    if (poolUsage !== undefined) addPoolMetrics(add, label, () => poolUsage.call(driver));
  }
  // Each reading first reads the pools, so that the pools do not count the queries of the reading.
  addLogMetrics(add, parts);
  for (const driver of parts.databases) addDatabaseMetrics(add, driver, parts.clock);
  if (parts.outbox !== null) addOutboxMetrics(add, parts.outbox);
  return () => share.end();
}

type MeasuredDriver = Pick<Driver, "label" | "poolUsage" | "query">;

interface Adding {
  readonly metrics: Metrics;
  readonly share: MetricsShare;
}

function addStreamMetrics({ metrics, share }: Adding, hubs: MeasuredComponents["hubs"]): void {
  const labels = ["kind"];
  const help = (what: string) => ({ help: `Live streams ${what}, by kind.`, labels });
  const open = metrics.gauge("resource_api_streams_open", help("that are open"));
  const opened = metrics.counter("resource_api_streams_opened_total", help("that were opened"));
  const ended = metrics.counter("resource_api_streams_ended_total", help("that have ended"));
  const refused = metrics.counter(
    "resource_api_streams_refused_total",
    help("that could not be opened: too many are, or the service is busy"),
  );
  const kinds = (["rows", "aggregates"] as const).map((kind) => ({
    kind,
    open: share.gauge(open, kind),
    opened: share.counter(opened, kind),
    ended: share.counter(ended, kind),
    refused: share.counter(refused, kind),
  }));
  const resumed = share.counter(metrics.counter("resource_api_streams_resumed_total", {
    help: "Live streams of rows that began at a resume token.",
  }));
  const changes = share.counter(metrics.counter("resource_api_changes_published_total", {
    help: "Changes that were read from the change log and published to live streams.",
  }));
  share.onRead(() => {
    const all = hubs.all();
    const sum = (of: (hub: MeasuredHub) => number) =>
      all.reduce((total, hub) => total + of(hub), 0);
    for (const { kind, open, opened, ended, refused } of kinds) {
      const [openedNow, endedNow] = [
        sum(({ counts }) => counts[kind].opened),
        sum(({ counts }) => counts[kind].ended),
      ];
      open.value = openedNow - endedNow;
      opened(openedNow);
      ended(endedNow);
      refused(sum(({ counts }) => counts[kind].refused));
    }
    resumed(sum(({ counts }) => counts.resumed));
    changes(sum(({ published }) => published));
  });
}

/** Reads two entries of each log, by their index. */
function addLogMetrics({ metrics, share }: Adding, { hubs, clock }: MeasuredComponents): void {
  const changes = share.gauge(metrics.gauge("resource_api_change_log_changes", {
    help: "Changes in the change log; NaN if it cannot be read.",
  }));
  const age = share.gauge(metrics.gauge("resource_api_change_log_oldest_age_seconds", {
    help: "Age of the oldest change in the change log; NaN if it cannot be read.",
  }));
  const read = onceInTime(clock, () => Promise.all(hubs.all().map((hub) => hub.logSize())));
  share.onRead(async () => {
    const sizes = await read() ?? [{ changes: NaN, oldestSeconds: NaN }];
    changes.value = sizes.reduce((sum, size) => sum + size.changes, 0);
    age.value = Math.max(0, ...sizes.map(({ oldestSeconds }) => oldestSeconds));
  });
}

function addDatabaseMetrics({ metrics, share }: Adding, driver: MeasuredDriver, clock: Clock) {
  const up = share.gauge(
    metrics.gauge("resource_api_db_up", {
      help: "1 if the database responds to a query within a second, else 0.",
      labels: ["database"],
    }),
    driver.label,
  );
  const query = async () => await driver.query({ text: "SELECT 1", values: [] });
  const check = onceInTime(clock, query);
  share.onRead(async () => void (up.value = await check() === null ? 0 : 1));
}

/**
 * Returns a function that calls `work`, and returns null after an error or a second. While an
 * earlier call still runs, it returns null immediately, so that calls do not fill a pool.
 */
function onceInTime<T>(clock: Clock, work: () => Promise<T>): () => Promise<T | null> {
  let isRunning = false;
  return async () => {
    if (isRunning) return null;
    isRunning = true;
    const result = work().finally(() => isRunning = false);
    return await deadline(1_000, clock, () => new Error("late")).within(result).catch(() => null);
  };
}

function addPoolMetrics({ metrics, share }: Adding, name: string, usage: () => PoolUsage): void {
  const labels = ["db_client_connection_pool_name"];
  const count = metrics.gauge("db_client_connection_count", {
    help: "Connections of the pool, by state.",
    labels: [...labels, "db_client_connection_state"],
  });
  const [used, idle] = [share.gauge(count, name, "used"), share.gauge(count, name, "idle")];
  const pending = share.gauge(
    metrics.gauge("db_client_connection_pending_requests", {
      help: "Uses that wait for a connection of the pool.",
      labels,
    }),
    name,
  );
  const waits = share.counter(
    metrics.counter("resource_api_db_pool_waits_total", {
      help: "Uses that had to wait for a connection of the pool.",
      labels,
    }),
    name,
  );
  const waited = share.counter(
    metrics.counter("resource_api_db_pool_wait_seconds_total", {
      help: "Time that uses have waited for a connection of the pool.",
      labels,
    }),
    name,
  );
  share.onRead(() => {
    const now = usage();
    used.value = now.used;
    idle.value = now.size - now.used;
    pending.value = now.waiting;
    waits(now.waits);
    waited(now.waitedMs / 1_000);
  });
}

function addOutboxMetrics(
  { metrics, share }: Adding,
  outbox: NonNullable<MeasuredComponents["outbox"]>,
): void {
  const entries = metrics.gauge("resource_api_search_outbox_entries", {
    help: "Entries of the search outbox, by state; NaN while its store does not answer.",
    labels: ["state"],
  });
  const [pending, dead] = [share.gauge(entries, "pending"), share.gauge(entries, "dead")];
  const age = share.gauge(metrics.gauge("resource_api_search_outbox_oldest_age_seconds", {
    help:
      "How long the oldest pending entry of the search outbox has waited; NaN while its store " +
      "does not answer.",
  }));
  share.onRead(async () => {
    // If the outbox's store fails, only these metrics are NaN. Indexing reports the failure.
    const now = await outbox.stats().catch(() => null);
    pending.value = now?.pending ?? NaN;
    dead.value = now?.dead ?? NaN;
    age.value = now === null ? NaN : (now.oldestAgeMs ?? 0) / 1_000;
  });
}

/** One source's part of shared metrics. `end` removes only this source's values from gauges. */
export class MetricsShare {
  readonly #metrics: Metrics;
  readonly #ends: (() => void)[] = [];

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  gauge(family: MetricFamily<Gauge>, ...labels: readonly string[]): GaugeShare {
    const share = family.series(...labels).share();
    this.#ends.push(share.end);
    return share;
  }

  /** Returns a function that receives a growing total, and adds the growth to a counter. */
  counter(family: MetricFamily<Counter>, ...labels: readonly string[]): (total: number) => void {
    return family.series(...labels).follow();
  }

  /** Calls `update` before each reading of the metrics, until {@link end} is called. */
  onRead(update: () => void | Promise<void>): void {
    this.#ends.push(this.#metrics.onRead(update));
  }

  end(): void {
    for (const end of this.#ends) end();
  }
}
