import type { OperatorObservation } from "../../runtime/observations/operator_observation.ts";
import type { Clock, Observer } from "../../runtime/runtime.ts";
import type { Report } from "./report.ts";

export interface AuditEntry extends Omit<OperatorObservation, "kind"> {
  readonly at: number;
}

/** Reports each write that the operator makes, and keeps the last 500 in memory. */
export class OperatorAudit {
  readonly #clock: Clock;
  readonly #observe: Observer;
  readonly #entries: AuditEntry[] = [];

  constructor(clock: Clock, observe: Observer) {
    this.#clock = clock;
    this.#observe = observe;
  }

  get entries(): readonly AuditEntry[] {
    return this.#entries.toReversed();
  }

  record(write: Omit<OperatorObservation, "kind">): void {
    this.#observe({ kind: "operator_write", ...write });
    this.#entries.push({ ...write, at: this.#clock.now() });
    if (this.#entries.length > 500) this.#entries.shift();
  }
}

export function createAuditReport(audit: OperatorAudit): Report {
  return { name: "audit", method: "GET", answer: () => ({ entries: audit.entries }) };
}
