import { Buffer } from "node:buffer";
import type { Observer } from "../runtime/observation.ts";
import type { Reply } from "../protocol/reply.ts";

/** Headers that stand on every answer, or `false` where a proxy adds them. */
export type SecurityHeaders = boolean | {
  /** The value of `Strict-Transport-Security`, e.g. `max-age=63072000`; `true` is two years. */
  readonly hsts?: boolean | string | undefined;
};

/** Builds every response: nothing else in the service calls `new Response`. */
export interface Responder {
  /** `body` is left out for HEAD. */
  respond(reply: Reply, method: string): Response;
  /** Mends a response that was made elsewhere, by a middleware or a foreign router. */
  adopt(response: Response): Response;
}

/**
 * A control byte in a response header ends the process inside Deno, past every `catch`, and a
 * value may come from a row or a path: so whatever is not plain printable ASCII is encoded.
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
      for (const [name, value] of owedHeaders(reply.status)) {
        if (!Object.keys(headers).some((given) => given.toLowerCase() === name)) {
          headers[name] = value;
        }
      }
      if (method !== "HEAD") {
        return new CheckedResponse(reply.body, { status: reply.status, headers });
      }
      if (reply.body instanceof ReadableStream) {
        // Nobody will read it: whatever it holds must be let go.
        void reply.body.cancel();
        // For null a listener would claim a body of 0 bytes; of an empty stream it knows no length.
        return new CheckedResponse(emptyStream(), { status: reply.status, headers });
      }
      // RFC 9110 8.6: the length that GET would have; a listener counts it only where a body is.
      if (reply.body !== null) headers["content-length"] = String(Buffer.byteLength(reply.body));
      return new CheckedResponse(null, { status: reply.status, headers });
    },
    adopt(response) {
      if (response instanceof CheckedResponse && !response.isTouched) return response;
      const missing = [...Object.entries(fixed), ...owedHeaders(response.status)]
        .filter(([name]) => !response.headers.has(name));
      const unsafe = [...response.headers].filter(([, value]) => !isSafe(value));
      if (missing.length === 0 && unsafe.length === 0) return response;
      // The headers of a response from `fetch()` or `Response.redirect()` are immutable.
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

/**
 * A response whose headers were checked when it was made. Looking through the headers of every
 * answer for what a middleware may have set costs a third of the throughput of small answers, so
 * it is done only for those that somebody has asked for their headers since.
 */
class CheckedResponse extends Response {
  isTouched = false;

  override get headers(): Headers {
    this.isTouched = true;
    return super.headers;
  }
}

/**
 * What an answer of this status never lacks, whoever refused: how to authenticate (RFC 9110,
 * 15.5.2), and when to come again, where nobody knows of a time at which more will be there.
 */
function owedHeaders(status: number): Owed {
  if (status === 401) return bearerChallenge;
  return status === 429 ? inADay : nothing;
}

type Owed = readonly (readonly [name: string, value: string])[];
const bearerChallenge: Owed = [["www-authenticate", "Bearer"]];
const inADay: Owed = [["retry-after", "86400"]];
const nothing: Owed = Object.freeze([]);

function emptyStream(): ReadableStream<Uint8Array> {
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
  return { ...headers, "strict-transport-security": safeValue(value) };
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
