import { databaseOption } from "../../db/require_database.ts";
import { headerTextOptionRule } from "../../guard/captcha/captcha_challenges.ts";
import { accountPowOptionRule, type AccountPowOptions } from "../../guard/operation_protection.ts";
import { costOptionRule } from "../../guard/resource_protection_options.ts";
import { type Described, either, group, groupOf, listOf } from "../../options/option.ts";
import {
  callback,
  flag,
  objectWith,
  off,
  oneOf,
  testedValue,
  textLike,
  whole,
} from "../../options/option_kinds.ts";
import { type ColumnLike, isColumn, isTableLike, type TableLike } from "../../schema/table_like.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { sessionCookieOptionRules, type SessionCookieOptions } from "../sessions/session_cookie.ts";
import type { SendMail } from "./mails.ts";
import type { PasswordHasher, ScryptCost } from "./passwords.ts";
import type { Database } from "../../db/database.ts";

/** The options of accounts with a password. */
export interface PasswordAuthOptions {
  /**
   * Where accounts are stored: a table, or `"kv"` for the app's key-value store. Default: the table
   * {@link usersTable} in the app's database, which is created if it is missing.
   */
  readonly users?: "kv" | UserTable | UsersOptions | undefined;
  /** The cost of a login, and its requirements such as a CAPTCHA. */
  readonly login?: LoginOptions | undefined;
  /** The cost and requirements of a signup; `false` if only the operator adds accounts. */
  readonly signup?: false | SignupOptions | undefined;
  /** The cost and requirements of resetting a forgotten password; `false` to disable this. */
  readonly passwordReset?: false | PasswordResetOptions | undefined;
  /** The lifetimes of sessions, and their cookie. */
  readonly sessions?: SessionOptions | undefined;
  /** The rules for new passwords, and how they are hashed. */
  readonly passwords?: PasswordOptions | undefined;
  /** Sends an email. Default: prints the email's link, which is allowed only in development. */
  readonly sendMail?: SendMail | undefined;
  /** The service's public URL, or the URLs of your own pages for links. Required by `sendMail`. */
  readonly links?: string | LinkOptions | undefined;
  /** The look of the service's own pages for links in emails. */
  readonly pages?: LinkPageOptions | undefined;
}

/** A table of users, declared or from introspection. */
export type UserTable = TableLike<unknown, unknown> | TableInfo;

/** The options for accounts in a table of the application. */
export interface UsersOptions {
  /** The table that contains the accounts. */
  readonly table: UserTable;
  /** The database of the table. Default: the database of the app. */
  readonly db?: Database | undefined;
  /** The columns, if their names differ from those of {@link usersTable}. */
  readonly columns?: UserColumnOptions | undefined;
}

/** A column of the users' table, or its property name. */
export type UserColumn = string | ColumnLike<unknown>;

/** The columns of the users' table. */
export interface UserColumnOptions {
  /** The column with the e-mail address in lower case. Default: `email`. */
  readonly email?: UserColumn | undefined;
  /** The column with the password's hash. Default: `passwordHash`. */
  readonly passwordHash?: UserColumn | undefined;
  /** The optional column with the user's name. Default: `name`. */
  readonly name?: UserColumn | undefined;
  /** The optional column of the roles: a JSON list, or one string. Default: `roles`. */
  readonly roles?: UserColumn | undefined;
  /** The optional boolean column that disables an account. Default: `disabled`. */
  readonly disabled?: UserColumn | undefined;
  /** The optional column with the time of the signup. Default: `createdAt`. */
  readonly createdAt?: UserColumn | undefined;
}

/** The challenges that a route always requires. */
export interface AccountGateOptions {
  /** Always requires proof of work. Default: false. */
  readonly pow?: boolean | AccountPowOptions | undefined;
  /** Always requires a CAPTCHA, for this `action` if it is set. Default: false. */
  readonly captcha?: boolean | { readonly action?: string | undefined } | undefined;
}

