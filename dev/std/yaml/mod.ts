/** Stand-in for `jsr:@std/yaml`: a build of the same sources. */
import * as real from "deno-std/yaml/mod.js";

/** A value as YAML text. */
export const stringify: (value: unknown, options?: { readonly lineWidth?: number }) => string =
  real.stringify;
/** YAML text as a value. */
export const parse: (text: string) => unknown = real.parse;
