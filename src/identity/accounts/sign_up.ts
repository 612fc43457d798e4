import { Problem } from "../../problem/problem.ts";
import { hashOfToken, makeToken } from "../opaque_token.ts";
import { type Account, hasMemberTypes } from "./account.ts";
import {
  type AccountReply,
  type AccountRequest,
  invalidTokenProblem,
  readName,
} from "./account_request.ts";
import type { AccountService } from "./account_service.ts";
import { beginSession } from "./log_in.ts";
import { linkWithToken } from "./mails.ts";
import { countMail } from "../signups/mail_limits.ts";
import { maxPasswordLength, readNewPassword, requireGoodPassword } from "./password_rules.ts";
import { normalizeEmail } from "../signups/normalize_email.ts";
import { readSignupCookie } from "../signups/signup_cookie.ts";

export type SignupFields = ReturnType<typeof readSignup>;

/** A signup whose account does not exist yet. It is stored under the hash of a random token. */
interface PendingSignup extends Pick<Account, "email" | "name" | "passwordHash"> {
  readonly expiresAt: number;
}

export function readSignup({ fields }: AccountRequest, service: AccountService) {
  const email = fields.email(normalizeEmail);
  const password = readNewPassword(fields, service.rules);
  const name = readName(fields);
  const transport = fields.oneOf("transport", "cookie", "bearer");
  fields.requireValid("sign up");
  return { email, password, name, transport };
}

/**
 * Signs a user up. With `signup.verify`, the response does not reveal if the address already has an
 * account, because the service sends an e-mail in both cases. A new address receives a link, which
 * creates the account only in the browser of this signup, or with the password of this signup.
 * Otherwise a stranger could sign up with a user's address, wait until the user opens the link, and
 * then know the password of the user's account.
 */
export async function signUp(
  call: AccountRequest,
  given: SignupFields,
  service: AccountService,
): Promise<AccountReply> {
  const { passwords, options: { signup }, later, runtime: { random } } = service;
  const { email, password } = given;
  await requireGoodPassword(call.fields, { password, email, action: "sign up" }, service.rules);
  const passwordHash = await passwords.hash(password, call.identity);
  if (signup === false || !signup.verify) {
    return await addAtOnce(call, { ...given, passwordHash }, service);
  }
  const browser = makeToken("signup_", random);
  later.run(() =>
    mailSignup({ ...given, passwordHash }, { browser, share: call.identity }, service)
  );
  return { status: 202, body: { next: "verify-email" }, signupCookie: browser };
}

export function readVerifyEmail({ fields }: AccountRequest) {
  const token = fields.text("token", 200);
  const password = fields.optionalText("password", maxPasswordLength);
  fields.requireValid("verify");
  return { token, password };
}

/** `POST /verify` needs the signup's password or cookie: the token proves only the address. */
export async function verifyEmail(
  call: AccountRequest,
  { token, password }: ReturnType<typeof readVerifyEmail>,
  service: AccountService,
): Promise<AccountReply> {
  const { passwords, cookie } = service;
  const key = pendingKey(token);
  const mailed = await readPending(key, service);
  if (mailed === null) throw invalidTokenProblem("verify");
  const browser = readSignupCookie(call.request, cookie.isSecureFor(call.request));
  const own = browser === null ? null : await readPending(browserKey(browser), service);
  let proven = own?.email === mailed.email ? own : null;
  if (password !== null) {
    const isRight = await passwords.verify(password, mailed.passwordHash, call.identity);
    proven = isRight ? mailed : null;
  }
  if (proven === null) throw unprovenSignup(password === null);
  return await addProven(call, { key, proven, action: "verify" }, service);
}

/** Ignores a signup's name and password, which may be a stranger's. Null without such a signup. */
export async function createAccountWithNewPassword(
  call: AccountRequest,
  { token, password, action }: {
    readonly token: string;
    readonly password: string;
    readonly action: string;
  },
  service: AccountService,
): Promise<AccountReply | null> {
  const { passwords, rules, options: { signup } } = service;
  const key = pendingKey(token);
  const mailed = signup === false ? null : await readPending(key, service);
  if (mailed === null) return null;
  const { email } = mailed;
  await requireGoodPassword(call.fields, { password, email, action }, rules);
  const passwordHash = await passwords.hash(password, call.identity);
  return await addProven(
    call,
    { key, proven: { email, name: null, passwordHash }, action },
    service,
  );
}

