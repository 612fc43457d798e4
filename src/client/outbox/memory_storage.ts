// deno-lint-ignore-file require-await -- the storage interface is asynchronous, but memory is not
import type { Job, JobStorage } from "./job.ts";

/** Creates a storage that keeps the jobs of one outbox in memory. */
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
