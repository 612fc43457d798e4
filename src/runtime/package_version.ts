/** The version of this package. A test compares it with `deno.json`. */
export const packageVersion = "0.1.0";
