import type { Billing } from "../../billing/open_billing.ts";
import type { CreditsLedger } from "../../billing/ledger/credits_ledger.ts";
import type { User } from "../../auth/authorize.ts";
import {
  type Described,
  either,
  group,
  groupOf,
  listOf,
  type OptionValues,
} from "../../options/option.ts";
import { callback, flag, objectWith, textLike } from "../../options/option_kinds.ts";
import {
  requestLogOptionRule,
  type RequestLogOptions,
  resolveRequestLog,
} from "../request_log/request_log_options.ts";

/** The options of the dashboard. */
export interface DashboardOptions {
  /**
   * Decides who may use the dashboard, which shows every row. Default: only clients on this
   * machine. In production, the app does not start without this function.
   */
  readonly authorize?: AuthorizeDashboard | undefined;
  /** The roles of operators, who must log in. Cannot be used with `authorize`. Default: none. */
  readonly roles?: DashboardRoles | undefined;
  /** True to refuse every write through the dashboard. Default: false. */
  readonly readOnly?: boolean | undefined;
  /** The credits ledger whose accounts the dashboard shows. Default: the ledger of `billing`. */
  readonly credits?: CreditsLedger | undefined;
  /** The billing whose webhook deliveries and ledger the dashboard shows. Default: none. */
  readonly billing?: Billing | undefined;
  /** The log of requests that the dashboard shows, or false for no log. Default: on, in memory. */
  readonly requestLog?: boolean | RequestLogOptions | undefined;
}

/** The roles of operators. A user with one of the roles is an operator. */
export interface DashboardRoles {
  /**
   * The roles that may read and write every row, and manage accounts, sessions and API keys.
   * Default: none.
   */
  readonly administer?: readonly string[] | undefined;
  /** The roles that may read and write every row. Default: none. */
  readonly edit?: readonly string[] | undefined;
  /** The roles that may only read every row. Default: none. */
  readonly read?: readonly string[] | undefined;
}

/**
 * Returns true if a request may use the dashboard. Any value other than `true` denies access. A
 * caller with an invalid credential is anonymous: the function can check a separate credential.
 */
export type AuthorizeDashboard = (
  request: Request,
  user: User | null,
) => boolean | PromiseLike<boolean>;

const members = {
  authorize: callback<AuthorizeDashboard>(),
  roles: groupOf<DashboardRoles>()({
    administer: listOf("roles", textLike("a role", /./)).default([]),
    edit: listOf("roles", textLike("a role", /./)).default([]),
    read: listOf("roles", textLike("a role", /./)).default([]),
  }),
  readOnly: flag().default(false),
  credits: objectWith<CreditsLedger>("a ledger, from openCreditsLedger()", "balance", "history"),
  billing: objectWith<Billing>("what openBilling() gives", "credits", "deliveries"),
  requestLog: requestLogOptionRule,
} satisfies Described<DashboardOptions>;

export const dashboardOptionRule = either(flag(), group(members)).default(false);

export type ResolvedDashboard = NonNullable<ReturnType<typeof resolveDashboard>>;

/** Resolves the option `adminUI`. Throws a plain Error in production without `authorize`. */
export function resolveDashboard(
  option: boolean | OptionValues<typeof members>,
  isProduction: boolean,
) {
  if (option === false) return null;
  const given: DashboardOptions = option === true ? {} : option;
  const { authorize = null, readOnly = false, billing = null, roles = null } = given;
  const credits = given.credits ?? billing?.credits ?? null;
  if (authorize !== null && roles !== null) {
    throw new Error("Cannot start: adminUI takes authorize or roles, not both");
  }
  const { administer = [], edit = [], read = [] } = roles ?? {};
  if (roles !== null && administer.length + edit.length + read.length === 0) {
    throw new Error("Cannot start: adminUI.roles names no role, so nobody could use the dashboard");
  }
  if (authorize === null && roles === null && isProduction) {
    throw new Error(
      "Cannot start: adminUI.roles must be set in production: the roles of who runs the service, " +
        'as in { edit: ["operator"] } (or adminUI.authorize: a function; with --ui: --users)',
    );
  }
  const requestLog = resolveRequestLog(option === true ? true : option.requestLog);
  const groups = roles === null ? null : { administer, edit: [...edit, ...administer], read };
  return { authorize, roles: groups, readOnly, credits, billing, requestLog };
}
