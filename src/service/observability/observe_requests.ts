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
  /** Receives an observation of each request. Null if no observer needs them. */
  readonly observe: Observer | null;
  readonly clock: Clock;
}

/** Wraps the fetch of an app to measure and report each request until the head of its response. */
export function observeRequests(
  { fetch }: Pick<HonoApp, "fetch">,
  { findRoute, metrics, observe, clock }: RequestObservers,
): HonoApp["fetch"] {
  return function observedFetch(request, info) {
    const beganAt = clock.elapsedMs();
    const method = metrics?.begin(request.method) ?? "";
    // The route is looked up first, so that the request is not kept in memory until the response.
    const route = findRoute(request);
    const facts = observe === null ? null : factsOf(request);
    // This promise never rejects, because `fetch` converts every error to a response.
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

/** Returns the request id. Clients choose the id, so it must be short and without blanks. */
function idIn(headers: Headers): string | null {
  const id = headers.get("x-request-id");
  return id !== null && /^[\x21-\x7e]{1,128}$/.test(id) ? id : null;
}

function emit(observe: Observer, observation: Parameters<Observer>[0]): void {
  // An observer must not throw. Even if one throws, the response is sent.
  void catching(() => observe(observation), () => {});
}
