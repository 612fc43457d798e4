import { type BoundedMap, boundedMap } from "../runtime/bounded_map.ts";
import type { Statement } from "../sql/fragment.ts";

const [maxTexts, maxTextLength] = [1_000, 1_000_000];

/** The number of runs within the limit after which one longer run is ignored. */
const minQuickRuns = 20;

interface Duration {
  expectedMs: number;
  /** The number of runs within the limit since the last longer run. */
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
    const { quickRuns, expectedMs } = known;
    const isQuick = ms <= this.#limitMs;
    known.quickRuns = isQuick ? quickRuns + 1 : 0;
    // The system may have suspended the process during one run of a statement that is quick.
    if (!isQuick && quickRuns >= minQuickRuns) return;
    known.expectedMs = Math.max(ms, (3 * expectedMs + ms) / 4);
  }
}
