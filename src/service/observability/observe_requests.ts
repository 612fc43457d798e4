import { parseRequestTarget } from "../../resource/http/request_target.ts";
import { catching } from "../../runtime/maybe_promise.ts";
import type { Observer } from "../../runtime/observation.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { HonoApp } from "../hono_app.ts";
import type { RequestMetrics } from "./request_metrics.ts";
import type { FindRoute } from "./route_finder.ts";

export interface RequestObservers {
  readonly findRoute: FindRoute;
  /** Null if requests are not counted. */
  readonly metrics: RequestMetrics | null;
  /** Receives an observation of each request; null if no observer does. */
  readonly observe: Observer | null;
  readonly clock: Clock;
}

/** Returns the fetch of an app that observes its requests, each until the head of its response. */
export function observeRequests(
  { fetch }: Pick<HonoApp, "fetch">,
  { findRoute, metrics, observe, clock }: RequestObservers,
): HonoApp["fetch"] {
  return function observedFetch(request, info) {
    const beganAt = clock.elapsedMs();
    const method = metrics?.begin(request.method) ?? "";
    // The route is resolved before the response, so that no reference keeps the request until then.
    const route = findRoute(request);
    const facts = observe === null ? null : factsOf(request);
    // This promise never rejects.
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

/** Returns the request id. A client chooses the id, so it must be short and without blanks. */
function idIn(headers: Headers): string | null {
  const id = headers.get("x-request-id");
  return id !== null && /^[\x21-\x7e]{1,128}$/.test(id) ? id : null;
}

function emit(observe: Observer, observation: Parameters<Observer>[0]): void {
  // An observer must not throw. If it throws anyway, the response is still sent.
  void catching(() => observe(observation), () => {});
}
