import type { Connection } from "../../db/driver.ts";
import { addressGroup } from "../../guard/client_address.ts";
import type { ResourceCall } from "../operation.ts";

/**
 * The connection for the reads of a request that may look at many rows: all but a read by key. What
 * they may cost is limited by the configuration: to the bytes of an answer, unless it makes none.
 */
export function limitedReads(
  { resource, request, user }: ResourceCall,
  maxBytes = resource.readCosts.maxAnswerBytes,
): Connection {
  const { driver, readCosts: { queryTimeoutMs } } = resource;
  return driver.reads({
    // Both are made when they are first used, which most reads never do.
    get identity() {
      return user === null ? `a${addressGroup(request.address())}` : `u${user.id}`;
    },
    get signal() {
      return request.raw.signal;
    },
    maxBytes,
    timeoutMs: queryTimeoutMs,
  });
}
