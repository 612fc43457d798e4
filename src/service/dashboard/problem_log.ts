import { storeProblem } from "../../kv/store_error.ts";
import { Problem } from "../../problem/problem.ts";
import { problemCodes } from "../../protocol/problem_codes.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { Fail } from "../failures.ts";
import { isHttpException } from "../http_exception.ts";
import type { FindRoute } from "../observability/route_finder.ts";

/** Refused or failed requests with one reason at one route. */
export interface ProblemGroup {
  /** Code as in the problem's `type`; `http-418` for a refusal of a middleware. */
  readonly code: string;
  readonly status: number;
  readonly count: number;
  /** Time in milliseconds since 1970. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Method and configured route, `/api/notes/:id`; the path is empty without a route. */
  readonly lastRequest: { readonly method: string; readonly path: string };
  /** Title of the problem; for an internal error, the name of the last error. */
  readonly detail: string;
}

/**
 * The log of problem responses in groups, in the memory of this process. It contains no value of a
 * request: no path, no query, no body.
 */
export class ProblemLog {
  /** Start of the log, in milliseconds since 1970. */
  readonly since: number;
  readonly #clock: Clock;
  readonly #groups = new Map<string, ProblemGroup>();
  #findRoute: FindRoute = () => "";
  #dropped = 0;

  /** Starts empty. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.since = clock.now();
  }

  /** The groups, latest problem first. */
  get groups(): readonly ProblemGroup[] {
    return [...this.#groups.values()].reverse();
  }

  /** Number of groups that newer groups have replaced. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Sets the function that finds the routes of requests. */
  findRoutesBy(findRoute: FindRoute): void {
    this.#findRoute = findRoute;
  }

  /** Returns the function extended by a log of its responses. */
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
    // A group's position is determined by its last problem.
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

/** Returns the title of a problem, because the message may contain a key or another value. */
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

/** Returns the name of an error, because messages of databases contain values. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const kind: unknown = Reflect.get(error, "kind");
  return typeof kind === "string" ? `${error.name}: ${kind}` : error.name;
}
