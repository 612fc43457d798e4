import { instantOf } from "../../schema/instant.ts";
import { Problem } from "../../problem/problem.ts";
import { sessionTokenOfRequest } from "../sessions/sessions.ts";
import { type Account, userForResponse, userOfAccount } from "./account.ts";
import type { AccountReply, AccountRequest } from "./account_request.ts";
import type { AccountService } from "./account_service.ts";
import { maxPasswordLength } from "./password_rules.ts";

export type LoginFields = ReturnType<typeof readLogin>;

export function readLogin({ fields }: AccountRequest) {
  const email = fields.email();
  const password = fields.text("password", maxPasswordLength);
  const transport = fields.oneOf("transport", "cookie", "bearer");
  fields.requireValid("log in");
  return { email, password, transport };
}

/** Logs in, and ends the request's old session. Failures return the same 401 after equal time. */
export async function logIn(
  call: AccountRequest,
  { email, password, transport }: LoginFields,
  service: AccountService,
): Promise<AccountReply> {
  const { risk, runtime: { observe } } = service;
  const { address } = call;
  const account = await service.accounts.findByEmail(email);
  const current = await verified(call, account, password, service);
  if (current === null) {
    await risk?.failed({ email, address });
    observe({ kind: "account_event", event: "login-failed", user: account?.id ?? null, address });
    throw new Problem("unauthorized", "Cannot log in: wrong e-mail address or password");
  }
  observe({ kind: "account_event", event: "login", user: current.id, address });
  return await beginSession(call, current, transport, service);
}

export async function beginSession(
  { request }: AccountRequest,
  account: Account,
  transport: LoginFields["transport"],
  { sessions, cookie }: AccountService,
): Promise<AccountReply> {
  const carried = sessionTokenOfRequest(request, cookie);
  if (carried !== null) await sessions.end(carried.token);
  const session = await sessions.begin(account);
  const body = {
    user: userForResponse(userOfAccount(account)),
    expiresAt: instantOf(session.endsAt),
  };
  return transport === "cookie"
    ? { status: 200, body, cookie: session, isFree: true }
    : { status: 200, body: { ...body, token: session.token }, isFree: true };
}

/** Returns the account if the password is right, or else null. Both results take the same time. */
async function verified(
  { identity }: AccountRequest,
  account: Account | null,
  password: string,
  { accounts, passwords }: AccountService,
): Promise<Account | null> {
  const isRight = await passwords.verify(password, account?.passwordHash ?? null, identity);
  if (account === null || !isRight || account.isDisabled) return null;
  if (!passwords.isOutdated(account.passwordHash)) return account;
  // A hash can be renewed only at a login, because only then is the password known.
  const passwordHash = await passwords.hash(password, identity);
  if (await accounts.setPassword(account, passwordHash)) return { ...account, passwordHash };
  // Another login has renewed the hash, or the password was changed: checks the password again.
  const current = await accounts.findById(account.id);
  const isStillRight = await passwords.verify(password, current?.passwordHash ?? null, identity);
  return isStillRight && current?.isDisabled === false ? current : null;
}
