import { createHash } from "node:crypto";
import type { User } from "../../auth/user.ts";

/** An account: a user that logs in with an e-mail address and a password. */
export interface Account {
  readonly id: string;
  /** As `normalEmail` has it. */
  readonly email: string;
  readonly name: string | null;
  readonly roles: readonly string[];
  /** Neither logs in nor has a session. */
  readonly isDisabled: boolean;
  /** Of the password, with its parameters and its salt. */
  readonly passwordHash: string;
}

/** An account to be added; its id is made by the store. */
export type NewAccount = Pick<Account, "email" | "name" | "roles" | "passwordHash">;

/** The members of an account that the administration can change. */
export type AccountChange = Partial<Pick<Account, "roles" | "isDisabled">>;

/** Where accounts are stored: the key-value store, or a table. */
export interface Accounts {
  findById(id: string): Promise<Account | null>;
  findByEmail(email: string): Promise<Account | null>;
  /** Adds an account; null if another one has its e-mail address. */
  add(account: NewAccount): Promise<Account | null>;
  /** Replaces the hash of a password; false where it is no longer the expected one. */
  setPassword(account: Account, passwordHash: string): Promise<boolean>;
  /** False where there is no such account. */
  change(id: string, change: AccountChange): Promise<boolean>;
  /** In the order of ids, after this one. */
  list(after: string | null, limit: number): Promise<readonly Account[]>;
}

/**
 * Disables an account, or enables it again. Both end its sessions while it is disabled: a process
 * that is killed between the writes, or a session that is not used in the meantime, leaves none that
 * is valid again afterwards. The accounts may be in another store than the sessions, so that one
 * write cannot do both.
 */
export async function switchAccount(
  { id, isDisabled: wasDisabled }: Account,
  isDisabled: boolean,
  { accounts, endSessions }: {
    readonly accounts: Pick<Accounts, "change">;
    readonly endSessions: (userId: string) => Promise<void>;
  },
): Promise<void> {
  if (isDisabled) {
    await accounts.change(id, { isDisabled });
    await endSessions(id);
  } else if (wasDisabled) {
    await endSessions(id);
    await accounts.change(id, { isDisabled });
  }
}

/** The user that scopes and hooks see of an account. */
export function userOf({ id, email, name, roles }: Account): User {
  return Object.freeze({ id, email, ...(name === null ? {} : { name }), roles });
}

/** Returns a user as responses show it: without the members that only scopes need. */
export function shownUser({ id, email, name, roles }: User): Readonly<Record<string, unknown>> {
  return { id, email: email ?? null, name: name ?? null, roles: roles ?? [] };
}

/**
 * A stamp of the password of an account, which changes with it: what was granted to the holder of
 * the password ends with it. The hash is salted, so the stamp reveals nothing.
 */
export function stampOf({ id, passwordHash }: Pick<Account, "id" | "passwordHash">): string {
  const facts = JSON.stringify(["stamp", id, passwordHash]);
  return createHash("sha256").update(facts).digest("base64url").slice(0, 32);
}

/** Returns true if a value that was read from a store is an object with members of these types. */
export function isOf(
  value: unknown,
  members: Readonly<Record<string, "string" | "number" | "boolean">>,
): boolean {
  return typeof value === "object" && value !== null &&
    Object.entries(members).every(([name, type]) => typeof Reflect.get(value, name) === type);
}
