import type { ResourceDescription } from "../operator_resources.ts";

export interface ServiceReport {
  readonly name: string;
  readonly version: string;
  /** The version of this package. */
  readonly build: string;
  /** The names of the databases, such as `shop.db (better-sqlite3)`, without secrets. */
  readonly databases: readonly string[];
  readonly environment: "development" | "production";
  /** The e-mail address or the id of the operator; null without an account. */
  readonly operator: string | null;
  /** The path at which the operator can log out; null if the service has no sessions. */
  readonly logout: string | null;
  readonly isReadOnly: boolean;
  readonly features: {
    readonly search: boolean;
    readonly outbox: boolean;
    readonly credits: boolean;
    readonly webhooks: boolean;
    readonly budgets: boolean;
    readonly metrics: boolean;
    readonly changes: boolean;
    readonly requests: boolean;
    /** True if the operator may read the slow statements in the log of requests. */
    readonly statements: boolean;
    /** True if the operator may manage the accounts of the service. */
    readonly accounts: boolean;
    /** True if the operator may manage the API keys of the service. */
    readonly keys: boolean;
  };
  /** The resources' base path, such as `/api`. The paths for another user begin with `/as/api`. */
  readonly basePath: string;
  readonly resources: readonly ResourceDescription[];
}
