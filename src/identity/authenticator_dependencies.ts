import type { Guard } from "../guard/guard.ts";
import type { AppStore } from "../kv/open_key_value_store.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Database } from "../db/database.ts";

export interface AuthenticatorDependencies {
  readonly runtime: Runtime;
  readonly store: Pick<AppStore, "need">;
  readonly guard: Guard;
  readonly db: Database;
  readonly trustedProxies: number;
  readonly trustedOrigins: ReadonlySet<string>;
  /** How long a credential is trusted before it is read again, in milliseconds. */
  readonly recheckMs: number;
  readonly isProduction: boolean;
  readonly path: string;
  readonly basePath: string;
}
