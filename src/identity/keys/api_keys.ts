import { entriesBelow } from "../../kv/entries_below.ts";
import type { KeyValue, KeyValueKey } from "../../kv/key_value.ts";
import { ignoreStoreError } from "../../kv/store_error.ts";
import {
  bytesToHex,
  decodeBase64url,
  encodeBase64url,
  isSameSecret,
} from "../../protocol/byte_text.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { hasMemberTypes } from "../accounts/account.ts";
import { bearerToken, hashOfToken } from "../opaque_token.ts";
import type {
  Authenticator,
  AuthenticatorDefinition,
  Identification,
} from "../../auth/authenticator.ts";
import { parseUser, type User } from "../../auth/authorize.ts";
import { groupOf } from "../../options/option.ts";
import { callback, textLike } from "../../options/option_kinds.ts";
import { Problem } from "../../problem/problem.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { AuthenticatorDependencies } from "../authenticator_dependencies.ts";
import { CredentialCache, type CredentialState } from "../credential_cache.ts";

/** The record of an API key, without the secret. */
export interface ApiKey {
  /** The id of the key. The full key consists of `key_`, the id, `_` and the secret. */
  readonly id: string;
  /** The name of the key, which says its purpose. */
  readonly name: string;
  /** The id of the key's user; null if the key is itself a user. */
  readonly userId: string | null;
  /** The permissions of the key. In requests with the key, they are the roles of the user. */
  readonly scopes: readonly string[];
  /** The creation time, in milliseconds since 1970. */
  readonly createdAt: number;
  /** The expiry time in milliseconds since 1970, or null for a key that never expires. */
  readonly expiresAt: number | null;
  /** The last use in milliseconds since 1970, accurate to a minute. Null before the first use. */
  readonly lastUsedAt: number | null;
}

/** The properties with which an API key is created. */
export type NewApiKey = Pick<ApiKey, "name" | "userId" | "scopes" | "expiresAt">;

export const apiKeyPrefix = "key_";

const idBytes = 6;
const secretBytes = 32;
const keyPattern = /^key_([0-9a-f]{12})_([\w-]{43})$/;

/**
 * The API keys of an app, in the key-value store. A key consists of an id and a secret. Only a hash
 * of the secret is stored. Therefore the key can be shown only once, when it is created.
 */
export class ApiKeys {
  readonly #store: KeyValue;
  readonly #runtime: Pick<Runtime, "clock" | "random">;

  /** Creates an object that reads and writes the store only when a method is called. */
  constructor(store: KeyValue, runtime: Pick<Runtime, "clock" | "random">) {
    this.#store = store;
    this.#runtime = runtime;
  }

  /** Creates a key. Returns its string, which is not stored, and its record. */
  async create(given: NewApiKey): Promise<{ readonly text: string; readonly key: ApiKey }> {
    const { clock, random } = this.#runtime;
    // In base64url, the id could begin with a hyphen, and `keys revoke` would read it as an option.
    const id = bytesToHex(random.bytes(idBytes));
    const secret = encodeBase64url(random.bytes(secretBytes));
    const key: ApiKey = { id, ...given, createdAt: clock.now(), lastUsedAt: null };
    const value = { ...key, hash: hashOfToken(secret) };
    await this.#store.commit({ mutations: [{ kind: "set", key: recordKey(id), value }] });
    return { text: `${apiKeyPrefix}${id}_${secret}`, key };
  }

  /** Returns the valid key with this string, or null. Records its use unless `isUsed` is false. */
  async find(text: string, isUsed: boolean = true): Promise<ApiKey | null> {
    const [, id = "", secret = ""] = keyPattern.exec(text) ?? [];
    if (id === "" || !decodeBase64url(secret, 0, new Uint8Array(secretBytes))) return null;
    const entry = await this.#store.get(recordKey(id));
    const { value, versionstamp } = entry;
    if (!isRecord(value) || !isSameSecret(value.hash, hashOfToken(secret))) return null;
    const now = this.#runtime.clock.now();
    if (value.expiresAt !== null && now >= value.expiresAt) return null;
    if (isUsed && now - (value.lastUsedAt ?? 0) >= usedEveryMs) {
      await this.#use({ ...value, lastUsedAt: now }, versionstamp);
    }
    return shownKey(value);
  }

  /** Returns all API keys, in the order of their ids. */
  async list(): Promise<readonly ApiKey[]> {
    const entries = await Array.fromAsync(entriesBelow(this.#store, [recordPrefix]));
    return entries.map(({ value }) => value).filter(isRecord).map(shownKey);
  }

  /** Revokes an API key by its id. Returns false if there is no such key. */
  async revoke(id: string): Promise<boolean> {
    const { value } = await this.#store.get(recordKey(id));
    await this.#store.commit({ mutations: [{ kind: "delete", key: recordKey(id) }] });
    return value !== undefined;
  }

  async #use(record: ApiKeyRecord, versionstamp: string | null): Promise<void> {
    const key = recordKey(record.id);
    const mutations = [{ kind: "set", key, value: record }] as const;
    // With the check, this write cannot restore a key that was just revoked.
    const write = { checks: [{ key, versionstamp }], mutations };
    await this.#store.commit(write).catch(ignoreStoreError);
  }
}

interface ApiKeyRecord extends ApiKey {
  readonly hash: string;
}

const usedEveryMs = 60_000;
const recordPrefix = "api-key";

function recordKey(id: string): KeyValueKey {
  return [recordPrefix, id];
}

function shownKey({ hash: _hash, ...key }: ApiKeyRecord): ApiKey {
  return key;
}

function isRecord(value: unknown): value is ApiKeyRecord {
  return hasMemberTypes(value, {
    id: "string",
    name: "string",
    hash: "string",
    createdAt: "number",
  }) &&
    Array.isArray(Reflect.get(Object(value), "scopes"));
}

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

export const apiKeyAuthOptionRules = groupOf<ApiKeyAuthOptions>()({
  header: textLike("the name of a header", /^[\w!#$%&'*+.^`|~-]+$/).default("X-API-Key"),
  user: callback<UserOfKey>(),
}).default({});

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
 * // In a resource: keys with the scope "export" can read everything.
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
): Authenticator & { readonly keys: ApiKeys } {
  const keys = new ApiKeys(store.need("API keys"), runtime);
  const trusted = new CredentialCache({
    clock: runtime.clock,
    recheckMs,
    read: async (text, isUsed) => await stateOf(await keys.find(text, isUsed), userOf),
  });
  return {
    name: "apiKeyAuth",
    keys,
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
