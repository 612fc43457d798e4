import type { Runtime } from "../../runtime/runtime.ts";
import { controlCharacter } from "./account_request.ts";

/** The kind of an email. */
export type MailKind =
  /** The link in the email creates the account. */
  | "verify-email"
  | "account-exists"
  | "reset-password"
  | "password-changed";

/** An email to a user. The application writes its subject and text in `sendMail`. */
export interface Mail {
  /** The kind of the email. */
  readonly kind: MailKind;
  /** The receiver of the email. */
  readonly user: { readonly email: string; readonly name: string | null };
  /** The URL of the page that the link opens, with `#token=…`; null for an email without a link. */
  readonly link: string | null;
}

/** Sends an email. Errors are reported to the operator, but not to clients. */
export type SendMail = (mail: Mail) => void | Promise<void>;

/** Creates the function that sends emails and never rejects. Without `send`, it prints them. */
export function createMails(
  send: SendMail | undefined,
  { observe }: Pick<Runtime, "observe">,
): (mail: Mail) => Promise<void> {
  return async function sendMail(mail) {
    const { kind: mailKind, user: { email, name }, link } = mail;
    if (send === undefined) return observe({ kind: "mail_printed", mailKind, email, link });
    try {
      // Other programs may have stored a name with a line break, which would start an email header.
      await send({ ...mail, user: { email, name: name?.replace(controls, " ") ?? null } });
    } catch (error) {
      observe({ kind: "mail_failed", mailKind, error });
    }
  };
}

const controls = new RegExp(controlCharacter, "gu");

/** Returns a link with the token after `#`: browsers do not send this part to servers. */
export function linkWithToken(page: string, token: string): string {
  return `${page}#token=${token}`;
}
