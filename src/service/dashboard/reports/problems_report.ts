import type { ProblemGroup, ProblemLog } from "../problem_log.ts";
import type { Report } from "../report.ts";

/** The problems that requests of this process were answered with. */
export interface ProblemsReport {
  /** In groups, the last problem first. */
  readonly problems: readonly ProblemGroup[];
  /** When the counts began, in milliseconds since 1970. */
  readonly since: number;
  /** True if no group was forgotten. */
  readonly isComplete: boolean;
}

/** The report of the problems that requests were answered with, in groups. */
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
