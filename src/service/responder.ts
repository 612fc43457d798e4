import { Buffer } from "node:buffer";
import { either, groupOf } from "../options/option.ts";
import { flag, textLike } from "../options/option_kinds.ts";
import type { Observer, Runtime } from "../runtime/runtime.ts";
import type { Reply } from "../protocol/reply.ts";
import { minStreamedLength, textStream } from "../protocol/text_stream.ts";
import { storeProblem } from "../kv/store_error.ts";
import { Problem, problemReply } from "../problem/problem.ts";
import { parseRequestTarget } from "../resource/http/request_target.ts";
import { STATUS_TEXT } from "@std/http/status";
import { type ProblemBody, type ProblemSlug, problemTypeBase } from "../protocol/problem_codes.ts";

/** The security headers of every response; `false` if a proxy adds them. */
export type SecurityHeaders = boolean | {
  /** The value of `Strict-Transport-Security`, such as `max-age=63072000`. True: two years. */
  readonly hsts?: boolean | string | undefined;
};

export const securityHeadersOptionRule = either(
  flag(),
  groupOf<Exclude<SecurityHeaders, boolean>>()({
    hsts: either(flag(), textLike("a string that a header can hold", /^[\x20-\x7e]+$/)),
  }),
).default(true);

export interface Responder {
  /** Converts a reply to a response, without the body for HEAD. See {@link adopt} for `isSent`. */
  respond(reply: Reply, method: string, isSent?: boolean): Response;
  /**
   * Sanitizes a middleware's response, and adds missing headers. If `isSent`, the server of Deno
   * sends the response next. Long strings are then chunked, which saves a system call.
   */
  adopt(response: Response, isSent?: boolean): Response;
}

/** Creates a responder. It encodes headers: in Deno, a control byte would end the process. */
export function createResponder(security: SecurityHeaders, observe: Observer): Responder {
  const fixed = securityHeaders(security);
  return {
    respond(reply, method, isSent = false) {
      const headers: Record<string, string> = { ...fixed, ...reply.headers };
      for (const name in reply.headers) {
        const value = headers[name] ?? "";
        if (!isSafe(value)) headers[name] = safeValue(value);
      }
      for (const [name, value] of requiredHeaders(reply.status)) {
        if (!Object.keys(headers).some((given) => given.toLowerCase() === name)) {
          headers[name] = value;
        }
      }
      if (method !== "HEAD") {
        const { status } = reply;
        const body = sentBody(reply.body, headers);
        const hasLongText = typeof body === "string" && body.length >= minChunkedLength;
        // A header that is added after the constructor costs Deno another native call.
        if (isSent && hasLongText) headers["transfer-encoding"] = "chunked";
        const response = new CheckedResponse(body, { status, headers });
        response.hasLongText = hasLongText && !isSent;
        return response;
      }
      if (reply.body instanceof ReadableStream) {
        // The body for HEAD is never read, so its resources are released.
        void reply.body.cancel();
        // The length is unknown. For a null body, the server would send `Content-Length: 0`.
        return new CheckedResponse(emptyStream(), { status: reply.status, headers });
      }
      // A HEAD response has the Content-Length of the GET response (RFC 9110, 8.6).
      if (reply.body !== null) headers["content-length"] = String(Buffer.byteLength(reply.body));
      return new CheckedResponse(null, { status: reply.status, headers });
    },
    adopt(response, isSent = false) {
      const isChecked = response instanceof CheckedResponse && !response.isTouched;
      if (isSent && response instanceof CheckedResponse) response.setChunked();
      if (isChecked) return response;
      const missing = [...Object.entries(fixed), ...requiredHeaders(response.status)]
        .filter(([name]) => !response.headers.has(name));
      const unsafe = [...response.headers].filter(([, value]) => !isSafe(value));
      if (missing.length === 0 && unsafe.length === 0) return response;
      // Responses of `fetch()` or `Response.redirect()` have immutable headers, which are copied.
      const headers = new Headers(response.headers);
      for (const [name, value] of missing) headers.set(name, value);
      for (const [name, value] of unsafe) {
        headers.set(name, safeValue(value));
        observe({ kind: "response_header_encoded", name });
      }
      return new Response(response.body, { status: response.status, headers });
    },
  };
}

/** From this length of the body, head and body together usually have more than 512 bytes. */
const minChunkedLength = 200;

function sentBody(body: Reply["body"], headers: Record<string, string>): Reply["body"] {
  if (typeof body !== "string" || body.length < minStreamedLength) return body;
  headers["content-length"] = String(Buffer.byteLength(body));
  return textStream(body);
}

/** A response with checked headers. After an access, a middleware may have changed the headers. */
class CheckedResponse extends Response {
  isTouched = false;
  /** True if the body is a string that a server may send separately from the head. */
  hasLongText = false;

  setChunked(): void {
    if (!this.hasLongText || super.headers.has("content-length")) return;
    super.headers.set("transfer-encoding", "chunked");
  }

  override get headers(): Headers {
    this.isTouched = true;
    return super.headers;
  }
}

