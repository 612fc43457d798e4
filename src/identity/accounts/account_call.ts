import { Problem } from "../../problem/problem.ts";
import type { BegunSession } from "../sessions/sessions.ts";
import { knownEmail, type normalEmail } from "../signups/normal_email.ts";

/** A request to a route of accounts, whose body was read. */
export interface AccountCall {
  readonly request: Request;
  /** The members of its body. */
  readonly fields: AccountFields;
  /** The client's address; null if it is unknown. */
  readonly address: string | null;
  /** Identifies the sender, for queues and counters. */
  readonly identity: string;
}

/** The reply of a route of accounts. */
export interface AccountReply {
  readonly status: number;
  /** Null for none. */
  readonly body: Readonly<Record<string, unknown>> | null;
  /** The change of the session cookie; unchanged unless set. */
  readonly cookie?: BegunSession | "clear" | undefined;
  /** Recognizes the browser of a signup; the empty string removes it. */
  readonly signupCookie?: string | undefined;
  /** True if the tokens of the request are refunded. */
  readonly isFree?: boolean | undefined;
}

/** The members of the body of a request to accounts. Those that are wrong are reported together. */
export class AccountFields {
  readonly #body: Readonly<Record<string, unknown>>;
  readonly #errors: { readonly path: string; readonly message: string }[] = [];

  /** Throws a 400 for a body that is no object. */
  constructor(body: unknown) {
    if (typeof body !== "object" || body === null || Array.isArray(body)) {
      throw new Problem("invalid-body", "Cannot use this body: it must be a JSON object");
    }
    this.#body = { ...body };
  }

  /** A string of at most so many characters; the empty string where it is wrong. */
  text(name: string, maxLength: number): string {
    const value = this.#body[name];
    if (typeof value !== "string" || value === "") this.refuse(name, "must be a text");
    else if (value.length > maxLength) this.refuse(name, `has more than ${maxLength} characters`);
    else if (!value.isWellFormed()) this.refuse(name, "holds half a character");
    // To scrypt a password with zeros at its end is the one without (RFC 2104, 3: keys are padded).
    else if (value.includes("\0")) this.refuse(name, "holds a character that is none");
    else return value;
    return "";
  }

  /** Returns the field like `text`, or null if it is missing. */
  optionalText(name: string, maxLength: number): string | null {
    const value = this.#body[name];
    return value === undefined || value === null ? null : this.text(name, maxLength);
  }

  /** An e-mail address in its one spelling, of a new account or of one that there may be. */
  email(spelling: typeof normalEmail = knownEmail): string {
    const given = this.text("email", 320);
    const email = spelling(given);
    if (email === null && given !== "") this.refuse("email", "is no e-mail address");
    return email ?? "";
  }

  /** One of these strings; the first where it is missing. */
  oneOf<const Name extends string>(name: string, ...names: readonly [Name, ...Name[]]): Name {
    const value = this.#body[name] ?? names[0];
    const found = names.find((one) => one === value);
    if (found !== undefined) return found;
    this.refuse(name, `must be ${names.map((one) => JSON.stringify(one)).join(" or ")}`);
    return names[0];
  }

  /** Records a mistake. */
  refuse(path: string, message: string): void {
    this.#errors.push({ path, message });
  }

  /** Throws a 422 where a member was wrong. */
  requireValid(action: string): void {
    if (this.#errors.length === 0) return;
    const [{ path = "", message = "" } = {}] = this.#errors;
    throw new Problem("validation-error", `Cannot ${action}: "${path}" ${message}`, {
      details: { errors: this.#errors },
    });
  }
}

/**
 * Returns the name of a user; null if it is missing. A line break in the name would begin a header
 * in a mail to the user.
 */
export function readName(fields: AccountFields): string | null {
  const name = fields.optionalText("name", maxNameLength);
  if (name !== null && controlCharacter.test(name)) {
    fields.refuse("name", "holds a control character");
  }
  return name;
}

const maxNameLength = 200;

/** Characters that no name may contain, including the separators of lines and paragraphs. */
export const controlCharacter = /[\p{Cc}\u2028\u2029]/u;

/** The refusal of a token of a mail: for one that never was, one that is used and one that is late. */
export function uselessToken(action: string): Problem {
  const errors = [{ path: "token", message: "is not good, or not any more" }];
  return new Problem(
    "validation-error",
    `Cannot ${action}: the link is not good, or not any more`,
    { details: { errors } },
  );
}
