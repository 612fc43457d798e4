import type { Accounts } from "../accounts/account.ts";
import { spellingsOf } from "./normal_email.ts";

/** Returns accounts that are found by each form of their address's domain. */
export function bySpellings(accounts: Accounts): Accounts {
  async function find(spellings: readonly string[]) {
    // All forms are looked up, so the time reveals nothing.
    const found = await Promise.all(spellings.map((one) => accounts.findByEmail(one)));
    return found.find((account) => account !== null) ?? null;
  }
  return {
    ...accounts,
    findByEmail: (email) => find(spellingsOf(email)),
    async add(account) {
      // New accounts have one form, so none is added in another form concurrently.
      const [, ...others] = spellingsOf(account.email);
      return await find(others) === null ? await accounts.add(account) : null;
    },
  };
}
