import { isSameSecret } from "../../protocol/byte_text.ts";
import { hashOfToken, makeToken } from "../opaque_token.ts";
import { type Account, hasMemberTypes, passwordVersionOf } from "./account.ts";
import { type AccountReply, type AccountRequest, invalidTokenProblem } from "./account_request.ts";
import type { AccountService } from "./account_service.ts";
import { linkWithToken } from "./mails.ts";
import { createAccountWithNewPassword } from "./sign_up.ts";
import { readNewPassword, requireGoodPassword } from "./password_rules.ts";
import { countMail } from "../signups/mail_limits.ts";

/** A requested password reset. It is stored under the hash of the token in the e-mail. */
interface PasswordReset {
  readonly userId: string;
  /** The password's version at the time of the request. A new password makes the link invalid. */
  readonly stamp: string;
  readonly expiresAt: number;
}

/** `POST /password/forgot`: responds, and then sends a link if the address has an account. */
export function requestPasswordReset(
  { address, identity }: AccountRequest,
  email: string,
  service: AccountService,
): AccountReply {
  service.later.run(() => mailReset(email, { address, identity }, service));
  return { status: 202, body: { next: "read-mail" } };
}

export function readPasswordReset({ fields }: AccountRequest, { rules }: AccountService) {
  const token = fields.text("token", 200);
  const password = readNewPassword(fields, rules);
  fields.requireValid("reset the password");
  return { token, password };
}

/** `POST /password/reset`. Starts no session, because another person may have read the e-mail. */
export async function resetPassword(
  call: AccountRequest,
  { token, password }: ReturnType<typeof readPasswordReset>,
  service: AccountService,
): Promise<AccountReply> {
  const { store, runtime: { clock, observe } } = service;
  const action = "reset the password";
  const { value } = await store.get(resetKey(token));
  const given = { token, password, action };
  const added = isReset(value) ? null : await createAccountWithNewPassword(call, given, service);
  if (added !== null) return added;
  if (!isReset(value) || clock.now() >= value.expiresAt) throw invalidTokenProblem(action);
  const account = await service.accounts.findById(value.userId);
  if (
    account === null || account.isDisabled || !isSameSecret(passwordVersionOf(account), value.stamp)
  ) {
    throw invalidTokenProblem(action);
  }
  const replaced = await replacePassword(call, account, { password, action }, service);
  // If `replaced` is null, another request has changed the hash since the account was read.
  if (replaced === null) throw invalidTokenProblem(action);
  await store.commit({ mutations: [{ kind: "delete", key: resetKey(token) }] });
  const { address } = call;
  observe({ kind: "account_event", event: "password-reset", user: account.id, address });
  return { status: 200, body: { next: "login" } };
}

export async function replacePassword(
  { fields, identity }: AccountRequest,
  account: Account,
  { password, action }: { readonly password: string; readonly action: string },
  { accounts, passwords, rules, sendMail, later }: AccountService,
): Promise<Account | null> {
  const { email, name } = account;
  await requireGoodPassword(fields, { password, email, action }, rules);
  const passwordHash = await passwords.hash(password, identity);
  if (!await accounts.setPassword(account, passwordHash)) return null;
  later.run(() => sendMail({ kind: "password-changed", user: { email, name }, link: null }));
  return { ...account, passwordHash };
}

async function mailReset(
  email: string,
  { address, identity }: Pick<AccountRequest, "address" | "identity">,
  { accounts, store, options, sendMail, counters, links, runtime }: AccountService,
): Promise<void> {
  if (options.passwordReset === false) return;
  if (!await countMail(counters, "reset-mail", { email, source: identity })) return;
  const account = await accounts.findByEmail(email);
  const user = account?.id ?? null;
  runtime.observe({ kind: "account_event", event: "password-forgotten", user, address });
  if (account === null || account.isDisabled) return;
  const { ttlMs } = options.passwordReset;
  const token = makeToken("reset_", runtime.random);
  const value: PasswordReset = {
    userId: account.id,
    stamp: passwordVersionOf(account),
    expiresAt: runtime.clock.now() + ttlMs,
  };
  await store.commit({
    mutations: [{ kind: "set", key: resetKey(token), value, expireInMs: ttlMs, share: identity }],
  });
  const { name } = account;
  await sendMail({
    kind: "reset-password",
    user: { email, name },
    link: linkWithToken(links.reset, token),
  });
}

function resetKey(token: string): readonly string[] {
  return ["password-reset", hashOfToken(token)];
}

function isReset(value: unknown): value is PasswordReset {
  return hasMemberTypes(value, { userId: "string", stamp: "string", expiresAt: "number" });
}
