import { runSchedule } from "./schedule.ts";
import { installTimers } from "./scheduler.ts";
import { openService } from "./service.ts";

/** How many schedules share the processes and the database of one service. */
export const schedulesPerService = 128;

/** The options of a run. */
export interface SimulateOptions {
  readonly seed: number;
  readonly schedules: number;
  readonly onlyStreams?: boolean;
  /** The URL of a Postgres database, whose tables the run drops. Default: SQLite. */
  readonly url?: string | null;
  trace?(line: string): void;
  readonly stopping?: AbortSignal;
}

/** The result of a run. */
export interface SimulateOutcome {
  readonly schedules: number;
  readonly steps: number;
  readonly events: number;
  /** The first failure, or null. */
  readonly failure: { readonly seed: number; readonly text: string } | null;
}

/** Runs the schedules from `seed` on. A schedule depends only on its seed and its service. */
export async function simulate(options: SimulateOptions): Promise<SimulateOutcome> {
  const { seed, schedules, onlyStreams = false, url = null, stopping } = options;
  const isOne = schedules === 1;
  let [done, steps, events] = [0, 0, 0];
  while (done < schedules && !stopping?.aborted) {
    const next = seed + done;
    const first = next - next % schedulesPerService;
    const service = await openService(first, url);
    const takeBack = installTimers(service.scheduler);
    try {
      for (let at = first; at < first + schedulesPerService && at < seed + schedules; at++) {
        service.scheduler.trace = isOne && at === seed ? options.trace ?? null : null;
        const outcome = await runSchedule(service, { seed: at, onlyStreams });
        if (at < seed) continue;
        done++;
        events += outcome.events;
        if (outcome.failure === null) continue;
        steps += service.scheduler.steps;
        return { schedules: done, steps, events, failure: { seed: at, text: outcome.failure } };
      }
      steps += service.scheduler.steps;
    } finally {
      takeBack();
      await service.close();
    }
  }
  return { schedules: done, steps, events, failure: null };
}
