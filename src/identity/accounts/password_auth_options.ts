import { databaseOption } from "../../db/require_database.ts";
import { headerText } from "../../guard/captcha/captcha_options.ts";
import { accountPowOption, type AccountPowOptions } from "../../guard/account_protection.ts";
import { costOption } from "../../guard/resource_protection_options.ts";
import { type Described, either, group, listOf } from "../../options/option.ts";
import {
  callback,
  flag,
  having,
  oneOf,
  other,
  textLike,
  whole,
} from "../../options/option_kinds.ts";
import { type ColumnLike, isColumn, isTableLike, type TableLike } from "../../schema/table_like.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { type SessionCookieOptions, sessionCookieOptions } from "../sessions/session_cookie.ts";
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
  /**
   * The cost and the requirements of a signup. With `false`, only the operator can add accounts.
   */
  readonly signup?: false | SignupOptions | undefined;
  /** The cost and the requirements of resetting a forgotten password, or `false` to disable it. */
  readonly passwordReset?: false | PasswordResetOptions | undefined;
  /** How long sessions last, and their cookie. */
  readonly sessions?: SessionOptions | undefined;
  /** Which passwords are accepted, and how they are stored. */
  readonly passwords?: PasswordOptions | undefined;
  /** Sends a mail. In development, links are printed if this option is not set. */
  readonly sendMail?: SendMail | undefined;
  /** The pages that the links of mails lead to. Required with `sendMail`. */
  readonly links?: LinkOptions | undefined;
}

/** A table of users: declared, or as introspection describes it. */
export type UserTable = TableLike<unknown, unknown> | TableInfo;

/** The options for accounts in a table of the deployer's. */
export interface UsersOptions {
  /** The table. */
  readonly table: UserTable;
  /** The database of the table. Default: the app's database. */
  readonly db?: Database | undefined;
  /** The columns, if their names differ from those of {@link usersTable}. */
  readonly columns?: UserColumnOptions | undefined;
}

/** A column of a table of users, or its name as a property. */
export type UserColumn = string | ColumnLike<unknown>;

/** The options that name the columns of a table of users. */
export interface UserColumnOptions {
  /** The column of the e-mail address, in one form and in lower case. Default: `email`. */
  readonly email?: UserColumn | undefined;
  /** The column of the hash of the password. Default: `passwordHash`. */
  readonly passwordHash?: UserColumn | undefined;
  /** The column of the name. Default: `name`, if the table has it, and similarly below. */
  readonly name?: UserColumn | undefined;
  /** The column of roles: a list of strings as a document, or one role. Default: `roles`. */
  readonly roles?: UserColumn | undefined;
  /** The column for disabled accounts, a boolean. Default: `disabled`. */
  readonly disabled?: UserColumn | undefined;
  /** The column of the time of creation, a timestamp. Default: `createdAt`. */
  readonly createdAt?: UserColumn | undefined;
}

/** The options of a gate of accounts: the challenges that it always requires. */
export interface AccountGateOptions {
  /** Always demands proof of work. Off unless set. */
  readonly pow?: boolean | AccountPowOptions | undefined;
  /** Always requires a CAPTCHA, solved for `action` if it is set. Default: false. */
  readonly captcha?: boolean | { readonly action?: string | undefined } | undefined;
}

/** The options of logins. */
export interface LoginOptions extends Pick<AccountGateOptions, "pow"> {
  /** Tokens of the budget of the address. */
  readonly cost?: {
    /** The tokens of a failed login. Default: 1. A successful login costs nothing. */
    readonly failed?: number | undefined;
  } | undefined;
  /** Requires a CAPTCHA: always, or if `required` returns true. Default: false. */
  readonly captcha?: boolean | LoginCaptchaOptions | undefined;
}

/** The options of a CAPTCHA that logins demand. */
export interface LoginCaptchaOptions {
  /** The action that the CAPTCHA must have been solved for. */
  readonly action?: string | undefined;
  /** True if this login needs a CAPTCHA, by the known facts. Default: always. */
  readonly required?: CaptchaRequired | undefined;
}

/** Decides if a login needs a CAPTCHA. If the function fails, the login needs one. */
export type CaptchaRequired = (
  request: Request,
  facts: LoginFacts,
) => boolean | Promise<boolean>;

/** The number of failed logins within about an hour. */
export interface LoginFacts {
  /** The number of failures of this account, whether the account exists or not. */
  readonly account: number;
  /** The number of failures from this address. An IPv6 address counts by its /64. */
  readonly address: number;
  /** The number of failures from its network: the /24 of IPv4, or the /48 of IPv6. */
  readonly network: number;
}

