import type { Job, JobStorage } from "./job.ts";

/** Keeps jobs as long as the process lives, for one outbox at a time. */
export function memoryStorage(): JobStorage {
  const jobs: Job[] = [];
  return {
    isShared: false,
    // Places that were removed are holes, which `flat` leaves out.
    all: () => Promise.resolve(jobs.flat()),
    add: (job) => Promise.resolve(jobs.push({ ...job, order: jobs.length }) - 1),
    update(order, change) {
      const changed = jobs[order] && change(jobs[order]);
      if (changed) jobs[order] = changed;
      return Promise.resolve(changed);
    },
    remove: (order) => Promise.resolve(delete jobs[order]),
  };
}
