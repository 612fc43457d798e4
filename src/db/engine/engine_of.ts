import type { Dialect } from "../../sql/dialect.ts";
import type { DatabaseEngine } from "./engine.ts";

/** Returns the engine of a driver, a row reader or anything else that has a dialect. */
export function engineOf(
  { dialect }: { readonly dialect: Pick<Dialect, "parts"> },
): DatabaseEngine {
  // `src/sql` may not import the type of an engine, but each dialect is created with an engine.
  return dialect.parts as DatabaseEngine;
}
