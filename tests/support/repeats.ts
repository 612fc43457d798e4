/** True if tests repeat themselves as often as they can. */
export const isFull: boolean = Deno.env.get("TEST_REPEATS") === "all";

/**
 * Returns how often a test repeats itself with values that it draws: a quarter of `all`, unless
 * `TEST_REPEATS=all` is set, as `deno task test:all` does. It is not for values that are written down.
 */
export function repeats(all: number): number {
  return isFull ? all : Math.ceil(all / 4);
}
