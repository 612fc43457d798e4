import type { RouteHandlersOptions } from "../route_handlers.ts";
import type { Context, Hono } from "@hono/hono";
import { addressGroup } from "../../guard/client_address.ts";
import type { User } from "../../auth/authorize.ts";
import { liveLimits } from "../../live/live_limits.ts";
import {
  type MultiplexedPart,
  MultiplexedStream,
  type SubscriptionRefusal,
  type SubscriptionRowDescription,
} from "../../live/stream/multiplexed_stream.ts";
import {
  objectSchema,
  type RouteDescription,
  withRouteDescription,
} from "../../protocol/route_description.ts";
import { invalidParameter, Problem } from "../../problem/problem.ts";
import { parseBody } from "../../resource/http/request_body.ts";
import { methodProblem, type RouteTable } from "../../resource/routes/route_table.ts";
import {
  type LiveSubscription,
  maxSubscriptions,
  parseLiveSubscriptions,
} from "../../resource/live/live_subscriptions.ts";
import { newRowDefaults } from "../../resource/live/new_row_defaults.ts";
import { streamHeaders } from "../../resource/live/live_hubs.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Observer, Runtime } from "../../runtime/runtime.ts";
import { type BodyReadingOptions, readBodyRequest } from "../hono_app.ts";
import type { AppEnv } from "../middleware.ts";
import { addInnerRequestInfo, copyConnectionInfo, type InnerRequest } from "../request_context.ts";
import { callerHeaders } from "../../protocol/caller_headers.ts";
import { type ProblemBody, problemTypeBase } from "../../protocol/problem_codes.ts";
import { parseRequestTarget } from "../../resource/http/request_target.ts";
import type { ResourceRoute } from "../../resource/routes/endpoint.ts";
import { asksForSafeNumbers } from "../../schema/safe_numbers.ts";
import { elementOf, isAny } from "../../schema/structured/structured_value.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { problemOfStatus } from "../responder.ts";

interface MountLiveOptions
  extends
    BodyReadingOptions,
    Pick<RouteHandlersOptions, "table" | "parseUser" | "responder" | "mountedAt"> {
  /** Counts a stream and its subscriptions until the result is called. Throws 429 above limits. */
  takeStream(user: User | null, address: string | null, subscriptions: number): () => void;
  prefixOf(context: Context<AppEnv>): string;
  fetch(request: Request, info: unknown): Promise<Response>;
  readonly runtime: Runtime;
}

const livePath = "/__service/live";

export function mountLive(hono: Hono<AppEnv>, mounted: MountLiveOptions): void {
  hono.post(livePath, withRouteDescription(description, (context) => answerLive(context, mounted)));
  // It has two parameters, because Hono lists a handler with one parameter as a route.
  hono.use(livePath, (context, _next) => {
    throw methodProblem(context.req.method, ["POST"]);
  });
}

async function answerLive(context: Context<AppEnv>, mounted: MountLiveOptions): Promise<Response> {
  const { parseUser } = mounted;
  const request = await readBodyRequest(context, parseUser, mounted);
  return await request.inTurn(() => {
    const { bytes, caller, address, waiting } = request;
    const { takeStream, queues: { turns }, responder, runtime } = mounted;
    const { raw } = context.req;
    const subscriptions = parseLiveSubscriptions(parseBody(bytes, maxNames));
    const taken = takeStream(caller.user(), addressGroup(address), subscriptions.length);
    const left = new AbortController();
    const prefix = mounted.prefixOf(context);
    const whenClosed = () => {
      taken();
      left.abort();
    };
    const whole = new MultiplexedStream(whenClosed, (problem) => refusalOf(problem, prefix));
    const opener = {
      ...mounted,
      whole,
      outer: raw,
      info: copyConnectionInfo(context.env),
      user: context.get("user"),
      signal: left.signal,
      prefix,
      observe: runtime.observe,
    };
    const waits = { identity: waiting.identity, signal: left.signal };
    // The stream ends once no part is open. So all parts are added before the first one opens.
    const opening = subscriptions.map((one) => prepareSubscription(one, opener));
    const body = new ReadableStream(whole, strategy);
    void openInTurns(opening, whole, (begin) => turns.run(waits, begin));
    return responder.respond({ status: 200, headers: streamHeaders, body }, "POST");
  });
}

async function openInTurns(
  opening: readonly ReturnType<typeof prepareSubscription>[],
  whole: MultiplexedStream,
  inTurn: (begin: () => void) => MaybePromise<void>,
): Promise<void> {
  const waiting = opening.values();
  async function openNext(): Promise<void> {
    for (const { open, refuse } of waiting) {
      if (whole.isClosed) return;
      let opened: Promise<void> | null = null;
      try {
        await inTurn(() => void (opened = open()));
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        refuse(error);
      }
      await opened;
    }
  }
  await Promise.all(Array.from({ length: maxOpening }, openNext));
}

/** The number of subscriptions that open at the same time. Each of them can wait for hooks. */
const maxOpening = 4;

