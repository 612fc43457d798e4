import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../runtime/runtime.ts";
import type { HonoApp } from "../hono_app.ts";
import type { DriverWatch, WatchEnd } from "./watched_driver.ts";

/** Measures requests for `Server-Timing`. Only for development, because durations reveal data. */
export class ServerTiming {
  /** Watches the statements of the measured requests. */
  readonly watch: DriverWatch = { statements: () => this.#watchStatements() };
  readonly #clock: Clock;
  readonly #requests = new AsyncLocalStorage<RequestTiming>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wraps the fetch of an app so that it sends `Server-Timing` if a request asks for it. */
  around(fetch: HonoApp["fetch"]): HonoApp["fetch"] {
    return (request, info) =>
      request.headers.has(askingHeader) ? this.#timed(request, info, fetch) : fetch(request, info);
  }

  async #timed(request: Request, info: unknown, fetch: HonoApp["fetch"]): Promise<Response> {
    const timing: RequestTiming = { statements: 0, statementsMs: 0 };
    const beganAt = this.#clock.elapsedMs();
    const response = await this.#requests.run(timing, () => fetch(request, info));
    return withHeader(response, headerOf(timing, this.#clock.elapsedMs() - beganAt));
  }

  #watchStatements(): () => WatchEnd {
    const timing = this.#requests.getStore();
    if (timing === undefined) return ofNoRequest;
    return () => {
      const beganAt = this.#clock.elapsedMs();
      return () => {
        timing.statements++;
        timing.statementsMs += this.#clock.elapsedMs() - beganAt;
      };
    };
  }
}

/** A request with this header, with any value, asks for the timing of its response. */
const askingHeader = "service-timing";

interface RequestTiming {
  statements: number;
  statementsMs: number;
}

function ofNoRequest(): WatchEnd {
  return () => {};
}

/** Returns the value of `Server-Timing`, which browsers show in their network view. */
function headerOf({ statements, statementsMs }: RequestTiming, durationMs: number): string {
  const total = `total;dur=${durationMs.toFixed(2)}`;
  if (statements === 0) return total;
  const count = statements === 1 ? "1 statement" : `${statements} statements`;
  return `${total}, db;dur=${statementsMs.toFixed(2)};desc="${count}"`;
}

function withHeader(response: Response, value: string): Response {
  // `new Response` rejects statuses below 200, which are errors and protocol upgrades.
  if (response.status < 200) return response;
  try {
    response.headers.append("server-timing", value);
    return response;
  } catch {
    // The headers of a response from `fetch()` or `Response.redirect()` are immutable.
    const headers = new Headers(response.headers);
    headers.append("server-timing", value);
    return new Response(response.body, { status: response.status, headers });
  }
}
