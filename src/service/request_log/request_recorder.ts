import { AsyncLocalStorage } from "node:async_hooks";
import { Buffer } from "node:buffer";
import type { Driver } from "../../db/driver.ts";
import { storeProblem } from "../../kv/store_error.ts";
import type { RequestHandler } from "../../resource/routes/request_handler.ts";
import { chain } from "../../runtime/maybe_promise.ts";
import type { RequestObservation } from "../../runtime/observations/request_observation.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { dashboardPath } from "../dashboard/dashboard_path.ts";
import type { DriverWatch } from "../observability/watched_driver.ts";
import type { ErrorResponder } from "../responder.ts";
import { describeProblem, type ProblemDescription } from "./describe_problem.ts";
import type { RequestStore } from "./request_store.ts";

/** Facts that the parts of the service note about a request while they handle the request. */
export interface RequestNotes {
  readonly at: number;
  readonly route: string;
  user: string | null;
  /** The length of the response's body. Null for a stream, and for requests to no resource. */
  bytes: number | null;
  problem: ProblemDescription | null;
  /** The id in the headers of a request that had a problem. */
  requestId: string | null;
}

/** Collects the facts of each request, and passes them to the store. Never delays a request. */
export class RequestRecorder {
  readonly #notes = new AsyncLocalStorage<RequestNotes>();
  readonly #store: RequestStore;
  readonly #clock: Clock;

  constructor(store: RequestStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  begin(route: string): RequestNotes {
    return {
      at: this.#clock.now(),
      route,
      user: null,
      bytes: null,
      problem: null,
      requestId: null,
    };
  }

  run<T>(notes: RequestNotes, work: () => T): T {
    return this.#notes.run(notes, work);
  }

  end(notes: RequestNotes, observation: Omit<RequestObservation, "kind">): void {
    const { route, status } = observation;
    // Omits the dashboard's successful requests: reads are frequent, and writes are in the audit.
    if (status < 400 && route.includes(dashboardPath)) return;
    // A request with several parts can succeed although one part has a problem.
    const { code = null, detail = null } = status < 400 ? {} : notes.problem ?? {};
    const { at, user, bytes } = notes;
    const { method, path, durationMs } = observation;
    this.#store.add({
      at,
      method: method.slice(0, 20),
      route,
      path: path.slice(0, 300),
      status,
      durationMs,
      user: user?.slice(0, 200) ?? null,
      bytes,
      requestId: observation.requestId ?? notes.requestId,
      problem: code,
      detail,
    });
  }

  /** Wraps the handler of resources' requests, to note the user and the size of the response. */
  noting(handle: RequestHandler): RequestHandler {
    return (route, received) => {
      const notes = this.#notes.getStore();
      if (notes === undefined) return handle(route, received);
      notes.user = received.caller.user()?.id ?? null;
      return chain(handle(route, received), (reply) => {
        const { body } = reply;
        notes.bytes = typeof body === "string" ? Buffer.byteLength(body) : body === null ? 0 : null;
        return reply;
      });
    };
  }

  notingProblems(fail: ErrorResponder): ErrorResponder {
    return (thrown, request, prefix) => {
      const response = fail(thrown, request, prefix);
      const notes = this.#notes.getStore();
      if (notes !== undefined) {
        notes.problem = describeProblem(storeProblem(thrown), response.status);
        notes.requestId = requestIdIn(request.headers);
      }
      return response;
    };
  }

  /** Returns a watch for slow statements. A duration includes the wait for a connection. */
  statementsOf({ label: database }: Driver): NonNullable<DriverWatch["statements"]> {
    return () => {
      const route = this.#notes.getStore()?.route ?? "";
      return ({ text, values }) => {
        const beganAt = this.#clock.elapsedMs();
        return () => {
          const durationMs = this.#clock.elapsedMs() - beganAt;
          if (durationMs < this.#store.options.slowStatementMs) return;
          const parameters = values.length;
          this.#store.addStatement({ database, route, text, parameters, durationMs });
        };
      };
    };
  }
}

/** Returns the request id, which clients choose. Ignores ids that are long or have blanks. */
export function requestIdIn(headers: Headers): string | null {
  const id = headers.get("x-request-id");
  return id !== null && /^[\x21-\x7e]{1,128}$/.test(id) ? id : null;
}
