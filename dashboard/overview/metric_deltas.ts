/** A reading of all metrics, as the report has it. */
export interface MetricsReport {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly families?: readonly MetricFamily[];
}

interface MetricFamily {
  readonly name: string;
  readonly series: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number | HistogramReading;
  }[];
}

interface HistogramReading {
  readonly count: number;
  readonly sum: number;
  /** JSON has null for the infinite bound. */
  readonly buckets: readonly { readonly upTo: number | null; readonly count: number }[];
}

/** What the charts show of the time between two readings; null where nothing is known. */
export interface Moment {
  readonly requests: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly clientErrors: number;
  readonly serverErrors: number;
  readonly rowStreams: number;
  readonly aggregateStreams: number;
  readonly limited: number;
  readonly challenged: number;
  readonly refusedStreams: number;
}

/** What happened between two readings; requests of the dashboard itself are left out. */
export function momentOf(before: MetricsReport, now: MetricsReport): Moment {
  const seconds = Math.max((now.at - before.at) / 1_000, 0.001);
  const status = "http_response_status_code";
  const rate = (name: string, passes: (labels: Readonly<Record<string, string>>) => boolean) => {
    const total = (report: MetricsReport) => sumOf(report, name, passes);
    return Math.max(0, total(now) - total(before)) / seconds;
  };
  const requests = (passes: RegExp) =>
    rate(
      "resource_api_requests_total",
      (labels) => isService(labels) && passes.test(labels[status] ?? ""),
    );
  const durations = bucketsBetween(before, now);
  return {
    requests: requests(/^/),
    p50: quantile(durations, 0.5),
    p95: quantile(durations, 0.95),
    p99: quantile(durations, 0.99),
    clientErrors: requests(/^4/),
    serverErrors: requests(/^5/),
    rowStreams: sumOf(now, "resource_api_streams_open", ({ kind }) => kind === "rows"),
    aggregateStreams: sumOf(now, "resource_api_streams_open", ({ kind }) => kind === "aggregates"),
    limited: requests(/^429/),
    challenged: requests(/^428/),
    refusedStreams: rate("resource_api_streams_refused_total", () => true),
  };
}

function isService({ http_route: route = "" }: Readonly<Record<string, string>>): boolean {
  return !route.includes("/__service/ui");
}

function seriesOf(report: MetricsReport, name: string): MetricFamily["series"] {
  return report.families?.find((family) => family.name === name)?.series ?? [];
}

function sumOf(
  report: MetricsReport,
  name: string,
  passes: (labels: Readonly<Record<string, string>>) => boolean,
): number {
  return seriesOf(report, name).filter(({ labels }) => passes(labels))
    .reduce((sum, { value }) => sum + (typeof value === "number" ? value : value.count), 0);
}

/** How many requests took up to each bound, of those between two readings. */
type Buckets = readonly (readonly [upTo: number, count: number])[];

function bucketsBetween(before: MetricsReport, now: MetricsReport): Buckets {
  const old = bucketsOf(before);
  return [...bucketsOf(now)].map(([upTo, count]) => [upTo, count - (old.get(upTo) ?? 0)] as const)
    .toSorted(([a], [b]) => a - b);
}

function bucketsOf(report: MetricsReport): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { labels, value } of seriesOf(report, "http_server_request_duration_seconds")) {
    if (typeof value === "number" || !isService(labels)) continue;
    for (const { upTo, count } of value.buckets) {
      counts.set(upTo ?? Infinity, (counts.get(upTo ?? Infinity) ?? 0) + count);
    }
  }
  return counts;
}

/** The milliseconds that a part of the requests did not exceed, between the bounds by proportion. */
function quantile(buckets: Buckets, part: number): number | null {
  const all = buckets[buckets.length - 1]?.[1] ?? 0;
  if (all <= 0) return null;
  let [lower, below] = [0, 0];
  for (const [upTo, count] of buckets) {
    if (count >= all * part) {
      const share = count === below ? 1 : (all * part - below) / (count - below);
      return 1_000 * (Number.isFinite(upTo) ? lower + (upTo - lower) * share : lower);
    }
    [lower, below] = [upTo, count];
  }
  return null;
}
