import type { User } from "../../auth/authorize.ts";
import { createMetrics, type Metrics } from "../../metrics/metrics.ts";
import { type Described, either, group, type OptionValues } from "../../options/option.ts";
import { callback, flag, objectWith } from "../../options/option_kinds.ts";

/** The options of observability. */
export interface ObservabilityOptions {
  /** Collects metrics and serves them at `/__service/metrics`. Default: on. */
  readonly metrics?: boolean | MetricsOptions | undefined;
  /** Reports each response. The console observer writes a line for each. Default: off. */
  readonly requests?: boolean | undefined;
  /**
   * Names the spans of requests after their routes, and adds spans of SQL statements. The runtime
   * must have OpenTelemetry, such as Deno with `OTEL_DENO=true`. Default: off.
   */
  readonly openTelemetry?: boolean | undefined;
}

/** The options of metrics. */
export interface MetricsOptions {
  /**
   * Decides who may read `/__service/metrics`. Default: only clients on this machine. In
   * production, the page does not exist without this function.
   */
  readonly authorize?: AuthorizeMetrics | undefined;
  /** The registry for the app's metrics and custom metrics. Default: a new registry. */
  readonly registry?: Metrics | undefined;
}

/**
 * Returns true if a request may read the metrics. Any value other than `true` denies access. A
 * caller with an invalid credential is anonymous here, so the function can check another token.
 */
export type AuthorizeMetrics = (
  request: Request,
  user: User | null,
) => boolean | PromiseLike<boolean>;

const metricsMembers = {
  authorize: callback<AuthorizeMetrics>(),
  registry: objectWith<Metrics>("made by createMetrics()", "counter", "onRead", "text"),
} satisfies Described<MetricsOptions>;

const members = {
  metrics: either(flag(), group(metricsMembers)).default(true),
  requests: flag().default(false),
  openTelemetry: flag().default(false),
} satisfies Described<ObservabilityOptions>;

export const observabilityOptionRule = either(flag(), group(members)).default(false);

export type ResolvedObservability = ReturnType<typeof resolveObservability>;
export type ResolvedMetrics = NonNullable<ResolvedObservability["metrics"]>;

export function resolveObservability(option: boolean | OptionValues<typeof members>) {
  if (option === false) return { metrics: null, requests: false, openTelemetry: false };
  const given: ObservabilityOptions = option === true ? {} : option;
  const { requests = false, openTelemetry = false } = given;
  const metrics = resolveMetrics(option === true ? true : option.metrics);
  return { metrics, requests, openTelemetry };
}

function resolveMetrics(option: boolean | OptionValues<typeof metricsMembers>) {
  if (option === false) return null;
  const { registry, authorize } = option === true ? {} : option;
  return { registry: registry ?? createMetrics(), authorize: authorize ?? null };
}
