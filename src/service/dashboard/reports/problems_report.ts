import type { ProblemLog } from "../problem_log.ts";
import type { Report } from "../report.ts";

/** Creates the report of the problem responses of this process, newest first. */
export function createProblemsReport(log: ProblemLog): Report {
  return {
    name: "problems",
    method: "GET",
    answer: () => ({
      problems: log.groups,
      since: log.since,
      // False after an old group was removed for a newer one.
      isComplete: log.dropped === 0,
    }),
  };
}
