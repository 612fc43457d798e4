import { databaseOption } from "../../db/require_database.ts";
import { headerTextDescription } from "../../guard/captcha/captcha_options.ts";
import {
  accountPowOptionDescription,
  type AccountPowOptions,
} from "../../guard/account_protection.ts";
import { costOptionDescription } from "../../guard/resource_protection_options.ts";
import { type Described, either, group, listOf } from "../../options/option.ts";
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
import {
  sessionCookieOptionDescriptions,
  type SessionCookieOptions,
} from "../sessions/session_cookie.ts";
import type { SendMail } from "./mails.ts";
import type { PasswordHasher, ScryptCost } from "./passwords.ts";
import type { Database } from "../../db/database.ts";

/** The options of accounts with a password. */
export interface PasswordAuthOptions {
  /**
   * The accounts: a table, or `"kv"` for the app's key-value store. Default: the table {@link
   * usersTable} in the app's database, which is created.
   */
  readonly users?: "kv" | UserTable | UsersOptions | undefined;
  /** The cost and the requirements of a login. */
  readonly login?: LoginOptions | undefined;
  /** The cost and the requirements of a signup. `false` lets only the operator add accounts. */
  readonly signup?: false | SignupOptions | undefined;
  /** The cost and the requirements of resetting a forgotten password, or `false` to disable it. */
  readonly passwordReset?: false | PasswordResetOptions | undefined;
  /** The lifetimes of sessions, and the session cookie. */
  readonly sessions?: SessionOptions | undefined;
  /** The rules for new passwords, and the storage of their hashes. */
  readonly passwords?: PasswordOptions | undefined;
  /** Sends a mail. Default: in development, the link is printed. */
  readonly sendMail?: SendMail | undefined;
  /** The pages to which links in mails lead. Required with `sendMail`. */
  readonly links?: LinkOptions | undefined;
}

/** A table of users: a declared table, or a table that introspection describes. */
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

/** A column of a table of users, or the name of the column's property. */
export type UserColumn = string | ColumnLike<unknown>;

/** The options that name the columns of a table of users. */
export interface UserColumnOptions {
  /** The column of the e-mail address in lower case. Default: `email`. */
  readonly email?: UserColumn | undefined;
  /** The column of the hash of the password. Default: `passwordHash`. */
  readonly passwordHash?: UserColumn | undefined;
  /** The column of the name, which is optional. Default: `name` if that column exists. */
  readonly name?: UserColumn | undefined;
  /** The optional column of the roles: a JSON list or one string. Default: `roles`. */
  readonly roles?: UserColumn | undefined;
  /** The optional column of a boolean that disables the account. Default: `disabled`. */
  readonly disabled?: UserColumn | undefined;
  /** The optional column of the time of the signup. Default: `createdAt`. */
  readonly createdAt?: UserColumn | undefined;
}

/** The requirements that a route for accounts always has. */
export interface AccountGateOptions {
  /** Always requires proof of work. Default: false. */
  readonly pow?: boolean | AccountPowOptions | undefined;
  /** Always requires a CAPTCHA, solved for `action` if it is set. Default: false. */
  readonly captcha?: boolean | { readonly action?: string | undefined } | undefined;
}

/** The options of logins. */
export interface LoginOptions extends Pick<AccountGateOptions, "pow"> {
  /** The tokens that logins take from the budget of the client's address. */
  readonly cost?: {
    /** Number of tokens that a failed login takes. Default: 1. A successful login takes none. */
    readonly failed?: number | undefined;
  } | undefined;
  /** Requires a CAPTCHA: always, or if `required` returns true. Default: false. */
  readonly captcha?: boolean | LoginCaptchaOptions | undefined;
}

/** The options of a CAPTCHA that logins require. */
export interface LoginCaptchaOptions {
  /** The action for which the user must have solved the CAPTCHA. */
  readonly action?: string | undefined;
  /** Returns true if this login needs a CAPTCHA. Default: always true. */
  readonly required?: CaptchaRequired | undefined;
}

/** Decides if a login needs a CAPTCHA. If the function throws, the login needs a CAPTCHA. */
export type CaptchaRequired = (
  request: Request,
  facts: LoginFacts,
) => boolean | Promise<boolean>;

/** The number of failed logins within about an hour. */
export interface LoginFacts {
  /** Number of failures for this account name, even if no account has the name. */
  readonly account: number;
  /** Number of failures from this address. IPv6 addresses of one /64 network share a count. */
  readonly address: number;
  /** Number of failures from the address's network: /24 for IPv4, /48 for IPv6. */
  readonly network: number;
}

/** The options of signups. */
export interface SignupOptions extends AccountGateOptions {
  /** Number of tokens that a signup takes from the budget of the client's address. Default: 1. */
  readonly cost?: number | undefined;
  /**
   * True to create an account only after the link in a mail was followed. Default: true. If false,
   * a signup reveals if an address has an account.
   */
  readonly verify?: boolean | undefined;
  /** The roles of a new account. Default: the column's default, or no roles. */
  readonly roles?: readonly string[] | undefined;
}

