import { type BoundedMap, boundedMap } from "../runtime/bounded_map.ts";
import type { Statement } from "../sql/fragment.ts";

const [maxTexts, maxTextLength] = [1_000, 1_000_000];

/** How many runs within the limit compensate for one longer run, and for how many longer runs. */
const [quickRunsPerSlow, maxSlowRuns] = [7, 3];

interface Duration {
  expectedMs: number;
  /** The number of runs within the limit that have not compensated for a longer run yet. */
  quickRuns: number;
}

export class StatementDurations {
  readonly #limitMs: number;
  readonly #durations: BoundedMap<string, Duration> = boundedMap(maxTexts, {
    maxBytes: maxTextLength,
    bytesOf: (text) => text.length,
  });

  /** `limitMs` is the limit of a quick run. Without it, every run counts. */
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
      // The system may have suspended the process during a run of a statement that is quick.
      return void (known.quickRuns -= quickRunsPerSlow);
    }
    known.expectedMs = Math.max(ms, (3 * known.expectedMs + ms) / 4);
  }
}
