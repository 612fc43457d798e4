import { Problem } from "../../problem/problem.ts";
import { hashOfToken, makeToken } from "../opaque_token.ts";
import { isOf } from "./account.ts";
import { type AccountCall, type AccountReply, readName, uselessToken } from "./account_call.ts";
import type { AccountService } from "./account_service.ts";
import { beginSession, type LoginFields } from "./log_in.ts";
import { linkWith } from "./mails.ts";
import { newPassword, requireGoodPassword } from "./password_rules.ts";

/** The members of the body of a signup. */
export interface SignupFields extends LoginFields {
  readonly name: string | null;
}

/** A signup whose mail was not answered yet, under the hash of its token. */
interface PendingSignup {
  readonly email: string;
  readonly name: string | null;
  readonly passwordHash: string;
  readonly expiresAt: number;
}

/** Reads the body of a signup. Throws a 422. */
export function readSignup({ fields }: AccountCall, service: AccountService): SignupFields {
  const email = fields.email();
  const password = newPassword(fields, service.rules);
  const name = readName(fields);
  const transport = fields.oneOf("transport", "cookie", "bearer");
  fields.requireValid("sign up");
  return { email, password, name, transport };
}

/**
 * Signs a user up. Where addresses are verified the answer says nothing: the account is added when
 * the link in the mail is followed, with the password of this signup, so that no stranger can prepare
 * an account for the address of another; where there is an account, its user gets a mail about that.
 */
export async function signUp(
  call: AccountCall,
  given: SignupFields,
  service: AccountService,
): Promise<AccountReply> {
  const { passwords, options: { signup }, later } = service;
  const { email, password } = given;
  await requireGoodPassword(call.fields, { password, email, action: "sign up" }, service.rules);
  const passwordHash = await passwords.hash(password, call.identity);
  if (signup === false || !signup.verify) {
    return await addAtOnce(call, { ...given, passwordHash }, service);
  }
  later.run(() => mailSignup({ ...given, passwordHash }, call.identity, service));
  return { status: 202, body: { next: "verify-email" } };
}

/** `POST /verify`: adds the account of a signup, by the token of its mail. */
export async function verifyEmail(
  call: AccountCall,
  token: string,
  service: AccountService,
): Promise<AccountReply> {
  const { accounts, store, options: { signup }, runtime: { clock, observe } } = service;
  const key = pendingKey(token);
  const { value } = await store.get(key);
  if (!isPending(value) || clock.now() >= value.expiresAt) throw uselessToken("verify");
  const { email, name, passwordHash } = value;
  const roles = signup === false ? [] : signup.roles;
  const account = await accounts.add({ email, name, passwordHash, roles });
  // Killed before this, the token would be refused the next time: the address has an account then.
  await store.commit({ mutations: [{ kind: "delete", key }] });
  if (account === null) throw uselessToken("verify");
  const { address } = call;
  observe({ kind: "account_event", event: "signup", user: account.id, address });
  return { status: 200, body: { next: "login" } };
}

async function mailSignup(
  { email, name, passwordHash }: Omit<PendingSignup, "expiresAt">,
  share: string,
  { accounts, store, sendMail, counters, links, runtime: { clock, random } }: AccountService,
): Promise<void> {
  if (await counters.add("signup-mail", email) > maxMailsAnHour) return;
  const user = { email, name };
  const existing = await accounts.findByEmail(email);
  if (existing !== null) {
    const { name } = existing;
    return await sendMail({ kind: "account-exists", user: { email, name }, link: null });
  }
  const token = makeToken("verify_", random);
  const value: PendingSignup = { email, name, passwordHash, expiresAt: clock.now() + dayMs };
  await store.commit({
    mutations: [{ kind: "set", key: pendingKey(token), value, expireInMs: dayMs, share }],
  });
  await sendMail({ kind: "verify-email", user, link: linkWith(links.verify, token) });
}

/** To one address, so that no mailbox can be filled by way of this service. */
export const maxMailsAnHour = 5;

async function addAtOnce(
  call: AccountCall,
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

function isPending(value: unknown): value is PendingSignup {
  return isOf(value, { email: "string", passwordHash: "string", expiresAt: "number" });
}