/** The options of logins. */
export interface LoginOptions extends Pick<AccountGateOptions, "pow"> {
  /** How many tokens logins take from the budget of the client's IP address. */
  readonly cost?: {
    /** The tokens that a failed login takes. A successful login takes none. Default: 1. */
    readonly failed?: number | undefined;
  } | undefined;
  /** Requires a CAPTCHA, always or if `required` returns true. Default: false. */
  readonly captcha?: boolean | LoginCaptchaOptions | undefined;
}

/** The CAPTCHA that logins require. */
export interface LoginCaptchaOptions {
  /** The action for which the CAPTCHA must have been solved. */
  readonly action?: string | undefined;
  /** Returns true if a login needs the CAPTCHA. Default: all logins need it. */
  readonly required?: CaptchaRequired | undefined;
}

/** Returns true if a login needs a CAPTCHA. An error of the function counts as true. */
export type CaptchaRequired = (request: Request, facts: LoginFacts) => boolean | Promise<boolean>;

/** Numbers of failed logins within about an hour. */
export interface LoginFacts {
  /** Failures for this account name, even if no account has it. */
  readonly account: number;
  /** Failures from this IP address. All IPv6 addresses of a /64 network count as one. */
  readonly address: number;
  /** Number of failures from the address's network: /24 for IPv4, /48 for IPv6. */
  readonly network: number;
}

/** The options of signups. */
export interface SignupOptions extends AccountGateOptions {
  /** The tokens that a signup takes from the budget of the client's IP address. Default: 1. */
  readonly cost?: number | undefined;
  /**
   * True to create an account only after its owner has followed the link in the email. If false, a
   * signup reveals if an address has an account. Default: true.
   */
  readonly verify?: boolean | undefined;
  /** The roles of a new account. Default: the default value of the column, or no roles. */
  readonly roles?: readonly string[] | undefined;
}

/** The options of resets of forgotten passwords. */
export interface PasswordResetOptions extends AccountGateOptions {
  /** The tokens that a reset takes from the budget of the client's IP address. Default: 1. */
  readonly cost?: number | undefined;
  /** How long a link is valid, in milliseconds. Default: an hour. */
  readonly ttlMs?: number | undefined;
}

/** The options of sessions. */
export interface SessionOptions {
  /** How long a session lasts without being used, in milliseconds. Default: a day. */
  readonly idleMs?: number | undefined;
  /** The maximum lifetime of a session, in milliseconds. Default: 30 days. */
  readonly maxMs?: number | undefined;
  /** The options of the session cookie. */
  readonly cookie?: SessionCookieOptions | undefined;
}

/** The options of passwords. */
export interface PasswordOptions {
  /** The minimum length of a new password. Default: 15 (NIST SP 800-63B, 3.1.1.2). */
  readonly minLength?: number | undefined;
  /** Returns why a password is refused, e.g. because it was leaked. Default: no check. */
  readonly refuse?: RefusePassword | undefined;
  /** The cost of scrypt. Default: N 16,384, r 8 and p 5 (OWASP). */
  readonly scrypt?: ScryptCost | undefined;
  /** Hashes and verifies passwords in place of scrypt. */
  readonly hasher?: PasswordHasher | undefined;
}

/** Returns why a new password is refused, or null to accept it. */
export type RefusePassword = (
  password: string,
  email: string,
) => string | null | Promise<string | null>;

/** The deployer's pages to which links in emails lead. The pages send the token to the service. */
export interface LinkOptions {
  /** The URL of the page that sends `{ token }` to `POST /auth/verify`. */
  readonly verify: string;
  /** The URL of the page that sends `{ token, password }` to `POST /auth/password/reset`. */
  readonly reset: string;
}

/** The look of the service's own pages for links in emails, and the login page they link to. */
export interface LinkPageOptions {
  /** The name of the site. Default: none. */
  readonly title?: string | undefined;
  /** The path or URL of a style sheet. */
  readonly stylesheet?: string | undefined;
  /** The path or URL of the page on which users log in. Default: no link. */
  readonly logIn?: string | undefined;
}

