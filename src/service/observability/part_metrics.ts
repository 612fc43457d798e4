import type { Driver } from "../../db/driver.ts";
import type { HubCounts } from "../../live/stream/stream_counts.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import type { OutboxStats } from "../../search/outbox/search_outbox.ts";

/** A hub of live streams, as far as it is measured. */
export interface MeasuredHub {
  readonly counts: HubCounts;
  /** How many changes it has published. */
  published(): Promise<number>;
}

/** The parts of an app that count by themselves. */
export interface MeasuredParts {
  readonly hubs: { all(): readonly MeasuredHub[] };
  readonly databases: Iterable<MeasuredDriver>;
  /** Null without one. */
  readonly outbox: { stats(): Promise<OutboxStats> } | null;
}

/** Registers the metrics of the parts of an app, which are read when the metrics are. */
export function registerPartMetrics(metrics: Metrics, parts: MeasuredParts): () => void {
  const updates = [
    streamMetrics(metrics, parts.hubs),
    ...[...parts.databases].flatMap((driver) =>
      driver.poolUsage === undefined ? [] : [poolMetrics(metrics, driver)]
    ),
    ...parts.outbox === null ? [] : [outboxMetrics(metrics, parts.outbox)],
  ];
  const ends = updates.map((update) => metrics.onRead(update));
  return () => {
    for (const end of ends) end();
  };
}

type MeasuredDriver = Pick<Driver, "label" | "poolUsage">;
type Update = () => void | Promise<void>;

function streamMetrics(metrics: Metrics, hubs: MeasuredParts["hubs"]): Update {
  const labels = ["kind"];
  const help = (what: string) => ({ help: `Live streams ${what}, by kind.`, labels });
  const open = metrics.gauge("resource_api_streams_open", help("that are open"));
  const opened = metrics.counter("resource_api_streams_opened_total", help("that were opened"));
  const ended = metrics.counter("resource_api_streams_ended_total", help("that have ended"));
  const refused = metrics.counter(
    "resource_api_streams_refused_total",
    help("that could not be opened: too many are, or the service is busy"),
  );
  const resumed = metrics.counter("resource_api_streams_resumed_total", {
    help: "Live streams of rows that began at a resume token.",
  }).series();
  const changes = metrics.counter("resource_api_changes_published_total", {
    help: "Changes that were read from the change log and published to live streams.",
  }).series();
  return async () => {
    const all = hubs.all();
    for (const kind of ["rows", "aggregates"] as const) {
      const sum = (name: "opened" | "ended" | "refused") =>
        all.reduce((total, { counts }) => total + counts[kind][name], 0);
      open.series(kind).set(sum("opened") - sum("ended"));
      opened.series(kind).raiseTo(sum("opened"));
      ended.series(kind).raiseTo(sum("ended"));
      refused.series(kind).raiseTo(sum("refused"));
    }
    resumed.raiseTo(all.reduce((total, { counts }) => total + counts.resumed, 0));
    const published = await Promise.all(all.map((hub) => hub.published()));
    changes.raiseTo(published.reduce((total, count) => total + count, 0));
  };
}

function poolMetrics(metrics: Metrics, driver: MeasuredDriver): Update {
  const { label: name } = driver;
  const pool = ["db_client_connection_pool_name"];
  const count = metrics.gauge("db_client_connection_count", {
    help: "Connections of the pool, by state.",
    labels: [...pool, "db_client_connection_state"],
  });
  const pending = metrics.gauge("db_client_connection_pending_requests", {
    help: "Uses that wait for a connection of the pool.",
    labels: pool,
  }).series(name);
  const waits = metrics.counter("resource_api_db_pool_waits_total", {
    help: "Uses that had to wait for a connection of the pool.",
    labels: pool,
  }).series(name);
  const waited = metrics.counter("resource_api_db_pool_wait_seconds_total", {
    help: "Time that uses have waited for a connection of the pool.",
    labels: pool,
  }).series(name);
  return () => {
    const now = driver.poolUsage?.();
    if (now === undefined) return;
    count.series(name, "used").set(now.used);
    count.series(name, "idle").set(now.size - now.used);
    pending.set(now.waiting);
    waits.raiseTo(now.waits);
    waited.raiseTo(now.waitedMs / 1_000);
  };
}

function outboxMetrics(
  metrics: Metrics,
  outbox: NonNullable<MeasuredParts["outbox"]>,
): Update {
  const entries = metrics.gauge("resource_api_search_outbox_entries", {
    help: "Entries of the search outbox, by state.",
    labels: ["state"],
  });
  const age = metrics.gauge("resource_api_search_outbox_oldest_age_seconds", {
    help: "How long the oldest pending entry of the search outbox has waited.",
  }).series();
  return async () => {
    const { pending, dead, oldestAgeMs } = await outbox.stats();
    entries.series("pending").set(pending);
    entries.series("dead").set(dead);
    age.set((oldestAgeMs ?? 0) / 1_000);
  };
}
