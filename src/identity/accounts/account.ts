import type { UserRow } from "./users_table.ts";
import { createHash } from "node:crypto";
import type { User } from "../../auth/authorize.ts";

export interface Account extends Pick<UserRow, "id" | "email" | "name" | "passwordHash"> {
  readonly roles: readonly string[];
  readonly isDisabled: boolean;
  /** The time of the signup. Absent if it is not stored. */
  readonly createdAt?: string | undefined;
}

export type NewAccount = Pick<Account, "email" | "name" | "roles" | "passwordHash">;

export type AccountChange = Partial<Pick<Account, "roles" | "isDisabled">>;

export interface Accounts {
  findById(id: string): Promise<Account | null>;
  findByEmail(email: string): Promise<Account | null>;
  /** Adds an account. Returns null if another account has the same e-mail address. */
  add(account: NewAccount): Promise<Account | null>;
  /** Replaces the password hash. Returns false if the hash has changed since `account` was read. */
  setPassword(account: Account, passwordHash: string): Promise<boolean>;
  change(id: string, change: AccountChange): Promise<boolean>;
  /** Deletes an account. Returns false if the account does not exist or has changed. */
  remove(account: Account): Promise<boolean>;
  list(after: string | null, limit: number): Promise<readonly Account[]>;
}

/** Iterates over accounts in the order of ids: those after `id`, or all if `id` is null. */
export async function* accountsAfter(
  id: string | null,
  accounts: Pick<Accounts, "list">,
): AsyncIterable<Account> {
  for (let after = id;;) {
    const page: readonly Account[] = await accounts.list(after, pageSize);
    yield* page;
    after = page.at(-1)?.id ?? null;
    if (page.length < pageSize || after === null) return;
  }
}

const pageSize = 500;

/**
 * Disables or enables an account and ends all its sessions. The sessions always end while the
 * account is disabled, so that none becomes valid again if the process ends between the two steps.
 */
export async function setAccountDisabled(
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

export function userOfAccount({ id, email, name, roles }: Account): User {
  return Object.freeze({ id, email, ...(name === null ? {} : { name }), roles });
}

export function userForResponse(
  { id, email, name, roles }: User,
): Readonly<Record<string, unknown>> {
  return { id, email: email ?? null, name: name ?? null, roles: roles ?? [] };
}

/** Returns a hash that sessions and reset links store. A new password changes the hash. */
export function passwordVersionOf(
  { id, passwordHash }: Pick<Account, "id" | "passwordHash">,
): string {
  const facts = JSON.stringify(["stamp", id, passwordHash]);
  return createHash("sha256").update(facts).digest("base64url").slice(0, 32);
}

export function hasMemberTypes(
  value: unknown,
  members: Readonly<Record<string, "string" | "number" | "boolean">>,
): boolean {
  return typeof value === "object" && value !== null &&
    Object.entries(members).every(([name, type]) => typeof Reflect.get(value, name) === type);
}
