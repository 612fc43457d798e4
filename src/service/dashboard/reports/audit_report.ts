import type { AuditEntry, OperatorAudit } from "../operator_audit.ts";
import type { Report } from "../report.ts";

/** The writes of operators through the dashboard of this process. */
export interface AuditReport {
  /** The last 500 writes, newest first. */
  readonly entries: readonly AuditEntry[];
}

/** Creates the report of the operators' writes. */
export function createAuditReport(audit: OperatorAudit): Report {
  return { name: "audit", method: "GET", answer: (): AuditReport => ({ entries: audit.entries }) };
}
