import process from "node:process";

/**
 * True if the host is Deno. Node and Bun lack the global `Deno`. On these hosts, a function that
 * needs this global throws, or calls functions of Node instead.
 */
export const isDeno: boolean = "Deno" in globalThis;

/** Calls `work` before the process exits. The returned function cancels the call. */
export function beforeExit(work: () => void): () => void {
  if (isDeno) {
    addEventListener("unload", work);
    return () => removeEventListener("unload", work);
  }
  process.once("exit", work);
  return () => process.off("exit", work);
}
