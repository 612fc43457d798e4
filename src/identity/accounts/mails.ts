import type { Runtime } from "../../runtime/runtime.ts";
import { controlCharacter } from "./account_call.ts";

/** The kind of a mail. */
export type MailKind =
  /** The link creates the account. */
  | "verify-email"
  /** A signup for an address that already has an account. It has no link. */
  | "account-exists"
  /** The link leads to the page for a new password. */
  | "reset-password"
  /** A notice for the user. It has no link. */
  | "password-changed";

/** A mail to a user. The application writes its text. */
export interface Mail {
  /** The subject of the mail. */
  readonly kind: MailKind;
  /** The receiver. */
  readonly user: { readonly email: string; readonly name: string | null };
  /** The application's page with the token after `#token=`, or null for a mail without a link. */
  readonly link: string | null;
}

/** Sends a mail. Its errors are observed, and no client learns of them. */
export type SendMail = (mail: Mail) => void | Promise<void>;

/** Creates the function that sends mails and never fails. Without `send`, it prints mails. */
export function createMails(
  send: SendMail | undefined,
  { observe }: Pick<Runtime, "observe">,
): (mail: Mail) => Promise<void> {
  return async function sendMail(mail) {
    const { kind: mailKind, user: { email, name }, link } = mail;
    if (send === undefined) return observe({ kind: "mail_printed", mailKind, email, link });
    try {
      // Other programs may write the table, and a line break would start a header in the mail.
      await send({ ...mail, user: { email, name: name?.replace(controls, " ") ?? null } });
    } catch (error) {
      // The client already has its response, and can request another mail.
      observe({ kind: "mail_failed", mailKind, error });
    }
  };
}

const controls = new RegExp(controlCharacter, "gu");

/** Returns a link with a token after `#`, which browsers do not send to servers. */
export function linkWith(page: string, token: string): string {
  return `${page}#token=${token}`;
}
