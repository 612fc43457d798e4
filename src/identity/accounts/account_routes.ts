import { type Context, Hono } from "@hono/hono";
import type { User } from "../../auth/authorize.ts";
import type { Admission } from "../../guard/admission.ts";
import { addressGroup, clientAddress } from "../../guard/client_address.ts";
import type { AuthenticatorDependencies } from "../authenticator_dependencies.ts";
import type { GuardedRequest, OperationProtection } from "../../guard/operation_protection.ts";
import { Problem } from "../../problem/problem.ts";
import { withRouteDescription } from "../../protocol/route_description.ts";
import { jsonContentType } from "../../protocol/reply.ts";
import { safeNumbersType } from "../../resource/http/json_reply.ts";
import { asksForSafeNumbers } from "../../schema/safe_numbers.ts";
import { parseBody, requireJson } from "../../resource/http/request_body.ts";
import { methodProblem } from "../../resource/routes/route_table.ts";
import { parseRequestTarget } from "../../resource/http/request_target.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { isFromOwnPage } from "../../protocol/own_page.ts";
import { userForResponse } from "./account.ts";
import { AccountFields, type AccountReply, type AccountRequest } from "./account_request.ts";
import {
  type AccountRouteDescription,
  accountRouteDescriptions,
  describeAccountRoute,
  describeLinkPage,
} from "../account_route_descriptions.ts";
import type { AccountProtections } from "./account_protections.ts";
import type { AccountService } from "./account_service.ts";
import { createLinkPage, type LinkPageContent } from "./link_page.ts";
import { logIn, readLogin } from "./log_in.ts";
import { readPasswordReset, requestPasswordReset, resetPassword } from "./reset_password.ts";
import { readSignup, readVerifyEmail, signUp, verifyEmail } from "./sign_up.ts";
import { sessionTokenOfRequest } from "../sessions/sessions.ts";
import { setSignupCookie } from "../signups/signup_cookie.ts";
import { changePassword, logOut, logOutEverywhere, readPasswordChange } from "./use_session.ts";

export interface AccountRoutesOptions
  extends Pick<AuthenticatorDependencies, "guard" | "trustedProxies" | "basePath"> {
  readonly service: AccountService;
  readonly protections: AccountProtections;
}

interface AccountRoute<Input> {
  readonly path: string;
  readonly description: AccountRouteDescription;
  readonly page?: LinkPageContent;
  readonly limits?: OperationProtection | null;
  readonly isRefunded?: boolean;
  read(call: AccountRequest, service: AccountService): Input;
  protection?(input: Input, call: AccountRequest): Promise<OperationProtection>;
  run(call: AccountRequest, input: Input, service: AccountService): MaybePromise<AccountReply>;
}

interface RouteEnv {
  readonly Variables: { user: User | null | undefined };
}

export function createAccountRoutes(options: AccountRoutesOptions): Hono<RouteEnv> {
  const { service, protections, basePath } = options;
  const hono = new Hono<RouteEnv>();
  const add = <Input>(route: AccountRoute<Input>) => {
    const description = describeAccountRoute(route.description, route.limits ?? null);
    const handler = (context: Context<RouteEnv>) => answer(context, route, options);
    hono.post(route.path, withRouteDescription(description, handler));
    const { page } = route;
    if (page !== undefined) {
      const show = createLinkPage(`${basePath}/auth${route.path}`, page, service.options.pages);
      const described = describeLinkPage(description, page.heading);
      const showPage = ({ req: { raw } }: Context<RouteEnv>) => show(raw);
      hono.get(route.path, withRouteDescription(described, showPage));
    }
    hono.all(route.path, ({ req: { method } }) => {
      throw methodProblem(method, page === undefined ? ["POST"] : ["GET", "POST"]);
    });
  };
  const me = describeAccountRoute(accountRouteDescriptions.me, null);
  hono.get(
    "/me",
    withRouteDescription(me, async (context: Context<RouteEnv>) => {
      const user = context.get("user") ?? null;
      const carried = sessionTokenOfRequest(context.req.raw, service.cookie);
      // If the store is down, this call throws, because `user: null` would mean a logged-out user.
      if (user === null && carried !== null) await service.sessions.identify(carried.token);
      const headers = new Headers({ "cache-control": "no-store", "vary": variesByUser });
      const body = { user: user === null ? null : userForResponse(user) };
      return jsonResponse({ status: 200, body }, context.req.raw, headers);
    }),
  );
  add({
    path: "/login",
    description: accountRouteDescriptions.login,
    limits: protections.risky ?? protections.login,
    read: readLogin,
    protection: async ({ email }, { request, address }) =>
      protections.risky !== null && await service.risk?.needsCaptcha(request, { email, address })
        ? protections.risky
        : protections.login,
    isRefunded: true,
    run: logIn,
  });
  addSessionRoutes(add, options);
  addMailRoutes(add, options);
  return hono;
}

type AddRoute = <Input>(route: AccountRoute<Input>) => void;

function addSessionRoutes(add: AddRoute, { protections }: AccountRoutesOptions): void {
  const read = () => null;
  const { logout, logoutAll, change } = accountRouteDescriptions;
  add({ read, path: "/logout", description: logout, run: logOut });
  add({ read, path: "/logout/all", description: logoutAll, run: logOutEverywhere });
  add({
    path: "/password/change",
    description: change,
    read: readPasswordChange,
    // Clients could guess passwords here as well as at the login, so both have the same limits.
    limits: protections.login,
    isRefunded: true,
    run: changePassword,
  });
}

