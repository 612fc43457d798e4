import type { OperationProtection } from "../guard/operation_protection.ts";
import type { ProblemSlug } from "../protocol/problem_codes.ts";
import {
  type JsonSchema,
  objectSchema,
  type ResponseDescription,
  type RouteDescription,
} from "../protocol/route_description.ts";

export type AccountRouteDescription =
  & Pick<RouteDescription, "id" | "summary" | "body" | "answers">
  & Partial<Pick<RouteDescription, "needsUser">>;

export function describeAccountRoute(
  { needsUser = false, ...description }: AccountRouteDescription,
  protection: OperationProtection | null,
): RouteDescription {
  const { body } = description;
  return {
    ...description,
    tag: "Accounts",
    needsUser,
    problems: [
      ...["invalid-parameter", "unauthorized", "forbidden", "internal-error"] as const,
      ...["overloaded", "database-unavailable", "store-unavailable"] as const,
      ...["identity-unavailable"] as const,
      ...body === undefined ? [] : bodyProblems,
      ...protection === null ? [] : limitProblems,
    ],
  };
}

export function describeLinkPage({ id }: AccountRouteDescription, summary: string) {
  const answers = { 200: { type: "text/html", schema: { type: "string" } } };
  return describeAccountRoute({ id: `${id}Page`, summary, answers }, null);
}

const bodyProblems: readonly ProblemSlug[] = [
  ...["invalid-body", "request-timeout", "conflict", "payload-too-large"] as const,
  ...["unsupported-media-type", "validation-error"] as const,
];
const limitProblems: readonly ProblemSlug[] = [
  ...["proof-of-work-required", "captcha-required", "rate-limit-exceeded"] as const,
  ...["budget-exhausted", "captcha-unavailable"] as const,
];

const text = (maxLength: number): JsonSchema => ({ type: "string", minLength: 1, maxLength });
const email = { type: "string", format: "email", maxLength: 320 };
const password = { type: "string", format: "password", minLength: 1 };
const transport = { type: "string", enum: ["cookie", "bearer"], default: "cookie" };
const user: JsonSchema = { type: "object", properties: { id: { type: "string" } } };
const next = (name: string): ResponseDescription => ({
  schema: objectSchema({ next: { type: "string", enum: [name] } }),
});
const session = (status: number) => ({
  [status]: {
    schema: objectSchema({
      user,
      expiresAt: { type: "string", format: "date-time" },
      "token?": { type: "string" },
    }),
  },
});

export const accountRouteDescriptions = {
  me: {
    id: "getCurrentUser",
    summary: "Who the caller is",
    answers: { 200: { schema: objectSchema({ user: { ...user, nullable: true } }) } },
  },
  login: {
    id: "logIn",
    summary: "Begins a session",
    body: objectSchema({ email, password, "transport?": transport }),
    answers: session(200),
  },
  logout: { id: "logOut", summary: "Ends the session", answers: { 204: null } },
  logoutAll: {
    id: "logOutEverywhere",
    summary: "Ends all sessions of the user",
    answers: { 204: null },
    needsUser: true,
  },
  change: {
    id: "changePassword",
    summary: "Changes the password",
    body: objectSchema({ currentPassword: password, password }),
    answers: session(200),
    needsUser: true,
  },
  signup: {
    id: "signUp",
    summary: "Creates an account",
    body: objectSchema({ email, password, "name?": text(200), "transport?": transport }),
    answers: { ...session(201), 202: next("verify-email") },
  },
  verify: {
    id: "verifyEmail",
    summary: "Confirms an e-mail address",
    body: objectSchema({ token: text(200), "password?": password }),
    answers: { 200: next("login") },
  },
  forgot: {
    id: "forgetPassword",
    summary: "Sends a mail to set a new password",
    body: objectSchema({ email }),
    answers: { 202: next("read-mail") },
  },
  reset: {
    id: "resetPassword",
    summary: "Sets a new password",
    body: objectSchema({ token: text(200), password }),
    answers: { 200: next("login") },
  },
} as const satisfies Readonly<Record<string, AccountRouteDescription>>;
