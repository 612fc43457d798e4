import type { Accounts } from "../accounts/account.ts";
import { emailSpellings } from "./normal_email.ts";

/** Wraps accounts so that they are found by each spelling of an address's domain. */
export function findableBySpellings(accounts: Accounts): Accounts {
  async function find(spellings: readonly string[]) {
    // All spellings are looked up, so that the response time does not depend on the account.
    const found = await Promise.all(spellings.map((one) => accounts.findByEmail(one)));
    return found.find((account) => account !== null) ?? null;
  }
  return {
    ...accounts,
    findByEmail: (email) => find(emailSpellings(email)),
    async add(account) {
      // All new accounts use one spelling, so no other spelling can be added concurrently.
      const [, ...others] = emailSpellings(account.email);
      return await find(others) === null ? await accounts.add(account) : null;
    },
  };
}