const gate = {
  pow: accountPowOptionRule,
  captcha: either(flag(), group({ action: headerTextOptionRule })).default(false),
} satisfies Described<AccountGateOptions>;

const column = testedValue<UserColumn>(
  "a column",
  (given) => typeof given === "string" || isColumn(given),
);

const userColumns = {
  email: column,
  passwordHash: column,
  name: column,
  roles: column,
  disabled: column,
  createdAt: column,
} satisfies Described<UserColumnOptions>;

const usersOptions = groupOf<UsersOptions>()({
  table: testedValue<UserTable>("a table", isTable).required(),
  db: databaseOption(),
  columns: group(userColumns),
});

const link = textLike('a URL like "https://example.com/reset"', /^https?:\/\/[^\s#]+$/);

const pageUrl = textLike('a URL or a path like "/login"', /^(https?:\/\/|\/(?!\/))[^\s;,]*$/);

const scryptCost = groupOf<ScryptCost>()({
  N: testedValue<number>(
    "a power of two from 4,096 to 1,048,576",
    (given) =>
      typeof given === "number" && Number.isInteger(Math.log2(given)) && given >= 2 ** 12 &&
      given <= 2 ** 20,
  ).required(),
  r: whole({ from: 1, to: 32 }).required(),
  p: whole({ from: 1, to: 16 }).required(),
});

const loginOptions = groupOf<LoginOptions>()({
  cost: group({ failed: costOptionRule.default(1) }).default({}),
  pow: gate.pow,
  captcha: either(
    flag(),
    groupOf<LoginCaptchaOptions>()({
      action: headerTextOptionRule,
      required: callback<CaptchaRequired>(),
    }),
  ).default(false),
});

export const passwordAuthOptionRules = groupOf<PasswordAuthOptions>()({
  users: either(oneOf("kv"), either(testedValue<UserTable>("a table", isTable), usersOptions)),
  login: loginOptions.default({}),
  signup: either(
    off(),
    groupOf<SignupOptions>()({
      ...gate,
      cost: costOptionRule.default(1),
      verify: flag().default(true),
      roles: listOf("roles", textLike("a string", /./)).default([]),
    }),
  ).default({}),
  passwordReset: either(
    off(),
    groupOf<PasswordResetOptions>()({
      ...gate,
      cost: costOptionRule.default(1),
      ttlMs: whole({ from: 60_000 }).default(3_600_000),
    }),
  ).default({}),
  sessions: groupOf<SessionOptions>()({
    idleMs: whole({ from: 1_000 }).default(86_400_000),
    maxMs: whole({ from: 1_000 }).default(30 * 86_400_000),
    cookie: sessionCookieOptionRules.default({}),
  }).default({}),
  passwords: groupOf<PasswordOptions>()({
    minLength: whole({ from: 8, to: 64 }).default(15),
    refuse: callback<RefusePassword>(),
    scrypt: scryptCost.default({ N: 2 ** 14, r: 8, p: 5 }),
    hasher: objectWith<PasswordHasher>("an object with hash and verify", "hash", "verify"),
  }).default({}),
  sendMail: callback<SendMail>(),
  links: either(
    link,
    groupOf<LinkOptions>()({ verify: link.required(), reset: link.required() }),
  ),
  pages: groupOf<LinkPageOptions>()({
    title: textLike("a string", /./),
    stylesheet: pageUrl,
    logIn: pageUrl,
  }).default({}),
}).default({});

export type ResolvedPasswordAuthOptions = NonNullable<
  ReturnType<typeof passwordAuthOptionRules.read>
>;

function isTable(given: unknown): boolean {
  return typeof given === "object" && given !== null &&
    (isTableLike(given) || "byName" in given && given.byName instanceof Map);
}
