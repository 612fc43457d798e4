import type { Authenticator } from "../auth/authenticator.ts";
import type { OpenConfig } from "./config.ts";
import type { Guard } from "../guard/guard.ts";
import type { AuthenticatorDependencies } from "../identity/authenticator_dependencies.ts";
import type { AppStore } from "../kv/open_key_value_store.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import type { Runtime } from "../runtime/runtime.ts";

export interface OpenAuthenticatorsDependencies {
  readonly resolved: ResolvedConfig;
  readonly guard: Guard;
  readonly store: AppStore;
  readonly runtime: Runtime;
}

/** Opens the authenticators of an app in their order. Rejects if one cannot be opened. */
export async function openAuthenticators(
  { auth, db }: Pick<OpenConfig, "auth" | "db">,
  { resolved, guard, store, runtime }: OpenAuthenticatorsDependencies,
): Promise<readonly Authenticator[]> {
  const { recheckMs, trustedOrigins, isProduction, abuse } = resolved;
  const trustedProxies = abuse.trustProxy;
  const parts: AuthenticatorDependencies = {
    runtime,
    store,
    guard,
    db,
    trustedProxies,
    trustedOrigins,
    recheckMs,
    isProduction,
    path: `${resolved.mountedAt}${resolved.basePath}/auth`,
  };
  const opened: Authenticator[] = [];
  for (const given of auth?.use ?? []) {
    // Only this package creates definitions, so their `open` accepts these dependencies. Its
    // parameter has the type `never` to keep the types of the dependencies internal.
    opened.push("open" in given ? await given.open(parts as never) : given);
  }
  return opened;
}