function addMailRoutes(add: AddRoute, { service, protections }: AccountRoutesOptions): void {
  const { signup, passwordReset } = service.options;
  const { signup: description, verify, forgot, reset } = accountRouteDescriptions;
  if (signup !== false) {
    const limits = protections.signup;
    add({ path: "/signup", description, limits, read: readSignup, run: signUp });
  }
  if (signup !== false && signup.verify) {
    const other = passwordReset === false ? undefined : "password/reset";
    add({
      path: "/verify",
      description: verify,
      page: { heading: "Confirm your e-mail address", password: "current-password", other },
      read: readVerifyEmail,
      run: verifyEmail,
    });
  }
  if (passwordReset === false) return;
  const limits = protections.reset;
  add({
    path: "/password/forgot",
    description: forgot,
    limits,
    read: readEmail,
    run: requestPasswordReset,
  });
  add({
    path: "/password/reset",
    description: reset,
    page: { heading: "Choose a new password", password: "new-password" },
    limits,
    read: readPasswordReset,
    run: resetPassword,
  });
}

function readEmail({ fields }: AccountRequest): string {
  const email = fields.email();
  fields.requireValid("send a mail");
  return email;
}

const maxFields = 100;

async function answer<Input>(
  context: Context<RouteEnv>,
  route: AccountRoute<Input>,
  options: AccountRoutesOptions,
): Promise<Response> {
  const { service, guard } = options;
  const { raw: request } = context.req;
  requireNoOtherPage(request, service.trustedOrigins);
  const takesBody = route.description.body !== undefined;
  if (takesBody) requireJson((name) => request.headers.get(name));
  const body = takesBody ? new Uint8Array(await context.req.arrayBuffer()) : empty;
  const call = callOf(context, body, options);
  const input = route.read(call, service);
  const protection = await route.protection?.(input, call) ?? route.limits ?? null;
  if (protection === null) return respond(await route.run(call, input, service), request, service);
  let admission = guard.accountAdmission(protection, guarded(call, body));
  const run = (hold: () => void) => {
    admission = guard.accountAdmission(protection, guarded(call, body));
    return admitted(admission, () => {
      hold();
      return route.run(call, input, service);
    });
  };
  const { turns } = service;
  const reply = await (route.isRefunded === true ? turns.run(call.identity, run) : run(() => {}));
  const { headers } = admission.finishReply({ status: reply.status, headers: {}, body: null });
  return respond(reply, request, service, headers);
}

const empty = new Uint8Array();
const variesByUser = "Accept, Cookie, Authorization, X-API-Key";

/** Throws a 403 for a page of another origin: such a page could otherwise log users in or out. */
function requireNoOtherPage(request: Request, trustedOrigins: ReadonlySet<string>): void {
  if (isFromOwnPage(request, trustedOrigins) !== false) return;
  throw new Problem(
    "forbidden",
    "Cannot answer a page of another origin: cors does not allow it, or a proxy has changed Host",
  );
}

function callOf(
  { req: { raw: request }, env }: Context<RouteEnv>,
  body: Uint8Array<ArrayBuffer>,
  { trustedProxies }: AccountRoutesOptions,
): AccountRequest {
  const address = clientAddress(request.headers, socketAddress(env), trustedProxies);
  return {
    request,
    fields: new AccountFields(body.length === 0 ? {} : parseBody(body, maxFields)),
    address,
    identity: `a${addressGroup(address)}`,
  };
}

function socketAddress(info: unknown): string | null {
  const hostname: unknown = Reflect.get(
    Object(Reflect.get(Object(info), "remoteAddr")),
    "hostname",
  );
  return typeof hostname === "string" ? hostname : null;
}

/** Returns the request for the rate limits, without a user: logins count by IP address. */
function guarded({ request, address }: AccountRequest, body: Uint8Array): GuardedRequest {
  return {
    request,
    target: parseRequestTarget(request.url),
    user: null,
    address: () => address,
    body: () => Promise.resolve(body),
  };
}

async function admitted(
  admission: Admission,
  run: () => MaybePromise<AccountReply>,
): Promise<AccountReply> {
  try {
    await admission.countRequest();
    await admission.admit();
    const reply = await run();
    if (reply.isFree === true) admission.refund();
    return reply;
  } catch (error) {
    await admission.returnSolution(error);
    throw admission.finishError(error);
  }
}

function respond(
  { status, body, cookie, signupCookie }: AccountReply,
  request: Request,
  { cookie: sessionCookie, trustedOrigins, runtime: { clock } }: AccountService,
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers = new Headers({ ...more, "cache-control": "no-store" });
  if (cookie === "clear") sessionCookie.clear(headers, request);
  else if (cookie !== undefined) {
    sessionCookie.set(headers, request, cookie.token, cookie.endsAt - clock.now());
  }
  // Only browsers receive this cookie. Other clients verify a signup with its password.
  if (signupCookie !== undefined && isFromOwnPage(request, trustedOrigins) === true) {
    setSignupCookie(headers, signupCookie, sessionCookie.isSecureFor(request));
  }
  return jsonResponse({ status, body }, request, headers);
}

/** Without a body, the client library receives a 200 with `{}`: it needs a content type. */
function jsonResponse(
  { status, body }: AccountReply,
  request: Request,
  headers: Headers,
): Response {
  const isSafe = asksForSafeNumbers(request.headers.get("accept") ?? "");
  if (body === null && !isSafe) return new Response(null, { status, headers });
  headers.set("content-type", isSafe ? safeNumbersType["content-type"] : jsonContentType);
  const sentStatus = body === null ? 200 : status;
  return new Response(JSON.stringify(body ?? {}), { status: sentStatus, headers });
}
