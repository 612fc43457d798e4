import type {
  Authenticator,
  AuthenticatorDefinition,
  Identification,
} from "../../auth/authenticator.ts";
import { parseUser, type User } from "../../auth/authorize.ts";
import { type Described, group } from "../../options/option.ts";
import { callback, textLike } from "../../options/option_kinds.ts";
import { Problem } from "../../problem/problem.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { AuthenticatorDependencies } from "../authenticator_dependencies.ts";
import { bearerToken } from "../opaque_token.ts";
import { CredentialCache, type CredentialState } from "../credential_cache.ts";
import { type ApiKey, apiKeyPrefix, ApiKeys } from "./api_keys.ts";

/** The options of API keys. */
export interface ApiKeyAuthOptions {
  /** The header that contains the API key. Default: `X-API-Key`. */
  readonly header?: string | undefined;
  /**
   * Returns the user of an API key, or null to reject the key. By default, the user's id is the
   * key's `userId`, or else `key:` and the key's id, and the user's roles are the key's scopes.
   */
  readonly user?: UserOfKey | undefined;
}

/** Returns the user of an API key. */
export type UserOfKey = (key: ApiKey) => User | null | Promise<User | null>;

export const apiKeyAuthOptionRules = group(
  {
    header: textLike("the name of a header", /^[\w!#$%&'*+.^`|~-]+$/).default("X-API-Key"),
    user: callback<UserOfKey>(),
  } satisfies Described<ApiKeyAuthOptions>,
).default({});

/**
 * Returns the authenticator for API keys, in the header `X-API-Key` or as `Authorization: Bearer`.
 * The command `cli.ts keys create` creates keys, in the key-value store.
 *
 * @throws {Error} If an option is invalid. The message names the option.
 * @example
 * ```ts
 * import { all, none } from "@svc/resource-api";
 * import { apiKeyAuth } from "@svc/resource-api/auth";
 *
 * const auth = { use: [apiKeyAuth()] };
 * // In a resource: whose keys have the scope "export" read everything.
 * const scopes = {
 *   read: (user: { roles?: readonly string[] }) => user.roles?.includes("export") ? all() : none(),
 * };
 * ```
 */
export function apiKeyAuth(options: ApiKeyAuthOptions = {}): AuthenticatorDefinition {
  const place = { subject: "Cannot start", path: "apiKeyAuth" };
  const { header, user = userOfKey } = apiKeyAuthOptionRules.read(options, place);
  return {
    name: "apiKeyAuth",
    open: (parts: AuthenticatorDependencies) => open(header, user, parts),
  };
}

function open(
  header: string,
  userOf: UserOfKey,
  { store, runtime, recheckMs }: AuthenticatorDependencies,
): Authenticator {
  const keys = new ApiKeys(store.need("API keys"), runtime);
  const trusted = new CredentialCache({
    clock: runtime.clock,
    recheckMs,
    read: async (text, isUsed) => await stateOf(await keys.find(text, isUsed), userOf),
  });
  return {
    name: "apiKeyAuth",
    securitySchemes: { apiKey: { type: "apiKey", in: "header", name: header } },
    identify({ headers }): MaybePromise<Identification | null> {
      const text = headers.get(header) ?? bearerKey(headers);
      if (text === null) return null;
      const found = trusted.identify(text);
      return found instanceof Promise ? found.then((one) => one ?? refuse()) : found ?? refuse();
    },
  };
}

function refuse(): never {
  throw new Problem("unauthorized", "Cannot accept this API key: it is not one that is good");
}

function bearerKey(headers: Headers): string | null {
  const token = bearerToken(headers.get("authorization"));
  return token?.startsWith(apiKeyPrefix) === true ? token : null;
}

async function stateOf(key: ApiKey | null, userOf: UserOfKey): Promise<CredentialState | null> {
  const user = key === null ? null : parseUser(await userOf(key));
  return key === null || user === null ? null : { user, expiresAt: key.expiresAt ?? Infinity };
}

function userOfKey({ id, name, userId, scopes }: ApiKey): User {
  return Object.freeze({
    id: userId ?? `key:${id}`,
    name,
    roles: scopes,
    claims: Object.freeze({ apiKey: id, scopes }),
  });
}
