import process from "node:process";

/**
 * True if the host is Deno. On others, Node and Bun, there is no `Deno`: what needs it says so, or
 * takes the functions of Node, which Deno has as well.
 */
export const isDeno: boolean = "Deno" in globalThis;

/** Calls `work` before the process of the host exits; the function that it returns cancels that. */
export function beforeExit(work: () => void): () => void {
  if (isDeno) {
    addEventListener("unload", work);
    return () => removeEventListener("unload", work);
  }
  process.once("exit", work);
  return () => process.off("exit", work);
}
