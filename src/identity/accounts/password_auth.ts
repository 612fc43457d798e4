import type { Authenticator, AuthenticatorDefinition } from "../../auth/authenticator.ts";
import type { AppStore } from "../../kv/open_key_value_store.ts";
import type { AuthenticatorDependencies } from "../authenticator_dependencies.ts";
import { SessionCookie } from "../sessions/session_cookie.ts";
import { beginSessionEpoch, createSessionAuth, Sessions } from "../sessions/sessions.ts";
import { resolveAccountProtections } from "./account_protections.ts";
import { createAccountRoutes } from "./account_routes.ts";
import type { AccountService } from "./account_service.ts";
import { BackgroundTasks } from "./background_tasks.ts";
import { createLoginRisk, HourlyCounters, LoginLimiter } from "./login_limiter.ts";
import { createMails } from "./mails.ts";
import { openAccounts } from "./open_accounts.ts";
import {
  passwordAuthOptionRules,
  type PasswordAuthOptions,
  type ResolvedPasswordAuthOptions,
} from "./password_auth_options.ts";
import { ServiceAccounts } from "./service_accounts.ts";
import { createPasswords } from "./passwords.ts";

/**
 * Returns the authenticator for accounts with passwords. Below `{basePath}/auth`, it serves signup,
 * login, logout, password resets and changes. Clients send sessions as a cookie or a bearer token.
 *
 * @throws {Error} If an option is invalid. The message names the option.
 * @example
 * ```ts
 * import { createApp, eq, integer, openDatabase, resource, table, text } from "@svc/resource-api";
 * import { passwordAuth } from "@svc/resource-api/auth";
 *
 * const notes = table("notes", { id: integer().primaryKey(), ownerId: text().notNull() });
 * const db = await openDatabase("sqlite::memory:");
 * await db.createTables([notes]);
 * const app = await createApp({
 *   db,
 *   kv: ":memory:",
 *   secret: "sixteen or more characters",
 *   auth: { use: [passwordAuth()] },
 *   resources: [
 *     resource(notes, { id: notes.id, auth: { read: (user) => eq(notes.ownerId, user.id) } }),
 *   ],
 * });
 * const me = await app.fetch(new Request("http://localhost/api/auth/me"));
 * console.log(await me.json()); // { user: null }
 * await app.close();
 * ```
 */
export function passwordAuth(options: PasswordAuthOptions = {}): AuthenticatorDefinition {
  const place = { subject: "Cannot start", path: "passwordAuth" };
  const resolved = passwordAuthOptionRules.read(options, place);
  const definition: PasswordAuthDefinition = {
    name: "passwordAuth",
    open: (parts: AuthenticatorDependencies) => open(resolved, options, parts),
    openAdministration: (parts) => openAdministration(resolved, options, parts),
  };
  return definition;
}

export interface PasswordAuthDefinition extends AuthenticatorDefinition {
  openAdministration(parts: AccountAdministrationDependencies): Promise<AccountAdministration>;
}

export interface AccountAdministrationDependencies
  extends Pick<AuthenticatorDependencies, "db" | "runtime"> {
  readonly store: Pick<AppStore, "need" | "configured">;
}

export interface AccountAdministration
  extends Pick<AccountService, "accounts" | "passwords" | "rules"> {
  /** Ends all sessions of a user. A running service may still accept them for a short time. */
  endSessions(userId: string): Promise<void>;
}

async function openAdministration(
  { passwords }: ResolvedPasswordAuthOptions,
  { users }: PasswordAuthOptions,
  parts: AccountAdministrationDependencies,
): Promise<AccountAdministration> {
  const { store: { configured }, runtime } = parts;
  return {
    accounts: await openAccounts(users, false, parts),
    passwords: createPasswords(passwords.hasher ?? passwords.scrypt, runtime),
    rules: passwords,
    async endSessions(userId) {
      // The new epoch, which ends all sessions, never expires: the lifetime of sessions is unknown.
      if (configured !== null) await beginSessionEpoch(configured, userId, runtime);
    },
  };
}

async function open(
  options: ResolvedPasswordAuthOptions,
  { users }: PasswordAuthOptions,
  parts: AuthenticatorDependencies,
): Promise<Authenticator & { readonly administration: ServiceAccounts }> {
  const { guard, trustedProxies, basePath } = parts;
  const protections = resolveAccountProtections(options, guard);
  const service = await openService(options, users, parts);
  const { sessions, cookie, trustedOrigins, later } = service;
  return {
    name: "passwordAuth",
    securitySchemes: {
      sessionCookie: { type: "apiKey", in: "cookie", name: "session" },
      sessionToken: { type: "http", scheme: "bearer" },
    },
    identify: createSessionAuth(sessions, cookie, trustedOrigins),
    routes: createAccountRoutes({ service, protections, guard, trustedProxies, basePath }),
    close: () => later.finish(),
    administration: new ServiceAccounts(service),
  };
}

async function openService(
  options: ResolvedPasswordAuthOptions,
  users: PasswordAuthOptions["users"],
  parts: AuthenticatorDependencies,
): Promise<AccountService> {
  const { runtime, recheckMs, trustedOrigins } = parts;
  const { sessions: { idleMs, maxMs, cookie }, passwords, login: { captcha }, sendMail } = options;
  const links = linksOf(options, parts);
  const store = parts.store.need("sessions");
  const accounts = await openAccounts(users, options.signup, parts);
  const counters = new HourlyCounters(store, runtime);
  const findAccount = (id: string) => accounts.findById(id);
  const required = typeof captcha === "object" ? captcha.required : undefined;
  return {
    options,
    accounts,
    sessions: new Sessions({ store, findAccount, idleMs, maxMs, recheckMs, runtime }),
    cookie: new SessionCookie(cookie),
    passwords: createPasswords(passwords.hasher ?? passwords.scrypt, runtime),
    rules: passwords,
    risk: createLoginRisk(required, counters, runtime),
    counters,
    turns: new LoginLimiter(),
    sendMail: createMails(sendMail, runtime),
    links,
    later: new BackgroundTasks(runtime.observe),
    store,
    trustedOrigins,
    runtime,
  };
}

/** Returns the URLs that e-mails link to. Ignores `Host`, which an attacker could forge. */
function linksOf(
  { signup, passwordReset, sendMail, links }: ResolvedPasswordAuthOptions,
  { isProduction, path }: AuthenticatorDependencies,
): AccountService["links"] {
  const sendsLinks = signup !== false && signup.verify || passwordReset !== false;
  if (sendsLinks && isProduction && sendMail === undefined) {
    throw new Error(
      "Cannot start in production: passwordAuth.sendMail is missing, by which signups and resets " +
        "send their links (or set signup: false and passwordReset: false)",
    );
  }
  if (typeof links === "object") return links;
  if (links === undefined && sendsLinks && sendMail !== undefined) {
    throw new Error(
      "Cannot start: passwordAuth.links is missing: give it the public URL of the service, as in " +
        '"https://example.com", or the URLs of the pages that mails link to',
    );
  }
  // Without the option `links`, the printed links are only paths.
  const own = `${links?.replace(/\/$/, "") ?? ""}${path}`;
  return { verify: `${own}/verify`, reset: `${own}/password/reset` };
}
