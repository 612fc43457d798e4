import type { Clock } from "../../runtime/runtime.ts";
import type { HonoApp } from "../hono_app.ts";
import type { RequestMetrics } from "./request_metrics.ts";
import type { FindRoute } from "./route_finder.ts";

/** What requests are observed with. */
export interface RequestObservers {
  readonly findRoute: FindRoute;
  readonly metrics: RequestMetrics;
  readonly clock: Clock;
}

/** Makes the fetch of an app that observes its requests, each until the head of its answer. */
export function observeRequests(
  { fetch }: Pick<HonoApp, "fetch">,
  { findRoute, metrics, clock }: RequestObservers,
): HonoApp["fetch"] {
  return function observedFetch(request, info) {
    const beganAt = clock.elapsedMs();
    const method = metrics.begin(request.method);
    // Asked before the answer, so that nothing keeps the request until then.
    const route = findRoute(request);
    // It never rejects.
    return fetch(request, info).then((response) => {
      metrics.end(method, {
        route,
        status: response.status,
        durationMs: clock.elapsedMs() - beganAt,
      });
      return response;
    });
  };
}
