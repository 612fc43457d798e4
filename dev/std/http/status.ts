/** Stand-in for `jsr:@std/http/status`: a build of the same sources. */
import * as real from "deno-std/http/status.js";

/** The reason phrases of the statuses. */
export const STATUS_TEXT: Readonly<Record<number, string>> = real.STATUS_TEXT;
