import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { FairTurns, WaitingRequest } from "./fair_turns.ts";
import type { LargeBodies } from "./large_bodies.ts";

/** The queues of an app in which requests wait that may keep the event loop for milliseconds. */
export interface RequestQueues {
  readonly turns: FairTurns;
  readonly largeBodies: LargeBodies;
}

/** Parsing so many bytes takes as long as answering a small request. */
const largeBodyBytes = 32 * 1024;

/** Whether a request has to take its turn because of its body alone. */
export function isLargeBody(body: Uint8Array): boolean {
  return body.byteLength >= largeBodyBytes;
}

/** Begins the work of a request in its turn, and that of a large body as few others run. */
export function inTurnFor<Result>(
  request: WaitingRequest,
  body: Uint8Array,
  { turns, largeBodies }: RequestQueues,
  work: () => MaybePromise<Result>,
): MaybePromise<Result> {
  const inTurn = () => turns.run(request, work);
  return isLargeBody(body) ? largeBodies.run(request.identity, body.byteLength, inTurn) : inTurn();
}
