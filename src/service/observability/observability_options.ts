import type { User } from "../../auth/user.ts";
import { createMetrics, type Metrics } from "../../metrics/metrics.ts";
import { type Described, either, group, type ReadGroup } from "../../options/option.ts";
import { callback, flag, having } from "../../options/option_kinds.ts";

/** The options of observability. */
export interface ObservabilityOptions {
  /** Collects metrics, and serves them at `/__service/metrics`. On unless false. */
  readonly metrics?: boolean | MetricsOptions | undefined;
  /** Observes each answered request, which the console observer writes as a line. Off unless set. */
  readonly requests?: boolean | undefined;
  /**
   * Names the spans of requests by their routes, and makes spans of statements, for the
   * OpenTelemetry of the runtime: Deno's own with `OTEL_DENO=true`. Off unless set.
   */
  readonly openTelemetry?: boolean | undefined;
}

/** The options of metrics. */
export interface MetricsOptions {
  /**
   * Decides who may read `/__service/metrics`. Unless set, only this machine may, and in production
   * there is no such page.
   */
  readonly authorize?: AuthorizeMetrics | undefined;
  /**
   * The registry in which the app registers its metrics, next to custom metrics; new unless set.
   */
  readonly registry?: Metrics | undefined;
}

/**
 * Returns true if a request may read the metrics. Any value other than `true` refuses. A caller
 * with an invalid credential is anonymous here, so that the function can check a separate token.
 */
export type AuthorizeMetrics = (
  request: Request,
  user: User | null,
) => boolean | PromiseLike<boolean>;

const metricsMembers = {
  authorize: callback<AuthorizeMetrics>(),
  registry: having<Metrics>("made by createMetrics()", "counter", "onRead", "text"),
} satisfies Described<MetricsOptions>;

const members = {
  metrics: either(flag(), group(metricsMembers)).unlessSet(true),
  requests: flag().unlessSet(false),
  openTelemetry: flag().unlessSet(false),
} satisfies Described<ObservabilityOptions>;

/** The option `observability`, described. */
export const observabilityOption = either(flag(), group(members)).unlessSet(false);

/** The options of observability, with every default resolved. */
export interface ResolvedObservability {
  /** Null if none are collected. */
  readonly metrics: ResolvedMetrics | null;
  /** True if each answered request is observed. */
  readonly requests: boolean;
  /** True if spans have routes and statements. */
  readonly openTelemetry: boolean;
  /** True if responses have `Server-Timing`; never in production. */
  readonly serverTiming: boolean;
}

/** The options of metrics, every default resolved. */
export interface ResolvedMetrics {
  readonly registry: Metrics;
  /** Null if nothing but the default decides. */
  readonly authorize: AuthorizeMetrics | null;
}

/** Resolves the option `observability`. */
export function resolveObservability(
  option: boolean | ReadGroup<typeof members>,
  isProduction: boolean,
): ResolvedObservability {
  if (option === false) {
    return { metrics: null, requests: false, openTelemetry: false, serverTiming: false };
  }
  const given: ObservabilityOptions = option === true ? {} : option;
  const { requests = false, openTelemetry = false } = given;
  const metrics = resolveMetrics(option === true ? true : option.metrics);
  return { metrics, requests, openTelemetry, serverTiming: !isProduction };
}

function resolveMetrics(
  option: boolean | ReadGroup<typeof metricsMembers>,
): ResolvedMetrics | null {
  if (option === false) return null;
  const { registry, authorize } = option === true ? {} : option;
  return { registry: registry ?? createMetrics(), authorize: authorize ?? null };
}