/** The options of signups. */
export interface SignupOptions extends AccountGateOptions {
  /** The tokens of the budget of the address. Default: 1. */
  readonly cost?: number | undefined;
  /**
   * True to create an account only after the link in a mail was followed. Default: true. If false,
   * a signup reveals if an address has an account.
   */
  readonly verify?: boolean | undefined;
  /** The roles of a new account. Default: the default of the column, or none. */
  readonly roles?: readonly string[] | undefined;
}

/** The options of resets of forgotten passwords. */
export interface PasswordResetOptions extends AccountGateOptions {
  /** The tokens of the budget of the address. Default: 1. */
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
  /** The cookie. */
  readonly cookie?: SessionCookieOptions | undefined;
}

/** The options of passwords. */
export interface PasswordOptions {
  /** The minimum length of a new password. Default: 15 (NIST SP 800-63B, 3.1.1.2). */
  readonly minLength?: number | undefined;
  /** Returns why a new password is rejected, for example as a leaked one. Default: none. */
  readonly refuse?: RefusePassword | undefined;
  /** The cost of scrypt: N 16,384, r 8 and p 5 unless set (OWASP). */
  readonly scrypt?: ScryptCost | undefined;
  /** Hashes and verifies in place of scrypt. */
  readonly hasher?: PasswordHasher | undefined;
}

/** Says why a new password is refused. */
export type RefusePassword = (
  password: string,
  email: string,
) => string | null | Promise<string | null>;

/** The options of the links in mails: each is the URL of a page of yours, which posts the token. */
export interface LinkOptions {
  /** Posts `{ token }` to `/auth/verify`. */
  readonly verify: string;
  /** Posts `{ token, password }` to `/auth/password/reset`. */
  readonly reset: string;
}

const gate = {
  pow: accountPowOption,
  captcha: either(flag(), group({ action: headerText })).default(false),
} satisfies Described<AccountGateOptions>;

const column = other<UserColumn>(
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
    table: other<UserTable>("a table", isTable).required(),
    db: databaseOption(),
    columns: group(userColumns),
  } satisfies Described<UsersOptions>,
);

const link = textLike('a URL like "https://example.com/reset"', /^https?:\/\/[^\s#]+$/);

const scryptCost = group(
  {
    N: other<number>(
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
    cost: group({ failed: costOption.default(1) }).default({}),
    pow: gate.pow,
    captcha: either(
      flag(),
      group(
        {
          action: headerText,
          required: callback<CaptchaRequired>(),
        } satisfies Described<LoginCaptchaOptions>,
      ),
    ).default(false),
  } satisfies Described<LoginOptions>,
);

/** The options of accounts with a password, described. */
export const passwordAuthOptions = group(
  {
    users: either(
      oneOf("kv"),
      either(
        other<UserTable>("a table", isTable),
        usersOptions,
      ),
    ),
    login: loginOptions.default({}),
    signup: either(
      off(),
      group(
        {
          ...gate,
          cost: costOption.default(1),
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
          cost: costOption.default(1),
          ttlMs: whole({ from: 60_000 }).default(3_600_000),
        } satisfies Described<PasswordResetOptions>,
      ),
    ).default({}),
    sessions: group(
      {
        idleMs: whole({ from: 1_000 }).default(86_400_000),
        maxMs: whole({ from: 1_000 }).default(30 * 86_400_000),
        cookie: sessionCookieOptions.default({}),
      } satisfies Described<SessionOptions>,
    ).default({}),
    passwords: group(
      {
        minLength: whole({ from: 8, to: 64 }).default(15),
        refuse: callback<RefusePassword>(),
        scrypt: scryptCost.default({ N: 2 ** 14, r: 8, p: 5 }),
        hasher: having<PasswordHasher>("an object with hash and verify", "hash", "verify"),
      } satisfies Described<PasswordOptions>,
    ).default({}),
    sendMail: callback<SendMail>(),
    links: group(
      { verify: link.required(), reset: link.required() } satisfies Described<LinkOptions>,
    ),
  } satisfies Described<PasswordAuthOptions>,
).default({});

/** The options of accounts with a password, with every default. */
export type ResolvedPasswordAuthOptions = NonNullable<
  ReturnType<typeof passwordAuthOptions.read>
>;

/** The options of logins with their defaults. */
export type ResolvedLoginOptions = ResolvedPasswordAuthOptions["login"];

function isTable(given: unknown): boolean {
  return typeof given === "object" && given !== null &&
    (isTableLike(given) || "byName" in given && given.byName instanceof Map);
}

/** Reads only `false`, for an option that is on by default. */
function off() {
  return other<false>("false", (given) => given === false);
}
