import type { Runtime } from "../../runtime/runtime.ts";
import { controlCharacter } from "./account_request.ts";

/** The kind of a mail. */
export type MailKind =
  /** The link in the mail creates the account. */
  | "verify-email"
  /** The address of a signup already has an account. The mail has no link. */
  | "account-exists"
  /** The link in the mail leads to the page for a new password. */
  | "reset-password"
  /** The user's password has changed. The mail has no link. */
  | "password-changed";

/** A mail to a user. `sendMail` of the application writes its text. */
export interface Mail {
  /** The kind of the mail. */
  readonly kind: MailKind;
  /** The receiver of the mail. */
  readonly user: { readonly email: string; readonly name: string | null };
  /** The deployer's page with the token after `#token=`; null for a mail without a link. */
  readonly link: string | null;
}

/** Sends a mail. Errors are reported to the operator, but not to clients. */
export type SendMail = (mail: Mail) => void | Promise<void>;

/** Creates the function that sends mails and never rejects. Without `send`, it prints them. */
export function createMails(
  send: SendMail | undefined,
  { observe }: Pick<Runtime, "observe">,
): (mail: Mail) => Promise<void> {
  return async function sendMail(mail) {
    const { kind: mailKind, user: { email, name }, link } = mail;
    if (send === undefined) return observe({ kind: "mail_printed", mailKind, email, link });
    try {
      // Other programs can write names, in which a line break would start a new mail header.
      await send({ ...mail, user: { email, name: name?.replace(controls, " ") ?? null } });
    } catch (error) {
      // The client already has its response, and can request another mail.
      observe({ kind: "mail_failed", mailKind, error });
    }
  };
}

const controls = new RegExp(controlCharacter, "gu");

/** Returns a link with the token after `#`: browsers do not send this part to servers. */
export function linkWithToken(page: string, token: string): string {
  return `${page}#token=${token}`;
}
