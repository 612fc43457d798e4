import { type BoundedMap, boundedMap } from "../runtime/bounded_map.ts";
import type { Statement } from "../sql/fragment.ts";

const [maxTexts, maxTextLength] = [1_000, 1_000_000];

export class StatementDurations {
  readonly #durations: BoundedMap<string, number> = boundedMap(maxTexts, {
    maxBytes: maxTextLength,
    bytesOf: (text) => text.length,
  });

  expectedMs({ text }: Statement): number | undefined {
    return this.#durations.get(text);
  }

  /** Raises the expected duration to `ms`, or lowers it by a quarter of the difference. */
  measured({ text }: Statement, ms: number): void {
    const known = this.#durations.get(text) ?? ms;
    this.#durations.set(text, Math.max(ms, (3 * known + ms) / 4));
  }
}
