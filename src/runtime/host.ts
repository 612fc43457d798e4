import process from "node:process";

/**
 * True if the host is Deno. Node and Bun have no global `Deno`. On other hosts, code that needs
 * this global either throws, or uses functions of Node, which Deno also has.
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
