import type { KeyValue, KeyValueKey, KeyValueMutation } from "../../kv/key_value.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { uuidV7 } from "../../runtime/uuid_v7.ts";
import { hashOfToken } from "../opaque_token.ts";
import type { Account, AccountChange, Accounts } from "./account.ts";
import { hasMemberTypes } from "./account.ts";

/** Maximum number of attempts to change an account. Conflicts are rare. */
const maxTries = 10;

export function createKvAccounts(
  store: KeyValue,
  { clock, random }: Pick<Runtime, "clock" | "random">,
): Accounts {
  async function read(id: string) {
    const { value, versionstamp } = await store.get(accountKey(id));
    return { account: isAccount(value) ? value : null, versionstamp };
  }

  /** Changes an account. Returns false if there is none, or if `next` returns null. */
  async function change(id: string, next: (account: Account) => Account | null): Promise<boolean> {
    for (let tries = 0; tries < maxTries; tries++) {
      const { account, versionstamp } = await read(id);
      const changed = account === null ? null : next(account);
      if (changed === null) return false;
      const checks = [{ key: accountKey(id), versionstamp }];
      const { ok } = await store.commit({ checks, mutations: [setOf(changed)] });
      if (ok) return true;
    }
    throw new Error("Cannot change the account: others were faster each time");
  }

  return {
    findById: async (id) => (await read(id)).account,
    async findByEmail(email) {
      const { value } = await store.get(emailKey(email));
      return typeof value === "string" ? (await read(value)).account : null;
    },
    async add(given) {
      const id = uuidV7(clock, random);
      const account: Account = { id, ...given, isDisabled: false };
      const email = emailKey(given.email);
      const { ok } = await store.commit({
        checks: [{ key: email, versionstamp: null }],
        mutations: [{ kind: "set", key: email, value: id }, setOf(account)],
        claim: email,
      });
      return ok ? account : null;
    },
    setPassword: ({ id, passwordHash: expected }, passwordHash) =>
      change(
        id,
        (account) => account.passwordHash === expected ? { ...account, passwordHash } : null,
      ),
    change: (id, changes: AccountChange) => change(id, (account) => ({ ...account, ...changes })),
    async list(after, limit) {
      const page = { prefix: ["account"], limit };
      const entries = await store.list(
        after === null ? page : { ...page, after: accountKey(after) },
      );
      return entries.map(({ value }) => value).filter(isAccount);
    },
  };
}

function setOf(account: Account): KeyValueMutation {
  return { kind: "set", key: accountKey(account.id), value: account };
}

/** Returns the key of an account. Ids come from sessions, so they are not too long. */
function accountKey(id: string): KeyValueKey {
  return ["account", id];
}

function emailKey(email: string): KeyValueKey {
  return ["account-email", hashOfToken(email)];
}

function isAccount(value: unknown): value is Account {
  return hasMemberTypes(value, { id: "string", email: "string", passwordHash: "string" }) &&
    hasMemberTypes(value, { isDisabled: "boolean" }) &&
    Array.isArray(Reflect.get(Object(value), "roles"));
}
