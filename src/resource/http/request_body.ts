import { Problem } from "../../problem/problem.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { parseJson } from "../../schema/exact_json.ts";

/** What a body may cost. */
export interface BodyLimits {
  /** Bytes; more is a 413, counted while reading. */
  readonly bodyLimit: number;
  /** Milliseconds until the last byte; more is a 408. */
  readonly bodyTimeoutMs: number;
}

const deepest = 32;

/** The bytes of a request's body, which is said to be JSON. Throws 400, 408, 413 or 415. */
export function readBody(
  request: Request,
  limits: BodyLimits,
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  requireJson(request.headers);
  return receive(request, limits, clock);
}

/** The JSON value in the bytes of a body. Throws a 400. */
export function parseBody(bytes: Uint8Array<ArrayBuffer>): unknown {
  const text = decodeText(bytes);
  const value = parseJson(text);
  if (value === undefined) {
    throw new Problem("invalid-body", "Cannot read this body: it is not JSON");
  }
  if (isDeeper(value, deepest)) {
    throw new Problem("invalid-body", `Cannot use this body: it is nested deeper than ${deepest}`);
  }
  return value;
}

function requireJson(headers: Headers): void {
  const type = (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type !== "application/json" && !/^application\/[\w.-]+\+json$/.test(type)) {
    throw new Problem(
      "unsupported-media-type",
      "Cannot read this body: send it with the header content-type: application/json",
    );
  }
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new Problem("unsupported-media-type", "Cannot read this body: it must not be compressed");
  }
}

async function receive(
  request: Request,
  limits: BodyLimits,
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > limits.bodyLimit) throw tooLarge(limits);
  const late = Promise.withResolvers<never>();
  const cancelTimer = clock.after(limits.bodyTimeoutMs, () => late.reject(tooLate()));
  try {
    // The server holds a client to the length it declared: only an undeclared one is counted, at
    // the price of a stream.
    const bytes = declared === null ? collect(request, limits) : request.bytes();
    return await Promise.race([bytes, late.promise]);
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    // The connection broke, or its framing is wrong: nobody may be left to read this.
    throw new Problem("invalid-body", "The body ended before it was complete", { cause });
  } finally {
    cancelTimer();
  }
}

async function collect(request: Request, limits: BodyLimits): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readBytes(request.body, limits.bodyLimit);
  if (bytes === null) throw tooLarge(limits);
  return bytes;
}

function tooLate(): Problem {
  return new Problem("request-timeout", "The body did not arrive in time", {
    headers: { connection: "close" },
  });
}

function tooLarge(limits: BodyLimits): Problem {
  return new Problem(
    "payload-too-large",
    `Cannot read this body: it is larger than ${limits.bodyLimit} bytes`,
    // The rest of it is still on its way: this connection is of no further use.
    { headers: { connection: "close" } },
  );
}

/** Keeps nothing between two texts, as long as neither is decoded in pieces. */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

function decodeText(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw new Problem("invalid-body", "Cannot read this body: it is not UTF-8", { cause });
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const part of Object.values(value)) {
    if (typeof part === "object" && part !== null && isDeeper(part, levels - 1)) return true;
  }
  return false;
}
