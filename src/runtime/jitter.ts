import type { Runtime } from "./runtime.ts";

/** Returns a random delay, so that clients that arrived together do not all return together. */
export function randomDelayBetween(
  { random }: Pick<Runtime, "random">,
  least: number,
  most: number,
): number {
  const [high = 0, low = 0] = random.bytes(2);
  return least + (most - least) * (high * 256 + low) / 65_535;
}
