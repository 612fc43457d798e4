import { type BoundedMap, boundedMap } from "../runtime/bounded_map.ts";
import type { Statement } from "../sql/fragment.ts";

/** How many statements have a known duration, and the maximum length of their SQL together. */
const [maxTexts, maxTextLength] = [1_000, 1_000_000];

/** The durations of statements, by their SQL. The bound values do not matter. */
export class StatementDurations {
  readonly #durations: BoundedMap<string, number> = boundedMap(maxTexts, {
    maxBytes: maxTextLength,
    bytesOf: (text) => text.length,
  });

  /** Returns the expected duration in milliseconds, or undefined before the first measurement. */
  expectedMs({ text }: Statement): number | undefined {
    return this.#durations.get(text);
  }

  /** Remembers a duration. A longer duration replaces the expected duration, and a shorter one counts for a quarter. */
  measured({ text }: Statement, ms: number): void {
    const known = this.#durations.get(text) ?? ms;
    this.#durations.set(text, Math.max(ms, (3 * known + ms) / 4));
  }
}
