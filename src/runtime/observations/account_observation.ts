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

const kinds: Readonly<Record<AccountObservation["kind"], true>> = {
  account_event: true,
  mail_printed: true,
  mail_failed: true,
  account_work_failed: true,
  login_risk_failed: true,
  credential_unread: true,
  keys_not_fetched: true,
};

/** Returns true if an observation is about accounts or credentials. */
export function isAboutAccounts<Other extends { readonly kind: string }>(
  observation: AccountObservation | Other,
): observation is AccountObservation {
  return Object.hasOwn(kinds, observation.kind);
}

/** Describes an observation about accounts in one sentence. */
export function describeAccountObservation(observation: AccountObservation): string {
  switch (observation.kind) {
    case "account_event": {
      const { user, event, address } = observation;
      return `account ${user ?? "unknown"}: ${event}, from ${address ?? "an unknown address"}`;
    }
    case "mail_printed": {
      const { mailKind, email, link } = observation;
      return `the mail ${mailKind} to ${email} is only printed: ${link ?? "it has no link"}`;
    }
    case "mail_failed":
      return `the mail ${observation.mailKind} was not sent`;
    case "account_work_failed":
      return "a signup or a reset failed after its answer: the client has to repeat it";
    case "login_risk_failed":
      return "the required function failed: the login needs a CAPTCHA";
    case "credential_unread":
      return "the credential of open streams could not be read: they end in a minute unless it can";
    case "keys_not_fetched":
      return `the keys at ${observation.url} were not fetched; those that are known stay in use`;
  }
}
