import { Problem } from "../../problem/problem.ts";
import { requireOwnPage } from "../sessions/origin_check.ts";
import { type RequestSessionToken, sessionTokenOfRequest } from "../sessions/sessions.ts";
import type { AccountReply, AccountRequest } from "./account_request.ts";
import type { AccountService } from "./account_service.ts";
import { beginSession } from "./log_in.ts";
import { maxPasswordLength, readNewPassword } from "./password_rules.ts";
import { replacePassword } from "./reset_password.ts";

export async function logOut(
  call: AccountRequest,
  _body: null,
  service: AccountService,
): Promise<AccountReply> {
  const carried = writingToken(call, service);
  if (carried !== null) {
    const found = await service.sessions.identify(carried.token);
    await service.sessions.end(carried.token);
    if (found !== null) observeLogout("logout", found.user.id, call, service);
  }
  return { status: 204, body: null, cookie: carried?.isCookie === true ? "clear" : undefined };
}

export async function logOutEverywhere(
  call: AccountRequest,
  _body: null,
  service: AccountService,
): Promise<AccountReply> {
  const { account, carried } = await requireSession(call, service);
  await service.sessions.endAll(account.id);
  await service.sessions.end(carried.token);
  observeLogout("logout-everywhere", account.id, call, service);
  return { status: 204, body: null, cookie: carried.isCookie ? "clear" : undefined };
}

function observeLogout(
  event: "logout" | "logout-everywhere",
  user: string,
  { address }: AccountRequest,
  { runtime: { observe } }: AccountService,
): void {
  observe({ kind: "account_event", event, user, address });
}

export function readPasswordChange({ fields }: AccountRequest, { rules }: AccountService) {
  const currentPassword = fields.text("currentPassword", maxPasswordLength);
  const password = readNewPassword(fields, rules);
  fields.requireValid("change the password");
  return { currentPassword, password };
}

export async function changePassword(
  call: AccountRequest,
  { currentPassword, password }: ReturnType<typeof readPasswordChange>,
  service: AccountService,
): Promise<AccountReply> {
  const { passwords, runtime: { observe } } = service;
  const { account, carried } = await requireSession(call, service);
  const { address } = call;
  if (!await passwords.verify(currentPassword, account.passwordHash, call.identity)) {
    observe({ kind: "account_event", event: "login-failed", user: account.id, address });
    throw new Problem("forbidden", "Cannot change the password: the current one is wrong");
  }
  const action = "change the password";
  const changed = await replacePassword(call, account, { password, action }, service);
  if (changed === null) {
    throw new Problem("conflict", "Cannot change the password: it has just been changed");
  }
  observe({ kind: "account_event", event: "password-changed", user: account.id, address });
  return await beginSession(call, changed, carried.isCookie ? "cookie" : "bearer", service);
}

async function requireSession(call: AccountRequest, service: AccountService) {
  const carried = writingToken(call, service);
  const found = carried === null ? null : await service.sessions.identify(carried.token);
  const account = found === null ? null : await service.accounts.findById(found.user.id);
  if (carried !== null && account !== null) return { account, carried };
  throw new Problem("unauthorized", "This needs a session: log in");
}

function writingToken(
  { request }: AccountRequest,
  { cookie, trustedOrigins }: AccountService,
): RequestSessionToken | null {
  const carried = sessionTokenOfRequest(request, cookie);
  if (carried?.isCookie === true) requireOwnPage(request, trustedOrigins);
  return carried;
}
