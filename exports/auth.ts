/**
 * Authentication: authenticators for JSON Web Tokens, API keys and accounts with a password, and
 * the interface for custom authenticators.
 *
 * @module
 */
export type {
  Authenticator,
  AuthenticatorDefinition,
  Identification,
  Router,
  SecurityScheme,
} from "../src/auth/authenticator.ts";
export type { ActAsIdentity, ByDatabaseOptions } from "../src/auth/act_as.ts";
export type { Policy, PolicyOptions } from "../src/auth/policy.ts";
export { passwordAuth } from "../src/identity/accounts/password_auth.ts";
export { type NewUserRow, type UserRow, usersTable } from "../src/identity/accounts/users_table.ts";
export type {
  AccountGateOptions,
  CaptchaRequired,
  LinkOptions,
  LinkPageOptions,
  LoginCaptchaOptions,
  LoginFacts,
  LoginOptions,
  PasswordAuthOptions,
  PasswordOptions,
  PasswordResetOptions,
  RefusePassword,
  SessionOptions,
  SignupOptions,
  UserColumn,
  UserColumnOptions,
  UsersOptions,
  UserTable,
} from "../src/identity/accounts/password_auth_options.ts";
export type { Mail, MailKind, SendMail } from "../src/identity/accounts/mails.ts";
export type { PasswordHasher, ScryptCost } from "../src/identity/accounts/passwords.ts";
export type { SessionCookieOptions } from "../src/identity/sessions/session_cookie.ts";
export { jwtAuth } from "../src/identity/jwt/jwt_auth.ts";
export type {
  Claims,
  JwtAlgorithm,
  JwtAuthOptions,
  PublicKey,
  UserOfClaims,
} from "../src/identity/jwt/jwt_auth_options.ts";
export {
  type ApiKey,
  apiKeyAuth,
  type ApiKeyAuthOptions,
  ApiKeys,
  type NewApiKey,
  type UserOfKey,
} from "../src/identity/keys/api_keys.ts";
export type { AccountPowOptions } from "../src/guard/operation_protection.ts";
