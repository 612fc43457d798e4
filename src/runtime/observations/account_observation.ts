/** An event of an account, as an observation reports it. */
export type AccountEvent =
  | "login"
  | "login-failed"
  | "logout"
  | "logout-everywhere"
  | "signup"
  | "password-forgotten"
  | "password-reset"
  | "password-changed";

/** An observation about accounts and credentials. */
export type AccountObservation =
  | {
    readonly kind: "account_event";
    readonly event: AccountEvent;
    /** The id of the account, or null if there is no account. */
    readonly user: string | null;
    /** The client's address, or null if the address is unknown. */
    readonly address: string | null;
  }
  | {
    readonly kind: "mail_printed";
    readonly mailKind: string;
    readonly email: string;
    readonly link: string | null;
  }
  | { readonly kind: "mail_failed"; readonly mailKind: string; readonly error: unknown }
  | { readonly kind: "account_work_failed"; readonly error: unknown }
  | { readonly kind: "login_risk_failed"; readonly error: unknown }
  | { readonly kind: "credential_unread"; readonly error: unknown }
  | { readonly kind: "keys_not_fetched"; readonly url: string; readonly error: unknown };
