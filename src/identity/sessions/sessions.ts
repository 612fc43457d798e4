import { isSameSecret } from "../../protocol/byte_text.ts";
import type { Authenticator, Identification } from "../../auth/authenticator.ts";
import { entriesBelow } from "../../kv/entries_below.ts";
import type { KeyValue, KeyValueKey } from "../../kv/key_value.ts";
import { ignoreStoreError } from "../../kv/store_error.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { type Runtime, uuidV7 } from "../../runtime/runtime.ts";
import {
  type Account,
  hasMemberTypes,
  passwordVersionOf,
  userOfAccount,
} from "../accounts/account.ts";
import { bearerToken, hashOfToken, isToken, makeToken } from "../opaque_token.ts";
import { CredentialCache, type CredentialState } from "../credential_cache.ts";
import { Problem } from "../../problem/problem.ts";
import { isWriteMethod, requireOwnPage } from "./origin_check.ts";
import type { SessionCookie } from "./session_cookie.ts";

/** Returns the epoch (a random string) to which a user's sessions are bound; "" if none is set. */
async function readSessionEpoch(store: KeyValue, userId: string): Promise<string> {
  const { value } = await store.get(epochKey(userId));
  return typeof value === "string" ? value : "";
}

/** Ends all sessions of a user. The new epoch can expire when all earlier sessions have expired. */
export async function beginSessionEpoch(
  store: KeyValue,
  userId: string,
  { clock, random }: Pick<Runtime, "clock" | "random">,
  expireInMs?: number,
): Promise<void> {
  const value = uuidV7(clock, random);
  const record = { kind: "set", key: epochKey(userId), value } as const;
  await store.commit({
    mutations: [expireInMs === undefined ? record : { ...record, expireInMs }],
  });
}

function epochKey(userId: string): KeyValueKey {
  return ["session-epoch", hashOfToken(userId)];
}

interface SessionRecord {
  readonly userId: string;
  readonly stamp: string;
  readonly epoch: string;
  readonly beganAt: number;
  /** The last recorded use of the session, in milliseconds since 1970, accurate to a minute. */
  readonly seenAt: number;
  readonly endsAt: number;
}

export interface NewSession {
  readonly token: string;
  readonly endsAt: number;
}

/** A session as the operator sees it, without its token and without the hash of its token. */
export interface AccountSession extends Pick<SessionRecord, "beganAt" | "seenAt" | "endsAt"> {
  readonly id: string;
}

export interface AccountSessions {
  readonly sessions: readonly AccountSession[];
  /** False if the store contains too many sessions to look at all of them. */
  readonly isComplete: boolean;
}

const recordPrefix = "session";
const maxScanned = 20_000;

/** The stored key contains the hash of the token. The id is a hash of this hash. */
function idOf(key: KeyValueKey): string {
  return hashOfToken(`session ${String(key.at(-1))}`).slice(0, 16);
}

interface SessionsOptions {
  readonly store: KeyValue;
  readonly findAccount: (id: string) => Promise<Account | null>;
  readonly idleMs: number;
  readonly maxMs: number;
  readonly recheckMs: number;
  readonly runtime: Runtime;
}

const maxTokenLength = 100;

export const sessionPrefix = "ses_";

