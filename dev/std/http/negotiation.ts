/** Stand-in for `jsr:@std/http/negotiation`: a build of the same sources. */
import * as real from "deno-std/http/negotiation.js";

/** Returns the media type of `types` that the request's `Accept` prefers, or undefined. */
export const accepts: (
  request: Pick<Request, "headers">,
  ...types: string[]
) => string | undefined = real.accepts;

/** Returns the encoding of `encodings` that the request's `Accept-Encoding` prefers. */
export const acceptsEncodings: (
  request: Pick<Request, "headers">,
  ...encodings: string[]
) => string | undefined = real.acceptsEncodings;
