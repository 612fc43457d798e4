import type { Accounts } from "../accounts/account.ts";
import { emailSpellings } from "./normalize_email.ts";

/** Wraps accounts, so that an address is found by each spelling of its domain. */
export function withEmailSpellings(accounts: Accounts): Accounts {
  async function find(spellings: readonly string[]) {
    // Looks up all spellings, so that the response time does not depend on the one that exists.
    const found = await Promise.all(spellings.map((one) => accounts.findByEmail(one)));
    return found.find((account) => account !== null) ?? null;
  }
  return {
    ...accounts,
    findByEmail: (email) => find(emailSpellings(email)),
    async add(account) {
      // New accounts all have the same spelling, so no other one can be added in the meantime.
      const [, ...others] = emailSpellings(account.email);
      return await find(others) === null ? await accounts.add(account) : null;
    },
  };
}
