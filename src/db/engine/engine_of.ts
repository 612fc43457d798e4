import type { Dialect } from "../../sql/dialect.ts";
import type { DatabaseEngine } from "./engine.ts";

/** Returns the engine of a driver, a row reader or anything else that has a dialect. */
export function engineOf(
  { dialect }: { readonly dialect: Pick<Dialect, "parts"> },
): DatabaseEngine {
  // Each dialect is created with the parts of a whole engine, whose type `src/sql` may not import.
  return dialect.parts as DatabaseEngine;
}
