import { storeProblem } from "../../kv/store_error.ts";
import { Problem } from "../../problem/problem.ts";
import { problemCodes } from "../../protocol/problem_codes.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { Fail } from "../failures.ts";
import { isHttpException } from "../http_exception.ts";
import type { FindRoute } from "../observability/route_finder.ts";

/** Requests that were refused, or failed, for the same reason at the same route. */
export interface ProblemGroup {
  /** As in the problem's `type`; `http-418` for a refusal of a middleware. */
  readonly code: string;
  readonly status: number;
  readonly count: number;
  /** In milliseconds since 1970. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** The method and the configured route, `/api/notes/:id`; empty where there is none. */
  readonly lastRequest: { readonly method: string; readonly path: string };
  /** The title of the problem; of a fault, the name of the last error. */
  readonly detail: string;
}

/**
 * The log of the problems that requests were answered with, in groups, in the memory of this
 * process. It holds no value of a request: no path, no query, no body.
 */
export class ProblemLog {
  /** When it began, in milliseconds since 1970. */
  readonly since: number;
  readonly #clock: Clock;
  readonly #groups = new Map<string, ProblemGroup>();
  #findRoute: FindRoute = () => "";
  #dropped = 0;

  /** Begins empty. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.since = clock.now();
  }

  /** The groups, the last problem first. */
  get groups(): readonly ProblemGroup[] {
    return [...this.#groups.values()].reverse();
  }

  /** How many groups are forgotten, because newer ones took their place. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Finds the routes of requests by this function from now on. */
  findRoutesBy(findRoute: FindRoute): void {
    this.#findRoute = findRoute;
  }

  /** Returns the function with a log of its responses. */
  logging(fail: Fail): Fail {
    return (thrown, request, prefix) => {
      const response = fail(thrown, request, prefix);
      this.#add(storeProblem(thrown), response.status, request);
      return response;
    };
  }

  #add(error: unknown, status: number, request: Request): void {
    const { code, detail } = describe(error, status);
    const method = knownMethods.has(request.method) ? request.method : "_OTHER";
    const path = this.#findRoute(request);
    const key = `${code} ${status} ${method} ${path}`;
    const lastAt = this.#clock.now();
    const { count, firstAt } = this.#groups.get(key) ?? { count: 0, firstAt: lastAt };
    // Its place is that of its last problem.
    this.#groups.delete(key);
    const [oldest] = this.#groups.size < maxGroups ? [] : this.#groups.keys();
    if (oldest !== undefined) {
      this.#groups.delete(oldest);
      this.#dropped++;
    }
    const lastRequest = { method, path };
    this.#groups.set(key, {
      ...{ code, status, firstAt, lastAt, lastRequest, detail },
      count: count + 1,
    });
  }
}

const maxGroups = 200;

const knownMethods: ReadonlySet<string> = new Set([
  ...["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
]);

/** The title of the problem: its message may hold a key, the name of a field, or any other value. */
function describe(error: unknown, status: number): Pick<ProblemGroup, "code" | "detail"> {
  if (error instanceof Problem) {
    return { code: error.slug, detail: problemCodes[error.slug].title + causeOf(error) };
  }
  if (isHttpException(error)) return { code: `http-${status}`, detail: "Refused by a middleware" };
  return { code: "internal-error", detail: nameOf(error) };
}

function causeOf({ cause, status }: Problem): string {
  return cause === undefined || status < 500 ? "" : ` (${nameOf(cause)})`;
}

/** Messages of databases hold values. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const kind: unknown = Reflect.get(error, "kind");
  return typeof kind === "string" ? `${error.name}: ${kind}` : error.name;
}