/** The options of resets of forgotten passwords. */
export interface PasswordResetOptions extends AccountGateOptions {
  /** Number of tokens that a reset takes from the budget of the client's address. Default: 1. */
  readonly cost?: number | undefined;
  /** How long a link is valid, in milliseconds. Default: an hour. */
  readonly ttlMs?: number | undefined;
}

/** The options of sessions. */
export interface SessionOptions {
  /** The time without use after which a session ends, in milliseconds. Default: a day. */
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
  /** Returns the reason to reject a password, such as a leaked password. Default: no check. */
  readonly refuse?: RefusePassword | undefined;
  /** The cost of scrypt. Default: N 16,384, r 8 and p 5 (OWASP). */
  readonly scrypt?: ScryptCost | undefined;
  /** Replaces scrypt for hashing and verifying passwords. */
  readonly hasher?: PasswordHasher | undefined;
}

/** Returns the reason to refuse a new password, or undefined to accept the password. */
export type RefusePassword = (
  password: string,
  email: string,
) => string | null | Promise<string | null>;

/** The links in mails. Each link leads to a page of the deployer, which posts the token. */
export interface LinkOptions {
  /** The URL of the page that posts `{ token }` to `/auth/verify`. */
  readonly verify: string;
  /** The URL of the page that posts `{ token, password }` to `/auth/password/reset`. */
  readonly reset: string;
}

const gate = {
  pow: accountPowOptionDescription,
  captcha: either(flag(), group({ action: headerTextDescription })).default(false),
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

const usersOptions = group(
  {
    table: testedValue<UserTable>("a table", isTable).required(),
    db: databaseOption(),
    columns: group(userColumns),
  } satisfies Described<UsersOptions>,
);

const link = textLike('a URL like "https://example.com/reset"', /^https?:\/\/[^\s#]+$/);

const scryptCost = group(
  {
    N: testedValue<number>(
      "a power of two from 4,096 to 1,048,576",
      (given) =>
        typeof given === "number" && Number.isInteger(Math.log2(given)) && given >= 2 ** 12 &&
        given <= 2 ** 20,
    ).required(),
    r: whole({ from: 1, to: 32 }).required(),
    p: whole({ from: 1, to: 16 }).required(),
  } satisfies Described<ScryptCost>,
);

const loginOptions = group(
  {
    cost: group({ failed: costOptionDescription.default(1) }).default({}),
    pow: gate.pow,
    captcha: either(
      flag(),
      group(
        {
          action: headerTextDescription,
          required: callback<CaptchaRequired>(),
        } satisfies Described<LoginCaptchaOptions>,
      ),
    ).default(false),
  } satisfies Described<LoginOptions>,
);

export const passwordAuthOptionDescriptions = group(
  {
    users: either(
      oneOf("kv"),
      either(
        testedValue<UserTable>("a table", isTable),
        usersOptions,
      ),
    ),
    login: loginOptions.default({}),
    signup: either(
      off(),
      group(
        {
          ...gate,
          cost: costOptionDescription.default(1),
          verify: flag().default(true),
          roles: listOf("roles", textLike("a text", /./)).default([]),
        } satisfies Described<SignupOptions>,
      ),
    ).default({}),
    passwordReset: either(
      off(),
      group(
        {
          ...gate,
          cost: costOptionDescription.default(1),
          ttlMs: whole({ from: 60_000 }).default(3_600_000),
        } satisfies Described<PasswordResetOptions>,
      ),
    ).default({}),
    sessions: group(
      {
        idleMs: whole({ from: 1_000 }).default(86_400_000),
        maxMs: whole({ from: 1_000 }).default(30 * 86_400_000),
        cookie: sessionCookieOptionDescriptions.default({}),
      } satisfies Described<SessionOptions>,
    ).default({}),
    passwords: group(
      {
        minLength: whole({ from: 8, to: 64 }).default(15),
        refuse: callback<RefusePassword>(),
        scrypt: scryptCost.default({ N: 2 ** 14, r: 8, p: 5 }),
        hasher: objectWith<PasswordHasher>("an object with hash and verify", "hash", "verify"),
      } satisfies Described<PasswordOptions>,
    ).default({}),
    sendMail: callback<SendMail>(),
    links: group(
      { verify: link.required(), reset: link.required() } satisfies Described<LinkOptions>,
    ),
  } satisfies Described<PasswordAuthOptions>,
).default({});

export type ResolvedPasswordAuthOptions = NonNullable<
  ReturnType<typeof passwordAuthOptionDescriptions.read>
>;

function isTable(given: unknown): boolean {
  return typeof given === "object" && given !== null &&
    (isTableLike(given) || "byName" in given && given.byName instanceof Map);
}
