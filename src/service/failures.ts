import { storeProblem } from "../kv/store_error.ts";
import { Problem, problemReply } from "../problem/problem.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { parseRequestTarget } from "../resource/http/request_target.ts";
import { exceptionReply, type HttpException, isHttpException } from "./http_exception.ts";
import { addPrefixToReply } from "./add_prefix_to_reply.ts";
import type { Responder } from "./responder.ts";

/** Returns the response to a thrown error. `prefix` is the mount path of the app. */
export type ErrorResponder = (thrown: unknown, request: Request, prefix: string) => Response;

/** The status in metrics if the client disconnected before the response. nginx has it, too. */
const clientLeftStatus = 499;

/** Returns true if the cause of an error is that the client has disconnected. */
function hasLeft(error: unknown, request: Request): boolean {
  if (error instanceof Error && error.name === "BadResource") return request.bodyUsed;
  const mayBe = error instanceof Problem
    ? error.slug === "overloaded"
    : error instanceof DOMException && error.name === "AbortError";
  return mayBe && request.signal.aborted;
}

/** How long refusals because of overload are counted before one report, in milliseconds. */
const countedMs = 10_000;

export function createErrorResponder(
  responder: Responder,
  { observe, clock }: Pick<Runtime, "observe" | "clock">,
): ErrorResponder {
  let countedUntil = -Infinity;
  let suppressed = 0;

  /** Reports an error. Overload refusals are only counted: thousands per second are possible. */
  function observeFailure(method: string, path: string, error: unknown): void {
    if (!(error instanceof Problem && error.slug === "overloaded")) {
      return observe({ kind: "request_failed", method, path, error });
    }
    const now = clock.elapsedMs();
    if (now < countedUntil) {
      suppressed++;
      return;
    }
    observe({ kind: "request_failed", method, path, error, suppressed });
    countedUntil = now + countedMs;
    suppressed = 0;
  }

  return function fail(thrown, request, prefix) {
    const { method, url } = request;
    const error = storeProblem(thrown);
    const isException = isHttpException(error);
    if (hasLeft(error, request)) return new Response(null, { status: clientLeftStatus });
    if (!((isException || error instanceof Problem) && error.status < 500)) {
      observeFailure(method, parseRequestTarget(url).path, error);
    }
    if (isException) return failException(error, method, prefix);
    const problem = error instanceof Problem
      ? error
      : new Problem("internal-error", "The service failed at this request");
    return responder.respond(addPrefixToReply(problemReply(problem), prefix), method);
  };

  function failException(exception: HttpException, method: string, prefix: string): Response {
    // If a middleware has read the response's body, only its headers can be used.
    const { res } = exception;
    const thrown = res?.bodyUsed === true ? res : exception.getResponse();
    // A redirect is no error, and a problem document says more than one created here.
    const isAnswer = exception.status < 400 ||
      thrown.headers.get("content-type")?.startsWith("application/problem+json") === true;
    if (isAnswer && !thrown.bodyUsed) return responder.adopt(thrown);
    const reply = addPrefixToReply(exceptionReply(exception), prefix);
    const response = responder.respond(reply, method);
    for (const [name, value] of thrown.headers) {
      if (name === "set-cookie") response.headers.append(name, value);
      else if (!name.startsWith("content-")) response.headers.set(name, value);
    }
    return responder.adopt(response);
  }
}
