import { type BoundedMap, boundedMap } from "../runtime/bounded_map.ts";
import type { Statement } from "../sql/fragment.ts";

const [maxTexts, maxTextLength] = [1_000, 1_000_000];

/** How many quick runs excuse one slow run, and how many slow runs can be excused in advance. */
const [quickRunsPerSlow, maxSlowRuns] = [7, 3];

interface Duration {
  expectedMs: number;
  /** The number of quick runs that have not excused a slow run yet. */
  quickRuns: number;
}

export class StatementDurations {
  readonly #limitMs: number;
  readonly #durations: BoundedMap<string, Duration> = boundedMap(maxTexts, {
    maxBytes: maxTextLength,
    bytesOf: (text) => text.length,
  });

  /** A run is quick if it takes at most `limitMs`. By default, every run is quick. */
  constructor(limitMs = Infinity) {
    this.#limitMs = limitMs;
  }

  expectedMs({ text }: Statement): number | undefined {
    return this.#durations.get(text)?.expectedMs;
  }

  /** Raises the expected duration to `ms`, or lowers it by a quarter of the difference. */
  measured({ text }: Statement, ms: number): void {
    const known = this.#durations.get(text);
    if (known === undefined) return this.#durations.set(text, { expectedMs: ms, quickRuns: 0 });
    if (ms <= this.#limitMs) {
      known.quickRuns = Math.min(known.quickRuns + 1, maxSlowRuns * quickRunsPerSlow);
    } else if (known.quickRuns >= quickRunsPerSlow) {
      // A quick statement can have a slow run because the system suspended the process.
      return void (known.quickRuns -= quickRunsPerSlow);
    }
    known.expectedMs = Math.max(ms, (3 * known.expectedMs + ms) / 4);
  }
}
