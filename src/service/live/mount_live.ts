import type { Context, Hono } from "@hono/hono";
import { addressGroup, clientAddress } from "../../guard/client_address.ts";
import type { User } from "../../auth/user.ts";
import { liveLimits } from "../../live/live_limits.ts";
import { MultiplexedStream } from "../../live/stream/multiplexed_stream.ts";
import {
  describedAs,
  objectSchema,
  type RouteDescription,
} from "../../protocol/route_description.ts";
import { type BodyLimits, parseBody, readBody } from "../../resource/http/request_body.ts";
import { refuseMethod, type RouteTable } from "../../resource/http/route_table.ts";
import {
  maxSubscriptions,
  parseLiveSubscriptions,
} from "../../resource/stream/live_subscriptions.ts";
import { streamHeaders } from "../../resource/stream/open_stream.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { HonoCaller } from "../hono_caller.ts";
import type { AppEnv } from "../middleware.ts";
import type { Responder } from "../responder.ts";
import { prepareSubscription } from "./open_subscription.ts";

/** What the route of multiplexed streams is mounted with. */
export interface MountedLive {
  readonly table: RouteTable;
  readonly parseUser: (value: unknown) => User | null;
  /** Counts a stream of a user and an address, and gives what frees its place. Throws a 429. */
  takeStream(user: User | null, address: string | null): () => void;
  readonly limits: BodyLimits;
  readonly trustedProxies: number;
  readonly responder: Responder;
  /** The path at which a proxy has mounted the app. */
  readonly mountedAt: string;
  /** The path at which the app that handles a request is mounted, as its client sees it. */
  prefixOf(context: Context<AppEnv>): string;
  /** The app itself. */
  fetch(request: Request, info: unknown): Promise<Response>;
  readonly runtime: Runtime;
}

/** Where clients open a multiplexed stream. */
const livePath = "/__service/live";

/** Mounts the route of multiplexed streams in the Hono app of a service, after its other routes. */
export function mountLive(hono: Hono<AppEnv>, mounted: MountedLive): void {
  hono.post(livePath, describedAs(description, (context) => answerLive(context, mounted)));
  // With two parameters it is no route in Hono's lists.
  hono.use(livePath, (context, _next) => {
    throw refuseMethod(context.req.method, ["POST"]);
  });
}

async function answerLive(context: Context<AppEnv>, mounted: MountedLive): Promise<Response> {
  const { parseUser, takeStream, limits, trustedProxies, responder, runtime } = mounted;
  const { raw } = context.req;
  const caller = new HonoCaller(context, parseUser);
  const bytes = await readBody(raw, caller, limits, runtime.clock);
  const subscriptions = parseLiveSubscriptions(parseBody(bytes, maxNames));
  const address = addressGroup(clientAddress(raw.headers, caller.address(), trustedProxies));
  const whole = new MultiplexedStream(takeStream(caller.user(), address));
  const opener = {
    ...mounted,
    whole,
    outer: raw,
    info: context.env,
    user: context.get("user"),
    // Deno warns of the signal of a request, which costs kilobytes.
    signal: caller.delivered() === null ? raw.signal : null,
    prefix: mounted.prefixOf(context),
    observe: runtime.observe,
  };
  // All parts belong to the whole before one of them can end it.
  const opening = subscriptions.map((one) => prepareSubscription(one, opener));
  const body = new ReadableStream(whole, strategy);
  for (const open of opening) void open();
  return responder.respond({ status: 200, headers: streamHeaders, body }, "POST");
}

const strategy = new ByteLengthQueuingStrategy({ highWaterMark: liveLimits.maxUnreadBytes });

/** Of the members of a body: three for each subscription, and some that are unknown. */
const maxNames = 10 * maxSubscriptions;

const events =
  "Events, each with JSON as data. `subscription` { type, key }: the blocks that follow, until the " +
  "next such event, are those of the stream of this key; the first one of a key also has " +
  "primaryKey and types, the kinds of the readable fields, both null for aggregates. `refused` " +
  "{ type, key, status, problem, retryAfter }: this subscription is not opened. `ended` " +
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
