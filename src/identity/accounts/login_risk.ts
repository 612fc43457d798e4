import { StoreError } from "../../kv/store_error.ts";
import { addressGroup } from "../../guard/client_address.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { HourlyCounters } from "./hourly_counters.ts";
import type { CaptchaRequired, LoginFacts } from "./password_auth_options.ts";

/** The account name and the IP address for which failed logins are counted. */
export interface LoginSubjects {
  readonly email: string;
  /** The client's IP address; null if unknown. */
  readonly address: string | null;
}

/** Counts failed logins, and decides if a login needs a CAPTCHA. */
export interface LoginRisk {
  needsCaptcha(request: Request, subjects: LoginSubjects): Promise<boolean>;
  failed(subjects: LoginSubjects): Promise<void>;
}

/**
 * Creates the check of risky logins. Without `required`, failures are not counted. Failures never
 * make the right password fail: else anyone could lock a user out.
 */
export function createLoginRisk(
  required: CaptchaRequired | undefined,
  counters: HourlyCounters,
  { observe }: Pick<Runtime, "observe">,
): LoginRisk | null {
  if (required === undefined) return null;

  async function factsOf(subjects: LoginSubjects): Promise<LoginFacts> {
    const [account = 0, address = 0, network = 0] = await counters
      .read("login-failed", namesOf(subjects));
    return { account, address, network };
  }

  return {
    async needsCaptcha(request, subjects) {
      try {
        return await required(request, await factsOf(subjects)) !== false;
      } catch (error) {
        observe({ kind: "login_risk_failed", error });
        return true;
      }
    },
    async failed(subjects) {
      try {
        await Promise.all(namesOf(subjects).map((name) => counters.add("login-failed", name)));
      } catch (error) {
        // If the store does not respond, the failure remains uncounted.
        if (!(error instanceof StoreError)) throw error;
      }
    },
  };
}

function namesOf({ email, address }: LoginSubjects): readonly string[] {
  const group = addressGroup(address);
  return [`account ${email}`, `address ${group}`, `network ${networkOfAddress(group)}`];
}

/** Returns an address's network, usually that of one customer: /24 for IPv4, /48 for IPv6. */
export function networkOfAddress(group: string): string {
  return group.includes(":")
    ? group.split(":").slice(0, 3).join(":")
    : group.split(".").slice(0, 3).join(".");
}
