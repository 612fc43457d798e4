import type { User } from "../../auth/user.ts";
import type { StreamPart } from "../../live/stream/stream_part.ts";

/** What is known of a request that the service makes by itself, for a subscription of a client. */
export interface InnerRequest {
  /** Where the bytes of its stream go. */
  readonly part: StreamPart;
  /** The user of the request that holds the subscription, as a middleware has set it. */
  readonly user: User | null | undefined;
}

/** Only this file has it: a request from outside is never an inner one. */
const innerKey = Symbol("inner request");

/** The facts of a connection, which a listener gives only as long as the connection is open. */
export function keptInfo(info: unknown): object {
  const { remoteAddr, completed }: { remoteAddr?: unknown; completed?: unknown } = Object(info);
  // Those of a listener are getters of a class, which a copy of its own properties lacks.
  return { ...Object(info), remoteAddr, completed };
}

/** What the app is given beside an inner request: the facts of the connection, and the request's. */
export function infoOfInner(info: object, inner: InnerRequest): object {
  return { ...info, [innerKey]: inner };
}

/** The inner request that an app was given these facts with; null for any other request. */
export function innerRequestOf(info: unknown): InnerRequest | null {
  if (typeof info !== "object" || info === null || !(innerKey in info)) return null;
  // Only `infoOfInner` sets it.
  return info[innerKey] as InnerRequest;
}
