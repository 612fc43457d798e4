import type { AccountFields } from "./account_request.ts";
import type { RefusePassword } from "./password_auth_options.ts";

/** Maximum length of a password: longer passwords are not safer, but slower to hash. */
export const maxPasswordLength = 256;

export interface PasswordRules {
  readonly minLength: number;
  readonly refuse: RefusePassword | undefined;
}

export function readNewPassword(fields: AccountFields, { minLength }: PasswordRules): string {
  const password = fields.text("password", maxPasswordLength);
  const characters = [...password];
  if (password === "") return password;
  if (characters.length < minLength) {
    fields.refuse("password", `has fewer than ${minLength} characters`);
  } else if (new Set(characters).size < minDifferent) {
    fields.refuse("password", `has fewer than ${minDifferent} different characters`);
  }
  return password;
}

const minDifferent = 5;

export async function requireGoodPassword(
  fields: AccountFields,
  { password, email, action }: {
    readonly password: string;
    readonly email: string;
    readonly action: string;
  },
  { refuse }: PasswordRules,
): Promise<void> {
  if (password.toLowerCase().includes(email)) fields.refuse("password", "holds the e-mail address");
  const reason = await refuse?.(password, email) ?? null;
  if (reason !== null) fields.refuse("password", reason);
  fields.requireValid(action);
}
