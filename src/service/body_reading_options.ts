import type { Context } from "@hono/hono";
import type { User } from "../auth/user.ts";
import { clientAddress } from "../guard/client_address.ts";
import { type RequestQueues, runInTurn } from "../resource/http/large_bodies.ts";
import type { WaitingRequest } from "../resource/http/request_scheduler.ts";
import { type BodyLimits, readBody } from "../resource/http/request_body.ts";
import { callerIdentity } from "../resource/routes/routed_request.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { Clock } from "../runtime/runtime.ts";
import { HonoCaller } from "./request_context.ts";
import type { AppEnv } from "./middleware.ts";

export interface BodyReadingOptions {
  readonly limits: BodyLimits;
  readonly queues: RequestQueues;
  readonly trustedProxies: number;
  readonly clock: Clock;
}

export interface BodyRequest {
  readonly caller: HonoCaller;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The IP address of the client; null if no listener and no trusted proxy reports it. */
  readonly address: string | null;
  readonly waiting: WaitingRequest;
  /** Runs work that can block the event loop, when the scheduler selects this request. */
  inTurn<Result>(work: () => MaybePromise<Result>): MaybePromise<Result>;
}

/** Reads a request's body within the limits. Throws a 400, 408, 413 or 415. */
export async function readBodyRequest(
  context: Context<AppEnv>,
  parseUser: (value: unknown) => User | null,
  { limits, queues, trustedProxies, clock }: BodyReadingOptions,
): Promise<BodyRequest> {
  const { raw } = context.req;
  const caller = new HonoCaller(context, parseUser);
  const bytes = await readBody(raw, caller, limits, clock);
  const address = clientAddress(raw.headers, caller.address(), trustedProxies);
  const waiting = {
    identity: callerIdentity(caller.user(), address),
    get signal() {
      return raw.signal;
    },
  };
  return {
    ...{ caller, bytes, address, waiting },
    inTurn: (work) => runInTurn(waiting, bytes, queues, work),
  };
}