/** Returns the challenge of a 401 (RFC 9110, 15.5.2), or the `Retry-After` header of a 429. */
function requiredHeaders(status: number): HeaderList {
  if (status === 401) return bearerChallenge;
  return status === 429 ? retryInADay : nothing;
}

type HeaderList = readonly (readonly [name: string, value: string])[];
const bearerChallenge: HeaderList = [["www-authenticate", "Bearer"]];
const retryInADay: HeaderList = [["retry-after", "86400"]];
const nothing: HeaderList = Object.freeze([]);

export function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

function securityHeaders(security: SecurityHeaders): Readonly<Record<string, string>> {
  if (security === false) return {};
  const hsts = security === true ? undefined : security.hsts;
  const headers = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
  };
  if (hsts === undefined || hsts === false) return headers;
  const value = hsts === true ? "max-age=63072000" : hsts;
  return { ...headers, "strict-transport-security": value };
}

function isSafe(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}

function safeValue(value: string): string {
  if (isSafe(value)) return value;
  return value.toWellFormed().replace(/[^\x20-\x7e]+/g, encodeURIComponent);
}

/** Returns the response to a thrown error. `prefix` is the mount path of the app. */
export type ErrorResponder = (thrown: unknown, request: Request, prefix: string) => Response;

/** The status in metrics if the client disconnected before the response, as in nginx. */
const clientLeftStatus = 499;

function hasLeft(error: unknown, request: Request): boolean {
  if (error instanceof Error && error.name === "BadResource") return request.bodyUsed;
  const mayBe = error instanceof Problem
    ? error.slug === "overloaded"
    : error instanceof DOMException && error.name === "AbortError";
  return mayBe && request.signal.aborted;
}

/** The interval, in milliseconds, at which counted refusals because of overload are reported. */
const countedMs = 10_000;

export function createErrorResponder(
  responder: Responder,
  { observe, clock }: Pick<Runtime, "observe" | "clock">,
): ErrorResponder {
  let countedUntil = -Infinity;
  let suppressed = 0;

  /** Reports an error. Most overload refusals are only counted: there can be thousands a second. */
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
    // A redirect is not an error, and a middleware's problem document is complete already.
    const isAnswer = exception.status < 400 ||
      thrown.headers.get("content-type")?.startsWith("application/problem+json") === true;
    if (isAnswer && !thrown.bodyUsed) return responder.adopt(thrown);
    const reply = addPrefixToReply({
      status: exception.status,
      headers: { "content-type": "application/problem+json", "cache-control": "no-store" },
      body: JSON.stringify(problemOfStatus(exception.status, exception.message)),
    }, prefix);
    const response = responder.respond(reply, method);
    for (const [name, value] of thrown.headers) {
      if (name === "set-cookie") response.headers.append(name, value);
      else if (!name.startsWith("content-")) response.headers.set(name, value);
    }
    return responder.adopt(response);
  }
}

/** Hono's `HTTPException`, recognized by its members: a middleware may use another copy of Hono. */
interface HttpException extends Error {
  readonly status: number;
  readonly res?: Response | undefined;
  getResponse(): Response;
}

export function isHttpException(error: unknown): error is HttpException {
  return error instanceof Error && "getResponse" in error &&
    typeof error.getResponse === "function" && "status" in error &&
    typeof error.status === "number";
}

const slugs: ReadonlyMap<number, ProblemSlug> = new Map([
  [400, "invalid-parameter"],
  [401, "unauthorized"],
  [403, "forbidden"],
  [404, "not-found"],
  [405, "method-not-allowed"],
  [408, "request-timeout"],
  [409, "conflict"],
  [412, "precondition-failed"],
  [413, "payload-too-large"],
  [415, "unsupported-media-type"],
  [422, "validation-error"],
  [428, "precondition-required"],
  [429, "rate-limit-exceeded"],
  [500, "internal-error"],
]);

export function problemOfStatus(status: number, message: string): ProblemBody {
  const detail = message || "Refused on the way to the resource";
  const slug = slugs.get(status);
  if (slug !== undefined) return new Problem(slug, detail).toBody();
  return {
    // A problem that only repeats its status has this type (RFC 9457, 4.2.1).
    type: "about:blank",
    title: STATUS_TEXT[status] ?? `Status ${status}`,
    status,
    detail,
    code: `HTTP_${status}`,
  };
}

/** Adds the app's mount path to URLs. Stored responses (`Idempotency-Key`) lack the prefix. */
export function addPrefixToReply(reply: Reply, prefix: string): Reply {
  if (prefix === "") return reply;
  const { headers, body } = reply;
  const { location } = headers;
  const isProblem = headers["content-type"] === "application/problem+json";
  return {
    ...reply,
    headers: location?.startsWith("/") ? { ...headers, location: prefix + location } : headers,
    body: isProblem && typeof body === "string" ? prefixedProblem(body, prefix) : body,
  };
}

function prefixedProblem(body: string, prefix: string): string {
  const problem: { readonly type: string } = JSON.parse(body);
  return problem.type.startsWith(problemTypeBase)
    ? JSON.stringify({ ...problem, type: prefix + problem.type })
    : body;
}
