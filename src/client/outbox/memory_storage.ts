// deno-lint-ignore-file require-await -- what is asked for here is there at once
import type { Job, JobStorage } from "./job.ts";

/** Keeps jobs in memory while the process lives, for one outbox at a time. */
export function memoryStorage(): JobStorage {
  const jobs: Job[] = [];
  return {
    isShared: false,
    // Removed jobs leave holes in the array, which `flat` omits.
    all: async () => jobs.flat(),
    add: async (job) => jobs.push({ ...job, order: jobs.length }) - 1,
    async update(order, change) {
      const changed = jobs[order] && change(jobs[order]);
      if (changed) jobs[order] = changed;
      return changed;
    },
    remove: async (order) => delete jobs[order],
  };
}
