import type { Billing } from "../../billing/open_billing.ts";
import type { CreditsLedger } from "../../billing/ledger/credits_ledger.ts";
import type { User } from "../../auth/authorize.ts";
import { type Described, either, group, type OptionValues } from "../../options/option.ts";
import { callback, flag, objectWith } from "../../options/option_kinds.ts";

/** The options of the dashboard. */
export interface DashboardOptions {
  /**
   * Decides who may use the dashboard, which shows every row. Default: only clients on this
   * machine. In production, the app does not start without this function.
   */
  readonly authorize?: AuthorizeDashboard | undefined;
  /** True to refuse every write through the dashboard. Default: false. */
  readonly readOnly?: boolean | undefined;
  /** The credits ledger whose accounts the dashboard shows. Default: the ledger of `billing`. */
  readonly credits?: CreditsLedger | undefined;
  /** The billing whose webhook deliveries and ledger the dashboard shows. Default: none. */
  readonly billing?: Billing | undefined;
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
  readOnly: flag().default(false),
  credits: objectWith<CreditsLedger>("a ledger, from openCreditsLedger()", "balance", "history"),
  billing: objectWith<Billing>("what openBilling() gives", "credits", "deliveries"),
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
  const { authorize = null, readOnly = false, billing = null } = given;
  const credits = given.credits ?? billing?.credits ?? null;
  if (authorize === null && isProduction) {
    throw new Error(
      "Cannot start: adminUI.authorize must be set in production: a function (request, user) that " +
        "gives true to who runs the service",
    );
  }
  return { authorize, readOnly, credits, billing };
}
