import type {
  MultiplexedPart,
  MultiplexedStream,
  SubscriptionRefusal,
  SubscriptionRowDescription,
} from "../../live/stream/multiplexed_stream.ts";
import { Problem } from "../../problem/problem.ts";
import { callerHeaders } from "../../protocol/caller_headers.ts";
import { type ProblemBody, problemTypeBase } from "../../protocol/problem_codes.ts";
import { parseRequestTarget } from "../../resource/http/request_target.ts";
import { methodProblem, type RouteTable } from "../../resource/routes/route_table.ts";
import type { ResourceRoute } from "../../resource/routes/endpoint.ts";
import type { LiveSubscription } from "../../resource/live/live_subscriptions.ts";
import { asksForSafeNumbers } from "../../schema/safe_numbers.ts";
import { elementOf, isAny } from "../../schema/structured/kind_of_column.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Observer } from "../../runtime/observation.ts";
import { problemOfStatus } from "../http_exception.ts";
import { addInnerRequestInfo, type InnerRequest } from "../request_context.ts";

export interface SubscriptionOpener {
  readonly whole: MultiplexedStream;
  readonly table: RouteTable;
  readonly outer: Request;
  /** Facts about the connection, such as the client's address. */
  readonly info: object;
  /** The user of the outer request, which a middleware has set. */
  readonly user: InnerRequest["user"];
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** The mount path that a proxy has removed, and the mount path as the client sees it. */
  readonly mountedAt: string;
  readonly prefix: string;
  readonly observe: Observer;
  fetch(request: Request, info: unknown): Promise<Response>;
}

/** A subscription whose inner request has not been sent yet. */
export type OpenSubscription = ReturnType<typeof prepareSubscription>;

/**
 * Prepares one subscription of a multiplexed stream: a `GET` for its path by the same caller,
 * through all middlewares and limits. Its stream becomes a part of the multiplexed stream.
 */
export function prepareSubscription(
  subscription: LiveSubscription,
  opener: SubscriptionOpener,
) {
  const { whole, table, prefix } = opener;
  const request = innerRequest(subscription, opener);
  const route = findRoute(request, table);
  const part = whole.add(subscription.key, route instanceof Problem ? noFacts : factsOf(route));
  const refuse = (problem: Problem) => whole.refuse(part, refusalOf(problem, prefix));
  return {
    open: async () => route instanceof Problem ? refuse(route) : await open(part, request, opener),
    refuse,
  };
}

async function open(
  part: MultiplexedPart,
  request: Request,
  opener: SubscriptionOpener,
): Promise<void> {
  const { whole, fetch, info, user, observe, prefix } = opener;
  const response = await fetch(request, addInnerRequestInfo(info, { part, user }));
  if (response.status === 200 && part.isAttached) return part.begin();
  try {
    whole.refuse(part, await readRefusal(response, opener));
  } catch (error) {
    // The response comes from a middleware and cannot be read. Other subscriptions continue.
    const { method, url } = request;
    observe({ kind: "request_failed", method, path: parseRequestTarget(url).path, error });
    whole.refuse(
      part,
      refusalOf(new Problem("internal-error", "Its answer is unreadable"), prefix),
    );
  }
}

function innerRequest(
  { path, resumeFrom }: LiveSubscription,
  { outer, signal }: SubscriptionOpener,
): Request {
  const headers = callerHeaders(outer);
  const isSafe = asksForSafeNumbers(outer.headers.get("accept") ?? "");
  headers.set("accept", isSafe ? "text/event-stream;numbers=safe" : "text/event-stream");
  if (resumeFrom !== null) headers.set("last-event-id", resumeFrom);
  return new Request(new URL(outer.url).origin + path, { headers, signal });
}

/** Returns the stream route of a path, or the reason why it has none. */
function findRoute({ url }: Request, table: RouteTable): ResourceRoute | Problem {
  const { path } = parseRequestTarget(url);
  const routes = table.at(table.canonical(path) ?? path);
  const route = routes?.get("GET");
  if (route === undefined) return methodProblem("GET", routes?.keys() ?? []);
  const { name } = route.endpoint;
  if (name === "subscribe" || name === "subscribe-aggregate") return route;
  return new Problem(
    "invalid-parameter",
    "Cannot follow this path: it must lead to a /subscribe or /aggregate/subscribe route",
  );
}

function factsOf(
  { endpoint, resource: { table, fields } }: ResourceRoute,
): SubscriptionRowDescription {
  if (endpoint.name !== "subscribe") return noFacts;
  return {
    primaryKey: table.primaryKey.map(({ name }) => name),
    types: Object.fromEntries(fields.readable.map((column) => [column.name, fieldType(column)])),
  };
}

/** Returns the type by which a client sorts the values of a column. */
function fieldType(column: ColumnInfo): string | readonly string[] {
  const element = elementOf(column);
  if (element !== null) return fieldType(element);
  const { kind, databaseType, enumValues } = column;
  if (databaseType !== undefined && enumValues !== null) return enumValues;
  return isAny(column) ? "any" : kind;
}

const noFacts: SubscriptionRowDescription = Object.freeze({ primaryKey: null, types: null });

function refusalOf(problem: Problem, prefix: string): SubscriptionRefusal {
  const body = problem.toBody();
  return {
    status: problem.status,
    problem: { ...body, type: prefix + body.type },
    retryAfter: null,
  };
}

/** Reads the response to a request that opened no stream: a problem, or a middleware's response. */
async function readRefusal(
  response: Response,
  { mountedAt, prefix }: SubscriptionOpener,
): Promise<SubscriptionRefusal> {
  const { headers } = response;
  // A middleware's 200 is an error here, because it has opened no stream.
  const status = response.status === 200 ? 500 : response.status;
  const text = await response.text();
  const isProblem = headers.get("content-type")?.startsWith("application/problem+json") === true;
  const problem: ProblemBody = isProblem ? JSON.parse(text) : problemOfStatus(status, "");
  const { type } = problem;
  const known = (isProblem ? mountedAt : "") + problemTypeBase;
  const isOurs = typeof type === "string" && type.startsWith(known);
  const seconds = Number(headers.get("retry-after") ?? "");
  const challenge = [...headers].filter(([name]) => name.startsWith("service-"));
  return {
    status,
    problem: isOurs
      ? { ...problem, type: prefix + problemTypeBase + type.slice(known.length) }
      : problem,
    retryAfter: seconds > 0 ? seconds : null,
    ...(challenge.length === 0 ? {} : { headers: Object.fromEntries(challenge) }),
  };
}
