import { Problem } from "../../problem/problem.ts";
import type { NewSession } from "../sessions/sessions.ts";
import { type normalizeEmail, normalizeStoredEmail } from "../signups/normalize_email.ts";

export interface AccountRequest {
  readonly request: Request;
  readonly fields: AccountFields;
  readonly address: string | null;
  /** The IP address, or IPv6 network, by which queues and counters distinguish clients. */
  readonly identity: string;
}

export interface AccountReply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>> | null;
  readonly cookie?: NewSession | "clear" | undefined;
  /** The cookie that marks the browser of a signup. "" removes the cookie; undefined keeps it. */
  readonly signupCookie?: string | undefined;
  readonly isFree?: boolean | undefined;
}

export class AccountFields {
  readonly #body: Readonly<Record<string, unknown>>;
  readonly #errors: { readonly path: string; readonly message: string }[] = [];

  constructor(body: unknown) {
    if (typeof body !== "object" || body === null || Array.isArray(body)) {
      throw new Problem("invalid-body", "Cannot use this body: it must be a JSON object");
    }
    this.#body = { ...body };
  }

  text(name: string, maxLength: number): string {
    const value = this.#body[name];
    if (typeof value !== "string" || value === "") this.refuse(name, "must be a string");
    else if (value.length > maxLength) this.refuse(name, `has more than ${maxLength} characters`);
    else if (!value.isWellFormed()) this.refuse(name, "holds half a character");
    // Refuses NUL, because scrypt hashes "a" and "a\0" to the same value (RFC 2104, 3).
    else if (value.includes("\0")) this.refuse(name, "holds a character that is none");
    else return value;
    return "";
  }

  optionalText(name: string, maxLength: number): string | null {
    const value = this.#body[name];
    return value === undefined || value === null ? null : this.text(name, maxLength);
  }

  /** Returns the normalized e-mail address. Signups pass `normalizeEmail`, which is stricter. */
  email(spelling: typeof normalizeEmail = normalizeStoredEmail): string {
    const given = this.text("email", 320);
    const email = spelling(given);
    if (email === null && given !== "") this.refuse("email", "is no e-mail address");
    return email ?? "";
  }

  oneOf<const Name extends string>(name: string, ...names: readonly [Name, ...Name[]]): Name {
    const value = this.#body[name] ?? names[0];
    const found = names.find((one) => one === value);
    if (found !== undefined) return found;
    this.refuse(name, `must be ${names.map((one) => JSON.stringify(one)).join(" or ")}`);
    return names[0];
  }

  refuse(path: string, message: string): void {
    this.#errors.push({ path, message });
  }

  requireValid(action: string): void {
    if (this.#errors.length === 0) return;
    const [{ path = "", message = "" } = {}] = this.#errors;
    throw new Problem("validation-error", `Cannot ${action}: "${path}" ${message}`, {
      details: { errors: this.#errors },
    });
  }
}

/** Reads a user's name. Refuses control characters: a line break would start a new email header. */
export function readName(fields: AccountFields): string | null {
  const name = fields.optionalText("name", maxNameLength);
  if (name !== null && controlCharacter.test(name)) {
    fields.refuse("name", "holds a control character");
  }
  return name;
}

const maxNameLength = 200;

export const controlCharacter = /[\p{Cc}\u2028\u2029]/u;

export function invalidTokenProblem(action: string): Problem {
  const errors = [{ path: "token", message: "is not good, or not any more" }];
  return new Problem(
    "validation-error",
    `Cannot ${action}: the link is not good, or not any more`,
    { details: { errors } },
  );
}
