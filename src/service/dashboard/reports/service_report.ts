import type { ResourceDescription } from "../operator_resources.ts";

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
    readonly changes: boolean;
  };
  /** The resources' base path, such as `/api`. Requests as another user have the same base path. */
  readonly basePath: string;
  readonly resources: readonly ResourceDescription[];
}
