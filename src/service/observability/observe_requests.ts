import { parseRequestTarget } from "../../resource/http/request_target.ts";
import { catching } from "../../runtime/maybe_promise.ts";
import type { Observer } from "../../runtime/observation.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { HonoApp } from "../hono_app.ts";
import type { RequestMetrics } from "./request_metrics.ts";
import type { FindRoute } from "./route_finder.ts";

export interface RequestObservers {
  readonly findRoute: FindRoute;
  /** The metrics of requests; null if requests are not measured. */
  readonly metrics: RequestMetrics | null;
  /** Receives an observation of each request; null if no observer wants them. */
  readonly observe: Observer | null;
  readonly clock: Clock;
}

/** Wraps an app's `fetch`, to measure each request until its response begins and report it. */
export function observeRequests(
  { fetch }: Pick<HonoApp, "fetch">,
  { findRoute, metrics, observe, clock }: RequestObservers,
): HonoApp["fetch"] {
  return function observedFetch(request, info) {
    const beganAt = clock.elapsedMs();
    const method = metrics?.begin(request.method) ?? "";
    // Looks up the route before the response, so that the request need not stay in memory.
    const route = findRoute(request);
    const facts = observe === null ? null : factsOf(request);
    // The promise never rejects, because `fetch` converts every error to a response.
    return fetch(request, info).then((response) => {
      const { status } = response;
      const durationMs = clock.elapsedMs() - beganAt;
      metrics?.end(method, { route, status, durationMs });
      if (observe !== null && facts !== null) {
        emit(observe, {
          kind: "request",
          ...facts,
          route,
          status,
          durationMs: Math.round(durationMs * 1_000) / 1_000,
          requestId: idIn(response.headers) ?? facts.requestId,
        });
      }
      return response;
    });
  };
}

function factsOf({ method, url, headers }: Request) {
  return { method, path: parseRequestTarget(url).path, requestId: idIn(headers) };
}

/** Returns the request id. Clients choose it, so it must be short and without blanks. */
function idIn(headers: Headers): string | null {
  const id = headers.get("x-request-id");
  return id !== null && /^[\x21-\x7e]{1,128}$/.test(id) ? id : null;
}

function emit(observe: Observer, observation: Parameters<Observer>[0]): void {
  // An observer must not throw, but if it does, the response is sent anyway.
  void catching(() => observe(observation), () => {});
}