/** A session is bound to the user's password and epoch: changing either ends all sessions. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #trusted: CredentialCache;

  constructor(options: SessionsOptions) {
    const { runtime: { clock }, recheckMs } = options;
    this.#options = options;
    this.#trusted = new CredentialCache({
      clock,
      recheckMs,
      read: (token, isUsed) => this.#read(token, isUsed),
    });
  }

  identify(token: string): MaybePromise<Identification | null> {
    // Checks only the length: checking the form would cost time, and nearly all tokens are cached.
    return token.length > maxTokenLength ? null : this.#trusted.identify(token);
  }

  async begin(account: Account): Promise<NewSession> {
    const { store, maxMs, runtime: { clock, random } } = this.#options;
    const token = makeToken(sessionPrefix, random);
    const epoch = await readSessionEpoch(store, account.id);
    const now = clock.now();
    const endsAt = now + maxMs;
    const stamp = passwordVersionOf(account);
    const record = { userId: account.id, stamp, epoch, beganAt: now, seenAt: now, endsAt };
    await store.commit({ mutations: [this.#setOf(keyOf(token), record)] });
    return { token, endsAt };
  }

  async end(token: string): Promise<void> {
    if (!isToken(token, sessionPrefix)) return;
    // Ends the session in the cache first, so that this process rejects it even if the store fails.
    this.#trusted.end(token);
    await this.#options.store.commit({ mutations: [{ kind: "delete", key: keyOf(token) }] });
  }

  async endAll(userId: string): Promise<void> {
    const { store, maxMs, runtime } = this.#options;
    await beginSessionEpoch(store, userId, runtime, maxMs + dayMs);
  }

  /** Lists the valid sessions of an account. Reads at most 20,000 sessions of all accounts. */
  async listOf(account: Account): Promise<AccountSessions> {
    const sessions: AccountSession[] = [];
    const { isComplete } = await this.#scan(account, (id, { beganAt, seenAt, endsAt }) => {
      sessions.push({ id, beganAt, seenAt, endsAt });
    });
    return { sessions: sessions.sort((one, other) => other.seenAt - one.seenAt), isComplete };
  }

  /**
   * Ends a session by its id from {@link listOf}. Returns false if it has ended. A process that has
   * recently accepted the session may still accept it for `recheckMs`.
   */
  async endById(account: Account, id: string): Promise<boolean> {
    let found: KeyValueKey | null = null;
    await this.#scan(account, (one, _record, key) => {
      if (one === id) found = key;
    });
    if (found === null) return false;
    await this.#options.store.commit({ mutations: [{ kind: "delete", key: found }] });
    return true;
  }

  async #scan(
    account: Account,
    visit: (id: string, record: SessionRecord, key: KeyValueKey) => void,
  ): Promise<{ readonly isComplete: boolean }> {
    const { store, idleMs, runtime: { clock } } = this.#options;
    const epoch = await readSessionEpoch(store, account.id);
    const stamp = passwordVersionOf(account);
    const now = clock.now();
    let scanned = 0;
    for await (const { key, value: record } of entriesBelow(store, [recordPrefix])) {
      if (++scanned > maxScanned) return { isComplete: false };
      if (!isRecord(record) || record.userId !== account.id) continue;
      if (record.epoch !== epoch || !isSameSecret(record.stamp, stamp)) continue;
      if (now < record.endsAt && now < record.seenAt + idleMs) visit(idOf(key), record, key);
    }
    return { isComplete: true };
  }

  async #read(token: string, isUsed: boolean): Promise<CredentialState | null> {
    if (!isToken(token, sessionPrefix)) return null;
    const { store, findAccount, idleMs, runtime: { clock } } = this.#options;
    const key = keyOf(token);
    const { value: record, versionstamp } = await store.get(key);
    if (!isRecord(record)) return null;
    const now = clock.now();
    // A store may return a record for some time after its expiry.
    if (now >= record.endsAt || now >= record.seenAt + idleMs) return null;
    const [epoch, account] = await Promise.all([
      readSessionEpoch(store, record.userId),
      findAccount(record.userId),
    ]);
    if (account === null || account.isDisabled || epoch !== record.epoch) return null;
    if (!isSameSecret(passwordVersionOf(account), record.stamp)) return null;
    if (isUsed && now - record.seenAt >= this.#seenEveryMs) {
      await this.#see(key, { ...record, seenAt: now }, versionstamp);
    }
    return { user: userOfAccount(account), expiresAt: record.endsAt };
  }

  get #seenEveryMs(): number {
    return Math.min(60_000, this.#options.idleMs / 10);
  }

  async #see(key: KeyValueKey, record: SessionRecord, versionstamp: string | null): Promise<void> {
    // With the check, this write cannot restore a session that has just ended.
    const write = { checks: [{ key, versionstamp }], mutations: [this.#setOf(key, record)] };
    await this.#options.store.commit(write).catch(ignoreStoreError);
  }

  #setOf(key: KeyValueKey, record: SessionRecord) {
    const { idleMs } = this.#options;
    const leftMs = Math.min(record.endsAt, record.seenAt + idleMs) - record.seenAt;
    const expireInMs = Math.max(1, Math.ceil(leftMs));
    // A user can have many sessions. A full store drops sessions of the user who has the most.
    const share = `session ${record.userId}`;
    return { kind: "set", key, value: record, expireInMs, share } as const;
  }
}

const dayMs = 86_400_000;

function keyOf(token: string): KeyValueKey {
  return [recordPrefix, hashOfToken(token)];
}

function isRecord(value: unknown): value is SessionRecord {
  return hasMemberTypes(value, {
    userId: "string",
    stamp: "string",
    epoch: "string",
    beganAt: "number",
    seenAt: "number",
    endsAt: "number",
  });
}

export interface RequestSessionToken {
  readonly token: string;
  /** True if the token comes from a cookie, which browsers add to requests automatically. */
  readonly isCookie: boolean;
}

export function sessionTokenOfRequest(
  request: Request,
  cookie: SessionCookie,
): RequestSessionToken | null {
  const bearer = bearerToken(request.headers.get("authorization"));
  if (bearer?.startsWith(sessionPrefix)) return { token: bearer, isCookie: false };
  const token = cookie.read(request);
  return token === null ? null : { token, isCookie: true };
}

/** Identifies a session's user. A write with a cookie must come from this or a trusted origin. */
export function createSessionAuth(
  sessions: Sessions,
  cookie: SessionCookie,
  trustedOrigins: ReadonlySet<string>,
): Authenticator["identify"] {
  return function identify(request): MaybePromise<Identification | null> {
    const carried = sessionTokenOfRequest(request, cookie);
    if (carried === null) return null;
    const { token, isCookie } = carried;
    // The origin is checked first, so that other sites cannot find out if a session exists.
    if (isCookie && isWriteMethod(request.method)) requireOwnPage(request, trustedOrigins);
    const found = sessions.identify(token);
    // A cached session is returned without a closure, which would slow down each request.
    if (found instanceof Promise) {
      return found.then((one) => one ?? ended(request, isCookie, cookie));
    }
    return found ?? ended(request, isCookie, cookie);
  };
}

function ended(request: Request, isCookie: boolean, cookie: SessionCookie): never {
  const headers = new Headers();
  if (isCookie) cookie.clear(headers, request);
  throw new Problem("unauthorized", "The session has ended: log in again", {
    headers: Object.fromEntries(headers),
  });
}
