import { Problem } from "../../problem/problem.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";
import { ignoreStoreError } from "../../kv/store_error.ts";
import { addressGroup } from "../../guard/client_address.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { CaptchaRequired, LoginFacts } from "./password_auth_options.ts";
import { HotKeys } from "../../kv/hot_keys.ts";
import type { KeyValue, KeyValueKey } from "../../kv/key_value.ts";
import { hashOfToken } from "../opaque_token.ts";
import { hasMemberTypes } from "./account.ts";

const maxAtOnce = 4;
const maxWaiting = 128;

/** Limits concurrent logins of an address: each login holds budget tokens until it succeeds. */
export class LoginLimiter {
  readonly #turns = new Map<string, {
    readonly semaphore: Semaphore;
    readonly running: Set<Promise<void>>;
    count: number;
  }>();

  /**
   * Runs a login when fewer than {@link maxAtOnce} logins of its address run. The login must call
   * `hold` once it has taken tokens from the budget. A login that finds no tokens in the budget
   * runs again after another login has returned its tokens. Throws a 503 if too many logins wait.
   */
  async run<T>(identity: string, login: (hold: () => void) => Promise<T>): Promise<T> {
    const turns = this.#turns.get(identity) ??
      { semaphore: new Semaphore(maxAtOnce, maxWaiting), running: new Set(), count: 0 };
    if (turns.semaphore.isFull) {
      throw new Problem(
        "overloaded",
        "Cannot log in now: too many from this address wait for that",
        { headers: { "retry-after": "5" } },
      );
    }
    this.#turns.set(identity, turns);
    turns.count++;
    try {
      const { semaphore, running } = turns;
      for (;;) {
        try {
          return await semaphore.run(() => tracked(login, running));
        } catch (error) {
          const isExhausted = error instanceof Problem && error.slug === "budget-exhausted";
          if (!isExhausted || running.size === 0) throw error;
          await Promise.race(running);
        }
      }
    } finally {
      turns.count--;
      if (turns.count === 0) this.#turns.delete(identity);
    }
  }
}

async function tracked<T>(
  login: (hold: () => void) => Promise<T>,
  running: Set<Promise<void>>,
): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<void>();
  try {
    return await login(() => void running.add(promise));
  } finally {
    running.delete(promise);
    resolve();
  }
}

interface LoginSubjects {
  readonly email: string;
  readonly address: string | null;
}

export interface LoginRisk {
  needsCaptcha(request: Request, subjects: LoginSubjects): Promise<boolean>;
  failed(subjects: LoginSubjects): Promise<void>;
}

/** Says if a login needs a CAPTCHA. Refusing risky logins would let anyone lock users out. */
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
      const counting = namesOf(subjects).map((name) => counters.add("login-failed", name));
      await Promise.all(counting).then(() => {}, ignoreStoreError);
    },
  };
}

function namesOf({ email, address }: LoginSubjects): readonly string[] {
  const group = addressGroup(address);
  return [`account ${email}`, `address ${group}`, `network ${networkOfAddress(group)}`];
}

/** Returns the network of an address, usually of one customer: /24 for IPv4, /48 for IPv6. */
export function networkOfAddress(group: string): string {
  return group.includes(":")
    ? group.split(":").slice(0, 3).join(":")
    : group.split(".").slice(0, 3).join(".");
}

interface Count {
  readonly count: number;
  readonly beganAt: number;
}

/** Counts a subject's events of all processes for an hour that begins with the first event. */
export class HourlyCounters {
  readonly #store: KeyValue;
  readonly #runtime: Pick<Runtime, "clock" | "random">;
  readonly #hotKeys: HotKeys;

  constructor(store: KeyValue, runtime: Pick<Runtime, "clock" | "random">) {
    this.#store = store;
    this.#runtime = runtime;
    this.#hotKeys = new HotKeys(store, runtime);
  }

  add(event: string, subject: string): Promise<number> {
    const now = this.#runtime.clock.now();
    return this.#hotKeys.update(keyOf(event, subject), (value) => {
      const { count, beganAt } = current(value, now);
      const next = { count: count + 1, beganAt };
      return {
        result: next.count,
        record: { value: next, expireInMs: Math.max(1, Math.ceil(beganAt + hourMs - now)) },
      };
    });
  }

  async read(event: string, subjects: readonly string[]): Promise<readonly number[]> {
    const now = this.#runtime.clock.now();
    const entries = await this.#store.getMany(subjects.map((one) => keyOf(event, one)));
    return entries.map(({ value }) => current(value, now).count);
  }
}

const hourMs = 3_600_000;

function current(value: unknown, now: number): Count {
  return isCount(value) && now < value.beganAt + hourMs && now >= value.beganAt
    ? value
    : { count: 0, beganAt: now };
}

function isCount(value: unknown): value is Count {
  return hasMemberTypes(value, { count: "number", beganAt: "number" });
}

/** Returns a key with a hash, so that the store contains no addresses and no names. */
function keyOf(event: string, subject: string): KeyValueKey {
  return ["hourly", event, hashOfToken(JSON.stringify(subject)).slice(0, 22)];
}
