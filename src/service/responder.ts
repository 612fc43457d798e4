import { Buffer } from "node:buffer";
import { type Described, either, group } from "../options/option.ts";
import { flag, textLike } from "../options/option_kinds.ts";
import type { Observer } from "../runtime/runtime.ts";
import type { Reply } from "../protocol/reply.ts";
import { minStreamedLength, textStream } from "../protocol/text_stream.ts";

/** The security headers of every response; `false` if a proxy adds them. */
export type SecurityHeaders = boolean | {
  /** The value of `Strict-Transport-Security`, e.g. `max-age=63072000`. `true`: two years. */
  readonly hsts?: boolean | string | undefined;
};

export const securityHeadersOptionRule = either(
  flag(),
  group(
    {
      hsts: either(flag(), textLike("a text that a header can hold", /^[\x20-\x7e]+$/)),
    } satisfies Described<Exclude<SecurityHeaders, boolean>>,
  ),
).default(true);

/** Creates every response of an app. No other module calls `new Response`. */
export interface Responder {
  /** Converts a reply to a response, without the body for HEAD. */
  respond(reply: Reply, method: string): Response;
  /** Sanitizes a response of a middleware or another router, and adds missing headers. */
  adopt(response: Response): Response;
  /**
   * Makes the HTTP/1.1 server of Deno send the head and a text body in one system call instead of
   * two. The server copies a body of known length after the head only if both have at most 512
   * bytes, but a chunked body of any length.
   */
  sendTogether(response: Response): Response;
}

/**
 * Creates a responder. It encodes characters outside of printable ASCII in headers, which may come
 * from rows or paths: in Deno, a control byte would end the process in spite of every `catch`.
 */
export function createResponder(security: SecurityHeaders, observe: Observer): Responder {
  const fixed = securityHeaders(security);
  return {
    respond(reply, method) {
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
        const { body, status } = reply;
        const response = new CheckedResponse(sentBody(body, headers), { status, headers });
        response.hasLongText = typeof body === "string" && body.length >= minChunkedLength;
        return response;
      }
      if (reply.body instanceof ReadableStream) {
        // The body for HEAD is never read, so its resources are released.
        void reply.body.cancel();
        // A stream has no known length. For a null body, a listener would send a length of 0.
        return new CheckedResponse(emptyStream(), { status: reply.status, headers });
      }
      // A HEAD response has the length of GET's (RFC 9110, 8.6). For null, listeners send none.
      if (reply.body !== null) headers["content-length"] = String(Buffer.byteLength(reply.body));
      return new CheckedResponse(null, { status: reply.status, headers });
    },
    adopt(response) {
      if (response instanceof CheckedResponse && !response.isTouched) return response;
      const missing = [...Object.entries(fixed), ...requiredHeaders(response.status)]
        .filter(([name]) => !response.headers.has(name));
      const unsafe = [...response.headers].filter(([, value]) => !isSafe(value));
      if (missing.length === 0 && unsafe.length === 0) return response;
      // Responses of `fetch()` or `Response.redirect()` have immutable headers.
      const headers = new Headers(response.headers);
      for (const [name, value] of missing) headers.set(name, value);
      for (const [name, value] of unsafe) {
        headers.set(name, safeValue(value));
        observe({ kind: "response_header_encoded", name });
      }
      return new Response(response.body, { status: response.status, headers });
    },
    sendTogether(response) {
      if (response instanceof CheckedResponse && response.hasLongText) response.setChunked();
      return response;
    },
  };
}

/** A string of at least this length and its head usually exceed 512 bytes. */
const minChunkedLength = 200;

function sentBody(body: Reply["body"], headers: Record<string, string>): Reply["body"] {
  if (typeof body !== "string" || body.length < minStreamedLength) return body;
  headers["content-length"] = String(Buffer.byteLength(body));
  return textStream(body);
}

/**
 * A response whose headers were checked when it was created. A middleware can change headers
 * afterwards, but checking all responses again would cost a third of the throughput of small ones.
 * Therefore only a response whose `headers` were accessed is checked again.
 */
class CheckedResponse extends Response {
  isTouched = false;
  /** True if the body is a string that a server may send separately from the head. */
  hasLongText = false;

  /** Has no effect on a response with a length, such as a long string. */
  setChunked(): void {
    if (!super.headers.has("content-length")) super.headers.set("transfer-encoding", "chunked");
  }

  override get headers(): Headers {
    this.isTouched = true;
    return super.headers;
  }
}

/** Returns the headers of a 401 (RFC 9110, 15.5.2) or of a temporary refusal (when to retry). */
function requiredHeaders(status: number): HeaderList {
  if (status === 401) return bearerChallenge;
  return status === 429 ? retryInADay : nothing;
}

type HeaderList = readonly (readonly [name: string, value: string])[];
const bearerChallenge: HeaderList = [["www-authenticate", "Bearer"]];
const retryInADay: HeaderList = [["retry-after", "86400"]];
const nothing: HeaderList = Object.freeze([]);

/** Returns an empty body without a length, as HEAD responses need it. */
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
