import type { AuditEntry, OperatorAudit } from "../operator_audit.ts";
import type { Report } from "../report.ts";

/** The writes of operators through the dashboard of this process. */
export interface AuditReport {
  /** The last 500, the newest first. */
  readonly entries: readonly AuditEntry[];
}

/** The report of what operators have written. */
export function createAuditReport(audit: OperatorAudit): Report {
  return { name: "audit", method: "GET", answer: (): AuditReport => ({ entries: audit.entries }) };
}