const strategy = new ByteLengthQueuingStrategy({ highWaterMark: liveLimits.maxUnreadBytes });

/** Maximum number of JSON members. A subscription has three, and may have unknown members. */
const maxNames = 10 * maxSubscriptions;

const events =
  "Events, each with JSON as data. `subscription` { type, key }: the blocks that follow, until the " +
  "next such event, are those of the stream of this key; the first one of a key also has " +
  "primaryKey, types, the kinds of the readable fields, and defaults, the values of a new row, all " +
  "null for aggregates. `refused` " +
  "{ type, key, status, problem, retryAfter }: this subscription is not opened, or has failed. `ended` " +
  "{ type, key }: it has ended as a stream of its own would have.";

const description: RouteDescription = {
  id: "subscribeToSeveral",
  tag: "Live",
  summary: "Several live streams as one",
  body: objectSchema({
    subscriptions: {
      type: "array",
      minItems: 1,
      maxItems: maxSubscriptions,
      items: objectSchema({
        key: { type: "string", minLength: 1, maxLength: 64, pattern: "^[\\x20-\\x7e]+$" },
        path: {
          type: "string",
          description: "Of a /subscribe or /aggregate/subscribe route, with its query.",
        },
        "resumeFrom?": { type: "string", nullable: true, description: "A resume token." },
      }),
    },
  }),
  answers: { 200: { type: "text/event-stream", schema: { type: "string", description: events } } },
  problems: [
    ...["invalid-body", "invalid-parameter", "unauthorized", "request-timeout"] as const,
    ...["payload-too-large", "unsupported-media-type", "rate-limit-exceeded"] as const,
    ...["internal-error"] as const,
  ],
  needsUser: false,
};

interface SubscriptionOpener {
  readonly whole: MultiplexedStream;
  readonly table: RouteTable;
  readonly outer: Request;
  readonly info: object;
  readonly user: InnerRequest["user"];
  readonly signal: AbortSignal;
  /** The mount path that a proxy has removed. */
  readonly mountedAt: string;
  /** The mount path as the client sees it. */
  readonly prefix: string;
  readonly observe: Observer;
  fetch(request: Request, info: unknown): Promise<Response>;
}

/** Prepares a subscription: a `GET` of its path by the same caller, with middlewares and limits. */
function prepareSubscription(
  subscription: LiveSubscription,
  opener: SubscriptionOpener,
) {
  const { whole, table, prefix } = opener;
  const { path, resumeFrom } = subscription;
  const { outer, signal } = opener;
  const headers = callerHeaders(outer);
  const isSafe = asksForSafeNumbers(outer.headers.get("accept") ?? "");
  headers.set("accept", isSafe ? "text/event-stream;numbers=safe" : "text/event-stream");
  if (resumeFrom !== null) headers.set("last-event-id", resumeFrom);
  const request = new Request(new URL(outer.url).origin + path, { headers, signal });
  const route = findRoute(request, table);
  const part = whole.add(
    subscription.key,
    route instanceof Problem ? noFacts : factsOf(route, request),
  );
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
    // If the response of a middleware cannot be read, the other subscriptions continue.
    const { method, url } = request;
    observe({ kind: "request_failed", method, path: parseRequestTarget(url).path, error });
    whole.refuse(
      part,
      refusalOf(new Problem("internal-error", "Its answer is unreadable"), prefix),
    );
  }
}

function findRoute({ url }: Request, table: RouteTable): ResourceRoute | Problem {
  const { path } = parseRequestTarget(url);
  const routes = table.at(table.canonical(path) ?? path);
  const route = routes?.get("GET");
  if (route === undefined) return methodProblem("GET", routes?.keys() ?? []);
  const { name } = route.endpoint;
  if (name === "subscribe" || name === "subscribe-aggregate") return route;
  return invalidParameter(
    "Cannot follow this path: it must lead to a /subscribe or /aggregate/subscribe route",
  );
}

function factsOf({ endpoint, resource }: ResourceRoute, { url }: Request) {
  if (endpoint.name !== "subscribe") return noFacts;
  const { table, fields } = resource;
  const include = new URL(url).searchParams.get("include") ?? undefined;
  return {
    primaryKey: table.primaryKey.map(({ name }) => name),
    types: Object.fromEntries(fields.readable.map((column) => [column.name, fieldType(column)])),
    defaults: newRowDefaults(resource, include),
  };
}

function fieldType(column: ColumnInfo): string | readonly string[] {
  const element = elementOf(column);
  if (element !== null) return fieldType(element);
  const { kind, databaseType, enumValues } = column;
  if (databaseType !== undefined && enumValues !== null) return enumValues;
  return isAny(column) ? "any" : kind;
}

const noFacts: SubscriptionRowDescription = Object.freeze({
  primaryKey: null,
  types: null,
  defaults: null,
});

function refusalOf(problem: Problem, prefix: string): SubscriptionRefusal {
  const body = problem.toBody();
  return {
    status: problem.status,
    problem: { ...body, type: prefix + body.type },
    retryAfter: Number(problem.headers["retry-after"]) || null,
  };
}

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
