import type { Context } from "@hono/hono";
import { Problem } from "../../problem/problem.ts";
import { deadline } from "../../runtime/deadline.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import type { Clock } from "../../runtime/runtime.ts";

/**
 * Returns the raw bytes of a request's body, because a signature may cover them. The bytes come
 * from Hono's cache if a middleware has read them, and otherwise from the request. Throws a 400,
 * 408 or 413. Throws a plain Error if a middleware has consumed the body.
 */
export async function readRequestBytes(
  { req }: Context,
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  // Only bytes are taken from the cache: a decoded string may differ from the sent bytes.
  if (Object.keys(req.bodyCache)[0] === "arrayBuffer") {
    const bytes = new Uint8Array(await req.arrayBuffer());
    if (bytes.length > maxBytes) throw tooLarge();
    return bytes;
  }
  if (req.raw.bodyUsed || Object.keys(req.bodyCache).length > 0) {
    throw new Error(
      "A middleware has consumed the body of a billing request: take it from a clone",
    );
  }
  const tooLate = () => new Problem("request-timeout", "The body did not arrive in time");
  try {
    const reading = readBytes(req.raw.body, { limit: maxBytes });
    const bytes = await deadline(maxWaitMs, clock, tooLate).within(reading);
    if (typeof bytes === "string") throw tooLarge();
    return bytes;
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    throw new Problem("invalid-body", "The body ended before it was complete", { cause });
  }
}

/** Maximum size of a body, in bytes. Events of providers have a few KiB. */
const maxBytes = 1024 * 1024;

const maxWaitMs = 10_000;

function tooLarge(): Problem {
  return new Problem(
    "payload-too-large",
    `Cannot read this body: it is larger than ${maxBytes} bytes`,
    { headers: { connection: "close" } },
  );
}
