import type { ProblemGroup, ProblemLog } from "../problem_log.ts";
import type { Report } from "../report.ts";

/** The problem responses of this process. */
export interface ProblemsReport {
  /** The problems by code and route, newest first. */
  readonly problems: readonly ProblemGroup[];
  /** The time since which problems are counted, in milliseconds since 1970. */
  readonly since: number;
  /** True if no old group was removed for a newer one. */
  readonly isComplete: boolean;
}

export function createProblemsReport(log: ProblemLog): Report {
  return {
    name: "problems",
    method: "GET",
    answer: (): ProblemsReport => ({
      problems: log.groups,
      since: log.since,
      isComplete: log.dropped === 0,
    }),
  };
}
