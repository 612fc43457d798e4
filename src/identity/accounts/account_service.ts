import type { KeyValue } from "../../kv/key_value.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { SessionCookie } from "../sessions/session_cookie.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Accounts } from "./account.ts";
import type { BackgroundTasks } from "./background_tasks.ts";
import type { HourlyCounters, LoginLimiter, LoginRisk } from "./login_limiter.ts";
import type { Mail } from "./mails.ts";
import type { ResolvedPasswordAuthOptions } from "./password_auth_options.ts";
import type { PasswordRules } from "./password_rules.ts";
import type { Passwords } from "./passwords.ts";

export interface AccountService {
  readonly options: ResolvedPasswordAuthOptions;
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  readonly passwords: Passwords;
  readonly rules: PasswordRules;
  readonly risk: LoginRisk | null;
  readonly counters: HourlyCounters;
  readonly turns: LoginLimiter;
  readonly sendMail: (mail: Mail) => Promise<void>;
  readonly links: { readonly verify: string; readonly reset: string };
  /** Runs work after the response, so that the response time does not reveal existing accounts. */
  readonly later: BackgroundTasks;
  readonly store: KeyValue;
  readonly trustedOrigins: ReadonlySet<string>;
  readonly runtime: Runtime;
}
