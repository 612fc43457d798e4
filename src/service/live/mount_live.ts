import type { Context, Hono } from "@hono/hono";
import { addressGroup } from "../../guard/client_address.ts";
import type { User } from "../../auth/user.ts";
import { liveLimits } from "../../live/live_limits.ts";
import { MultiplexedStream } from "../../live/stream/multiplexed_stream.ts";
import {
  objectSchema,
  type RouteDescription,
  withRouteDescription,
} from "../../protocol/route_description.ts";
import { Problem } from "../../problem/problem.ts";
import { parseBody } from "../../resource/http/request_body.ts";
import { methodProblem, type RouteTable } from "../../resource/routes/route_table.ts";
import {
  maxSubscriptions,
  parseLiveSubscriptions,
} from "../../resource/live/live_subscriptions.ts";
import { streamHeaders } from "../../resource/live/open_stream.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import {
  type BodyReadingOptions,
  type BodyRequest,
  readBodyRequest,
} from "../body_reading_options.ts";
import type { AppEnv } from "../middleware.ts";
import type { Responder } from "../responder.ts";
import { copyConnectionInfo } from "../request_context.ts";
import { type OpenSubscription, prepareSubscription } from "./open_subscription.ts";

export interface MountLiveOptions extends BodyReadingOptions {
  readonly table: RouteTable;
  readonly parseUser: (value: unknown) => User | null;
  /**
   * Counts a new multiplexed stream and its subscriptions against the limits of a user and an IP
   * address. Returns a function that ends this. Throws a 429 above a limit.
   */
  takeStream(user: User | null, address: string | null, subscriptions: number): () => void;
  readonly responder: Responder;
  /** The mount path that a proxy has removed from the request's path. */
  readonly mountedAt: string;
  prefixOf(context: Context<AppEnv>): string;
  fetch(request: Request, info: unknown): Promise<Response>;
  readonly runtime: Runtime;
}

const livePath = "/__service/live";

/** Mounts the route of multiplexed streams in a service's Hono app, after its other routes. */
export function mountLive(hono: Hono<AppEnv>, mounted: MountLiveOptions): void {
  hono.post(livePath, withRouteDescription(description, (context) => answerLive(context, mounted)));
  // Hono lists handlers with one parameter as routes. This one only refuses methods.
  hono.use(livePath, (context, _next) => {
    throw methodProblem(context.req.method, ["POST"]);
  });
}

async function answerLive(context: Context<AppEnv>, mounted: MountLiveOptions): Promise<Response> {
  const { parseUser } = mounted;
  const request = await readBodyRequest(context, parseUser, mounted);
  return await request.inTurn(() => openLive(context, request, mounted));
}

function openLive(
  context: Context<AppEnv>,
  { bytes, caller, address, waiting }: BodyRequest,
  mounted: MountLiveOptions,
): Response {
  const { takeStream, queues: { turns }, responder, runtime } = mounted;
  const { raw } = context.req;
  const subscriptions = parseLiveSubscriptions(parseBody(bytes, maxNames));
  const taken = takeStream(caller.user(), addressGroup(address), subscriptions.length);
  const left = new AbortController();
  const whole = new MultiplexedStream(() => {
    taken();
    left.abort();
  });
  const opener = {
    ...mounted,
    whole,
    outer: raw,
    info: copyConnectionInfo(context.env),
    user: context.get("user"),
    signal: left.signal,
    prefix: mounted.prefixOf(context),
    observe: runtime.observe,
  };
  const waits = { identity: waiting.identity, signal: left.signal };
  // Adds all parts before any of them opens: the end of the last part ends the stream.
  const opening = subscriptions.map((one) => prepareSubscription(one, opener));
  const body = new ReadableStream(whole, strategy);
  void openInTurns(opening, whole, (begin) => turns.run(waits, begin));
  return responder.respond({ status: 200, headers: streamHeaders, body }, "POST");
}

/** Opens some subscriptions at a time, when the event loop is free. */
async function openInTurns(
  opening: readonly OpenSubscription[],
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

/** How many subscriptions are opened at the same time. Each can wait for hooks. */
const maxOpening = 4;

const strategy = new ByteLengthQueuingStrategy({ highWaterMark: liveLimits.maxUnreadBytes });

/** Maximum number of JSON members: three per subscription, and some unknown ones. */
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
