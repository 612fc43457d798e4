import type { AccountService } from "./account_service.ts";

/** The accounts and sessions of a running service, for its operator. */
export class ServiceAccounts {
  readonly accounts: AccountService["accounts"];
  readonly sessions: AccountService["sessions"];

  constructor({ accounts, sessions }: Pick<AccountService, "accounts" | "sessions">) {
    this.accounts = accounts;
    this.sessions = sessions;
  }
}
