import { Problem } from "../../../src/problem/problem.ts";

/** Returns a test for the problems of one of these codes. */
export function isProblem(...slugs: readonly string[]): (error: unknown) => boolean {
  return (error) => error instanceof Problem && slugs.includes(error.slug);
}
