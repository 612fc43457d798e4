import { storeProblem } from "../../kv/store_error.ts";
import { Problem } from "../../problem/problem.ts";
import { problemCodes } from "../../protocol/problem_codes.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { type ErrorResponder, isHttpException } from "../responder.ts";
import type { FindRoute } from "../route_handlers.ts";

export interface ProblemGroup {
  /** The code in the problem's `type`. An error of a middleware has a code like `http-418`. */
  readonly code: string;
  readonly status: number;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** The method and the route's path, such as `/api/notes/:id`. The path is "" without a route. */
  readonly lastRequest: { readonly method: string; readonly path: string };
  /** The title of the problem, or for an internal error the name of the last error. */
  readonly detail: string;
}

/** Groups the problem responses of this process by code and route. Stores no value of a request. */
export class ProblemLog {
  readonly since: number;
  readonly #clock: Clock;
  readonly #groups = new Map<string, ProblemGroup>();
  #findRoute: FindRoute = () => "";
  #dropped = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.since = clock.now();
  }

  get groups(): readonly ProblemGroup[] {
    return [...this.#groups.values()].reverse();
  }

  get dropped(): number {
    return this.#dropped;
  }

  findRoutesBy(findRoute: FindRoute): void {
    this.#findRoute = findRoute;
  }

  logging(fail: ErrorResponder): ErrorResponder {
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
    // Deleting the key first moves the group to the end of the map, after all older entries.
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

/** Returns the title of a problem instead of its message, which can contain a value. */
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

/** Returns an error's name instead of its message: messages of databases contain values. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const kind: unknown = Reflect.get(error, "kind");
  return typeof kind === "string" ? `${error.name}: ${kind}` : error.name;
}
