import { entriesBelow } from "../../kv/entries_below.ts";
import type { KeyValue, KeyValueKey } from "../../kv/key_value.ts";
import { StoreError } from "../../kv/store_error.ts";
import { bytesToHex, decodeBase64url, encodeBase64url } from "../../protocol/byte_text.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { hasMemberTypes } from "../accounts/account.ts";
import { hashOfToken, isSameHash } from "../opaque_token.ts";

/** The record of an API key, without the secret. */
export interface ApiKey {
  /** The id of the key, with which the key's string begins. */
  readonly id: string;
  /** The name of the key, which says its purpose. */
  readonly name: string;
  /** The id of the key's user; null if the key is itself a user. */
  readonly userId: string | null;
  /** The permissions of the key, which its user has as roles. */
  readonly scopes: readonly string[];
  /** The creation time, in milliseconds since 1970. */
  readonly createdAt: number;
  /** The expiry time in milliseconds since 1970, or null for a key that never expires. */
  readonly expiresAt: number | null;
  /** The last use in milliseconds since 1970, accurate to a minute. Null before the first use. */
  readonly lastUsedAt: number | null;
}

/** The members of a new API key. */
export type NewApiKey = Pick<ApiKey, "name" | "userId" | "scopes" | "expiresAt">;

export const apiKeyPrefix = "key_";

const idBytes = 6;
const secretBytes = 32;
const keyPattern = /^key_([0-9a-f]{12})_([\w-]{43})$/;

/**
 * The API keys of an app, in the key-value store. A key consists of an id and a secret. Only a hash
 * of the secret is stored, so that the key can be shown only once, when it is created.
 */
export class ApiKeys {
  readonly #store: KeyValue;
  readonly #runtime: Pick<Runtime, "clock" | "random">;

  /** Reads nothing before the first call. */
  constructor(store: KeyValue, runtime: Pick<Runtime, "clock" | "random">) {
    this.#store = store;
    this.#runtime = runtime;
  }

  /** Creates a key. Returns its string, which is not stored, and its record. */
  async create(given: NewApiKey): Promise<{ readonly text: string; readonly key: ApiKey }> {
    const { clock, random } = this.#runtime;
    // The id does not begin with a hyphen, so that no command takes the key for an option.
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
    if (!isRecord(value) || !isSameHash(value.hash, hashOfToken(secret))) return null;
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
    try {
      // With the check, this write cannot restore a key that was just revoked.
      await this.#store.commit({
        checks: [{ key, versionstamp }],
        mutations: [{ kind: "set", key, value: record }],
      });
    } catch (error) {
      // If the store does not respond, the use remains unrecorded.
      if (!(error instanceof StoreError)) throw error;
    }
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
