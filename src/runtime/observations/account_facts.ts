/** The events of an account that observations report. */
export type AccountEvent =
  | "login"
  | "login-failed"
  | "logout"
  | "logout-everywhere"
  | "signup"
  | "password-forgotten"
  | "password-reset"
  | "password-changed";

const sentences: Readonly<Record<AccountEvent, string>> = {
  "login": "a login",
  "login-failed": "a failed login",
  "logout": "a logout",
  "logout-everywhere": "a logout of all sessions",
  "signup": "a signup",
  "password-forgotten": "a request for a new password",
  "password-reset": "a reset of the password",
  "password-changed": "a change of the password",
};

export function describeAccountEvent(
  { event, user, address }: AccountFacts["account_event"],
): string {
  const account = user === null ? "without an account" : `of the account ${user}`;
  return `${sentences[event]} ${account}, from ${address ?? "an unknown address"}`;
}

/** The observations about accounts and credentials, with the members of each kind. */
export type AccountFacts = {
  account_event: {
    event: AccountEvent;
    /** The id of the account, or null if there is no account. */
    user: string | null;
    /** The client's address, or null if the address is unknown. */
    address: string | null;
  };
  mail_printed: { mailKind: string; email: string; link: string | null };
  mail_failed: { mailKind: string; error: unknown };
  account_work_failed: { error: unknown };
  login_risk_failed: { error: unknown };
  credential_unread: { error: unknown };
  keys_not_fetched: { url: string; error: unknown };
};
