import type { Report } from "../report.ts";
import { factsOfResources, type ResourceFacts, type ServedResources } from "../resource_facts.ts";

/** The parts that the report of the service needs. */
export interface ServiceReportParts extends Omit<ServiceReport, "resources">, ServedResources {}

/** The report of the service. */
export interface ServiceReport {
  readonly name: string;
  readonly version: string;
  readonly environment: "development" | "production";
  /** True if the dashboard refuses every write. */
  readonly isReadOnly: boolean;
  readonly features: DashboardFeatures;
  /** The path of the resources for its callers, `/api`: a view as a user has the same. */
  readonly basePath: string;
  readonly resources: readonly ResourceFacts[];
  /** Without any secret. */
  readonly configuration: unknown;
}

/** Which parts the service has, for the pages of the dashboard. */
export interface DashboardFeatures {
  readonly search: boolean;
  readonly outbox: boolean;
  readonly credits: boolean;
  readonly webhooks: boolean;
  readonly budgets: boolean;
  readonly metrics: boolean;
  /** True if the changes of some rows are recorded. */
  readonly changes: boolean;
}

/** The report of the service as a whole: its resources with their rights, and its configuration. */
export function createServiceReport(
  { resources, prefix, ...facts }: ServiceReportParts,
): Report {
  const described: Report["answer"] = (): ServiceReport => ({
    ...facts,
    resources: factsOfResources({ ...facts, resources, prefix }),
  });
  return { name: "service", method: "GET", answer: described };
}
