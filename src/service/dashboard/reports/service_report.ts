import type { Report } from "../report.ts";
import { factsOfResources, type ResourceFacts, type ServedResources } from "../resource_facts.ts";

export interface ServiceReportParts extends Omit<ServiceReport, "resources">, ServedResources {}

export interface ServiceReport {
  readonly name: string;
  readonly version: string;
  readonly environment: "development" | "production";
  /** True if the dashboard refuses every write. */
  readonly isReadOnly: boolean;
  readonly features: DashboardFeatures;
  /** The base path of the resources, such as `/api`. Views as a user have the same path. */
  readonly basePath: string;
  readonly resources: readonly ResourceFacts[];
  /** The configuration without secrets. */
  readonly configuration: unknown;
}

/** The optional features that have pages in the dashboard. */
export interface DashboardFeatures {
  readonly search: boolean;
  readonly outbox: boolean;
  readonly credits: boolean;
  readonly webhooks: boolean;
  readonly budgets: boolean;
  readonly metrics: boolean;
  /** True if the changes of at least one table are recorded. */
  readonly changes: boolean;
}

/** Creates the report of the service: its resources with their rights, and its configuration. */
export function createServiceReport(
  { resources, prefix, ...facts }: ServiceReportParts,
): Report {
  const described: Report["answer"] = (): ServiceReport => ({
    ...facts,
    resources: factsOfResources({ ...facts, resources, prefix }),
  });
  return { name: "service", method: "GET", answer: described };
}
