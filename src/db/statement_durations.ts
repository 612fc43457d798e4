import { type BoundedMap, boundedMap } from "../runtime/bounded_map.ts";
import type { Statement } from "../sql/fragment.ts";

/** The maximum number of statements with a known duration, and of characters of their SQL. */
const [maxTexts, maxTextLength] = [1_000, 1_000_000];

/** The measured durations of statements, by their SQL without values. */
export class StatementDurations {
  readonly #durations: BoundedMap<string, number> = boundedMap(maxTexts, {
    maxBytes: maxTextLength,
    bytesOf: (text) => text.length,
  });

  /** Returns the expected duration in milliseconds, or undefined before the first measurement. */
  expectedMs({ text }: Statement): number | undefined {
    return this.#durations.get(text);
  }

  /** Records a duration. A longer one replaces the expected duration. A shorter one weighs 1/4. */
  measured({ text }: Statement, ms: number): void {
    const known = this.#durations.get(text) ?? ms;
    this.#durations.set(text, Math.max(ms, (3 * known + ms) / 4));
  }
}