async function addProven(
  { address }: AccountRequest,
  { key, proven, action }: {
    readonly key: readonly string[];
    readonly proven: Pick<PendingSignup, "email" | "name" | "passwordHash">;
    readonly action: string;
  },
  { accounts, store, options: { signup }, runtime: { observe } }: AccountService,
): Promise<AccountReply> {
  const { email, name, passwordHash } = proven;
  const roles = signup === false ? [] : signup.roles;
  const account = await accounts.add({ email, name, passwordHash, roles });
  // If the process ends before this delete, the token remains, but cannot create a second account.
  await store.commit({ mutations: [{ kind: "delete", key }] });
  if (account === null) throw invalidTokenProblem(action);
  observe({ kind: "account_event", event: "signup", user: account.id, address });
  return { status: 200, body: { next: "login" }, signupCookie: "" };
}

function unprovenSignup(isMissing: boolean): Problem {
  const message = isMissing
    ? "is needed: this is not the browser that has signed up"
    : "is not the password of this signup: try again, or choose another password";
  return new Problem("validation-error", `Cannot verify: "password" ${message}`, {
    details: { errors: [{ path: "password", message }] },
  });
}

async function readPending(
  key: readonly string[],
  { store, runtime: { clock } }: AccountService,
): Promise<PendingSignup | null> {
  const { value } = await store.get(key);
  return isPending(value) && clock.now() < value.expiresAt ? value : null;
}

async function mailSignup(
  { email, name, passwordHash }: Omit<PendingSignup, "expiresAt">,
  { browser, share }: { readonly browser: string; readonly share: string },
  { accounts, store, sendMail, counters, links, runtime: { clock, random } }: AccountService,
): Promise<void> {
  const user = { email, name };
  const value: PendingSignup = { email, name, passwordHash, expiresAt: clock.now() + dayMs };
  const setting = (key: readonly string[]) =>
    ({ kind: "set", key, value, expireInMs: dayMs, share }) as const;
  // Stores the cookie even if no e-mail follows, because links of earlier e-mails accept it.
  await store.commit({ mutations: [setting(browserKey(browser))] });
  if (!await countMail(counters, "signup-mail", { email, source: share })) return;
  const existing = await accounts.findByEmail(email);
  if (existing !== null) {
    const { name } = existing;
    return await sendMail({ kind: "account-exists", user: { email, name }, link: null });
  }
  const token = makeToken("verify_", random);
  await store.commit({ mutations: [setting(pendingKey(token))] });
  await sendMail({ kind: "verify-email", user, link: linkWithToken(links.verify, token) });
}

async function addAtOnce(
  call: AccountRequest,
  { email, name, passwordHash, transport }: SignupFields & { readonly passwordHash: string },
  service: AccountService,
): Promise<AccountReply> {
  const { accounts, options: { signup }, runtime: { observe } } = service;
  const roles = signup === false ? [] : signup.roles;
  const account = await accounts.add({ email, name, passwordHash, roles });
  if (account === null) {
    throw new Problem("conflict", "Cannot sign up: this e-mail address has an account");
  }
  const { address } = call;
  observe({ kind: "account_event", event: "signup", user: account.id, address });
  const reply = await beginSession(call, account, transport, service);
  return { ...reply, status: 201, isFree: false };
}

const dayMs = 86_400_000;

function pendingKey(token: string): readonly string[] {
  return ["signup", hashOfToken(token)];
}

function browserKey(token: string): readonly string[] {
  return ["signup-browser", hashOfToken(token)];
}

function isPending(value: unknown): value is PendingSignup {
  return hasMemberTypes(value, { email: "string", passwordHash: "string", expiresAt: "number" });
}
