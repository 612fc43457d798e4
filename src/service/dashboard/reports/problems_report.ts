import type { ProblemGroup, ProblemLog } from "../problem_log.ts";
import type { Report } from "../report.ts";

/** The problem responses of this process. */
export interface ProblemsReport {
  /** The groups of problems, sorted by their latest problem, newest first. */
  readonly problems: readonly ProblemGroup[];
  /** The time at which counting began, in milliseconds since 1970. */
  readonly since: number;
  /** True if no group was dropped. */
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
