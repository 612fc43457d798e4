import type { Authenticator } from "../auth/authenticator.ts";
import { type Account, accountsAfter, setAccountDisabled } from "../identity/accounts/account.ts";
import { ServiceAccounts } from "../identity/accounts/service_accounts.ts";
import { ApiKeys } from "../identity/keys/api_keys.ts";
import { normalizeStoredEmail } from "../identity/signups/normalize_email.ts";
import { invalidParameter, Problem } from "../problem/problem.ts";
import {
  memberOf,
  type Report,
  requireParameter,
  requireStringMember,
} from "../service/dashboard/report.ts";

export interface Administration {
  readonly own: ServiceAccounts | null;
  readonly keys: ApiKeys | null;
}

/** Returns the accounts and the API keys of an app; null for each that the app does not have. */
export function administrationOf(authenticators: readonly Authenticator[]): Administration {
  const parts: readonly unknown[] = authenticators.flatMap((one) => [
    "administration" in one ? one.administration : null,
    "keys" in one ? one.keys : null,
  ]);
  return {
    own: parts.find((one) => one instanceof ServiceAccounts) ?? null,
    keys: parts.find((one) => one instanceof ApiKeys) ?? null,
  };
}

/** Creates the reports and the actions for accounts, their sessions, and API keys. */
export function createAccountReports({ own, keys }: Administration): readonly Report[] {
  return [
    ...(own === null ? [] : createReportsOfAccounts(own, keys)),
    ...(keys === null ? [] : createReportsOfKeys(keys)),
  ];
}

function createReportsOfAccounts(own: ServiceAccounts, keys: ApiKeys | null): readonly Report[] {
  const { accounts, sessions } = own;

  async function requireAccount(id: string): Promise<Account> {
    const found = isPossibleId(id) ? await accounts.findById(id) : null;
    if (found !== null) return found;
    throw new Problem("not-found", "There is no account with this id");
  }

  const action = (
    name: string,
    run: (account: Account, body: unknown) => Promise<unknown>,
    refusesOwn?: "refusesOwn",
  ): Report => ({
    ...{ name: `account-${name}`, method: "POST", writes: true, administers: true },
    target: (body) => requireStringMember(body, "account"),
    async answer({ body, operator: { user } }) {
      const account = await requireAccount(requireStringMember(body, "account"));
      if (refusesOwn !== undefined && user?.id === account.id) {
        throw new Problem("conflict", "Cannot change your own account: another operator can do it");
      }
      await run(account, body);
      return {};
    },
  });

  const disabling = { accounts, endSessions: (id: string) => sessions.endAll(id) };
  return [
    {
      ...{ name: "accounts", method: "GET", administers: true },
      answer: ({ query }) => readAccounts(query, own),
    },
    {
      ...{ name: "account", method: "GET", administers: true },
      async answer({ query }) {
        const account = await requireAccount(requireParameter(query, "id"));
        const isOwn = ({ userId }: { readonly userId: string | null }) => userId === account.id;
        return {
          account: accountFacts(account),
          ...await sessions.listOf(account),
          keys: keys === null ? null : (await keys.list()).filter(isOwn),
        };
      },
    },
    action("disable", (account) => setAccountDisabled(account, true, disabling), "refusesOwn"),
    action("enable", (account) => setAccountDisabled(account, false, disabling)),
    action(
      "roles",
      ({ id }, body) => accounts.change(id, { roles: readRoles(body) }),
      "refusesOwn",
    ),
    action("end-sessions", ({ id }) => sessions.endAll(id)),
    action("end-session", async (account, body) => {
      if (await sessions.endById(account, requireStringMember(body, "session"))) return;
      throw new Problem("not-found", "There is no such session, or the session has ended");
    }),
  ];
}

/** Lists each member explicitly, so that no response contains the hash of a password. */
function accountFacts({ id, email, name, roles, isDisabled, createdAt = undefined }: Account) {
  return { id, email, name, roles, isDisabled, createdAt: createdAt ?? null };
}

async function readAccounts(query: URLSearchParams, { accounts }: ServiceAccounts) {
  const { search, after } = listParameters(query);
  if (search !== "") {
    const email = normalizeStoredEmail(search);
    const exact = email === null ? null : await accounts.findByEmail(email);
    if (exact !== null) return { accounts: [accountFacts(exact)], next: null };
  }
  const found: ReturnType<typeof accountFacts>[] = [];
  let scanned = 0;
  let last = after;
  for await (const account of accountsAfter(after, accounts)) {
    // The next page continues here, so that one request reads a limited number of accounts.
    if (found.length === pageSize || ++scanned > maxScanned) {
      return { accounts: found, next: last };
    }
    last = account.id;
    const { id, email, name, roles } = account;
    if (hasText([id, email, name ?? "", ...roles], search)) found.push(accountFacts(account));
  }
  return { accounts: found, next: null };
}

function createReportsOfKeys(keys: ApiKeys): readonly Report[] {
  return [
    {
      ...{ name: "api-keys", method: "GET", administers: true },
      async answer({ query }) {
        const { search, after } = listParameters(query);
        const found = (await keys.list()).filter(({ id, name, userId, scopes }) =>
          (after === null || id > after) && hasText([id, name, userId ?? "", ...scopes], search)
        );
        const page = found.slice(0, pageSize);
        return { keys: page, next: found.length > pageSize ? page.at(-1)?.id ?? null : null };
      },
    },
    {
      ...{ name: "key-revoke", method: "POST", writes: true, administers: true },
      target: (body) => requireStringMember(body, "key"),
      async answer({ body }) {
        const id = requireStringMember(body, "key");
        if (isPossibleId(id) && await keys.revoke(id)) return {};
        throw new Problem("not-found", "There is no API key with this id");
      },
    },
  ];
}

const pageSize = 50;
const maxScanned = 5_000;

function listParameters(query: URLSearchParams) {
  const search = (query.get("search") ?? "").trim().toLowerCase();
  const after = query.get("after") || null;
  if (after === null || isPossibleId(after)) return { search, after };
  throw invalidParameter("Cannot read the report: after is no id");
}

function hasText(values: readonly string[], search: string): boolean {
  return search === "" || values.some((value) => value.toLowerCase().includes(search));
}

/** Returns false for strings that cannot be keys of a store. */
function isPossibleId(id: string): boolean {
  return id.length <= 500 && id.isWellFormed() && !id.includes("\0");
}

function readRoles(body: unknown): readonly string[] {
  const roles = memberOf(body, "roles");
  const isRole = (role: unknown): role is string =>
    typeof role === "string" && /^[^\s,]{1,100}$/.test(role) && role.isWellFormed();
  if (Array.isArray(roles) && roles.length <= 50 && roles.every(isRole)) {
    return [...new Set(roles)];
  }
  throw new Problem(
    "invalid-body",
    'Cannot set the roles: "roles" must be a list of up to 50 roles',
  );
}
