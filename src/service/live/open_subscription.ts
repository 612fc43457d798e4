import type {
  MultiplexedPart,
  SubscriptionRowDescription,
} from "../../live/stream/multiplexed_part.ts";
import type {
  MultiplexedStream,
  SubscriptionRefusal,
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
import { type InnerRequest, innerRequestInfo } from "../request_context.ts";

export interface SubscriptionOpener {
  readonly whole: MultiplexedStream;
  readonly table: RouteTable;
  /** The request that contains the subscriptions. */
  readonly outer: Request;
  /** Facts about the connection, such as the client's address. */
  readonly info: object;
  /** The user of the outer request, as a middleware has set it. */
  readonly user: InnerRequest["user"];
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** The mount path that a proxy has removed, and the mount path that the client sees. */
  readonly mountedAt: string;
  readonly prefix: string;
  readonly observe: Observer;
  fetch(request: Request, info: unknown): Promise<Response>;
}

/** A subscription of a multiplexed stream before its request is sent. */
export interface OpenSubscription {
  readonly open: () => Promise<void>;
  /** Refuses the subscription instead of sending a response. */
  readonly refuse: (problem: Problem) => void;
}

/**
 * Prepares a subscription of a multiplexed stream: an inner `GET` request of the same caller for
 * its path. The request passes every middleware and limit. Its stream becomes a part of the
 * multiplexed stream.
 */
export function prepareSubscription(
  subscription: LiveSubscription,
  opener: SubscriptionOpener,
): OpenSubscription {
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
  const response = await fetch(request, innerRequestInfo(info, { part, user }));
  if (response.status === 200 && part.isAttached) return part.begin();
  try {
    whole.refuse(part, await readRefusal(response, opener));
  } catch (error) {
    // If the response of a middleware cannot be read, the other subscriptions continue.
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

/** Returns the route of a stream, or the reason why the path has no stream. */
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

/** Returns the field type with which a client sorts the values of a column. */
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

/** Reads the response to a refused request: a problem, or the response of a middleware. */
async function readRefusal(
  response: Response,
  { mountedAt, prefix }: SubscriptionOpener,
): Promise<SubscriptionRefusal> {
  const { headers } = response;
  // A middleware that responds with 200 has opened no stream, so the status becomes 500.
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
