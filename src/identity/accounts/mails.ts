import type { Runtime } from "../../runtime/runtime.ts";
import { controlCharacter } from "./account_call.ts";

/** The kind of a mail. */
export type MailKind =
  /** The link adds the account. */
  | "verify-email"
  /** A signup for an address that has an account: without a link. */
  | "account-exists"
  /** The link leads to the page for a new password. */
  | "reset-password"
  /** For the attention of the user: without a link. */
  | "password-changed";

/** A mail to a user, whose text is the deployer's. */
export interface Mail {
  /** The subject of the mail. */
  readonly kind: MailKind;
  /** Its receiver. */
  readonly user: { readonly email: string; readonly name: string | null };
  /** The page of the deployer's with the token after `#token=`; null for a mail without a link. */
  readonly link: string | null;
}

/** Sends a mail. What it throws is observed, and no client learns of it. */
export type SendMail = (mail: Mail) => void | Promise<void>;

/** Makes the sending of mails, which never fails: prints them where `send` is not set. */
export function createMails(
  send: SendMail | undefined,
  { observe }: Pick<Runtime, "observe">,
): (mail: Mail) => Promise<void> {
  return async function sendMail(mail) {
    const { kind: mailKind, user: { email, name }, link } = mail;
    if (send === undefined) return observe({ kind: "mail_printed", mailKind, email, link });
    try {
      // Other programs may write the table, and a line break would begin a header in the mail.
      await send({ ...mail, user: { email, name: name?.replace(controls, " ") ?? null } });
    } catch (error) {
      // By contract the client was answered before: it may request another mail.
      observe({ kind: "mail_failed", mailKind, error });
    }
  };
}

const controls = new RegExp(controlCharacter, "gu");

/** A link with a token: after the `#`, which browsers send neither to a server nor as a referrer. */
export function linkWith(page: string, token: string): string {
  return `${page}#token=${token}`;
}
