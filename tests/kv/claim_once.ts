import { claimKey } from "../../src/kv/key_value.ts";

/** Claims a key, and returns whether it was free. */
export async function claimOnce(...given: Parameters<typeof claimKey>): Promise<boolean> {
  return await claimKey(...given) !== null;
}
