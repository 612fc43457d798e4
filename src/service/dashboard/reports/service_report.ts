import type { Report } from "../report.ts";
import {
  describeResources,
  type ResourceDescription,
  type ServedResources,
} from "../operator_resources.ts";

export interface ServiceReportDependencies
  extends Omit<ServiceReport, "resources">, ServedResources {}

export interface ServiceReport {
  readonly name: string;
  readonly version: string;
  readonly environment: "development" | "production";
  /** True if the dashboard refuses every write. */
  readonly isReadOnly: boolean;
  readonly features: {
    readonly search: boolean;
    readonly outbox: boolean;
    readonly credits: boolean;
    readonly webhooks: boolean;
    readonly budgets: boolean;
    readonly metrics: boolean;
    /** True if the change log records at least one table. */
    readonly changes: boolean;
  };
  /** The resources' base path, such as `/api`. Requests as another user have the same base path. */
  readonly basePath: string;
  readonly resources: readonly ResourceDescription[];
}

export function createServiceReport(
  { resources, prefix, ...facts }: ServiceReportDependencies,
): Report {
  const described: Report["answer"] = (): ServiceReport => ({
    ...facts,
    resources: describeResources({ ...facts, resources, prefix }),
  });
  return { name: "service", method: "GET", answer: described };
}
