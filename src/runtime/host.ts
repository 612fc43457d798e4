import process from "node:process";

/** True on Deno. On other hosts, functions that need `Deno` throw, or call functions of Node. */
export const isDeno: boolean = "Deno" in globalThis;

export function beforeExit(work: () => void): () => void {
  if (isDeno) {
    addEventListener("unload", work);
    return () => removeEventListener("unload", work);
  }
  process.once("exit", work);
  return () => process.off("exit", work);
}
