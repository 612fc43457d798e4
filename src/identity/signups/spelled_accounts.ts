import type { Accounts } from "../accounts/account.ts";
import { spellingsOf } from "./normal_email.ts";

/** The same accounts, found by each spelling of the domain of their address. */
export function bySpellings(accounts: Accounts): Accounts {
  async function find(spellings: readonly string[]) {
    // All of them, so that the time says nothing.
    const found = await Promise.all(spellings.map((one) => accounts.findByEmail(one)));
    return found.find((account) => account !== null) ?? null;
  }
  return {
    ...accounts,
    findByEmail: (email) => find(spellingsOf(email)),
    async add(account) {
      // New accounts have one spelling, so that none is added in another one concurrently.
      const [, ...others] = spellingsOf(account.email);
      return await find(others) === null ? await accounts.add(account) : null;
    },
  };
}
