/** Stand-in for `jsr:@std/yaml`: a build of the same sources. */
import * as real from "deno-std/yaml/mod.js";

/** Converts a value to YAML. */
export const stringify: (value: unknown, options?: { readonly lineWidth?: number }) => string =
  real.stringify;
/** Parses YAML. */
export const parse: (text: string) => unknown = real.parse;
