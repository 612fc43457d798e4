import type { Context } from "@hono/hono";
import { Problem } from "../../problem/problem.ts";
import { deadline } from "../../runtime/deadline.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import type { Clock } from "../../runtime/runtime.ts";

/**
 * Returns the bytes of a request's body unchanged, because a signature may cover them. They come
 * from Hono's cache if a middleware has read them, else from the request. Throws a 400, 408 or 413,
 * and a plain Error if a middleware has read the body without keeping it.
 */
export async function readRequestBytes(
  { req }: Context,
  clock: Clock,
): Promise<Uint8Array<ArrayBuffer>> {
  // Uses only bytes from the cache: a decoded string may differ from the bytes that were sent.
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

/** Maximum size of a body in bytes. Providers' events have a few KiB. */
const maxBytes = 1024 * 1024;

const maxWaitMs = 10_000;

function tooLarge(): Problem {
  return new Problem(
    "payload-too-large",
    `Cannot read this body: it is larger than ${maxBytes} bytes`,
    { headers: { connection: "close" } },
  );
}
