import { createHash } from "node:crypto";
import { type BoundedMap, boundedMap } from "../runtime/bounded_map.ts";
import type { KeyChange } from "../runtime/hot_keys.ts";
import type { Key } from "../runtime/key_value.ts";
import type { Clock } from "../runtime/runtime.ts";
import { StoreError } from "../runtime/store_error.ts";
import { type Bucket, fullBucket, type Limit, tiny } from "./limit.ts";
import type { Holder, LimitStore } from "./limit_store.ts";

/** What became of an attempt to take tokens. */
export interface Taken {
  readonly isGranted: boolean;
  /** How many were taken. */
  readonly amount: number;
  /** What is left, as far as this process knows. */
  readonly left: Bucket;
}

/** How many tokens to take; to the floor means: as many of them as there are. */
interface Demand {
  readonly amount: number;
  readonly toFloor: boolean;
}

/**
 * One limit, for all callers, in all processes. Exact where little is left. Where there is much, a
 * process takes a small share at once and answers from it without the store and without waiting.
 */
export class Quota {
  readonly limit: Limit;
  readonly #id: string;
  readonly #store: LimitStore;
  readonly #clock: Clock;
  readonly #accounts: BoundedMap<string, Account> = boundedMap(50_000);

  /** `id` names the limit in the store, for all processes alike. */
  constructor(id: string, limit: Limit, store: LimitStore, clock: Clock) {
    this.limit = limit;
    this.#id = id;
    this.#store = store;
    this.#clock = clock;
  }

  /** Takes tokens, all or none of them. Not a promise where nothing has to be asked. */
  take(who: string, amount: number): Taken | Promise<Taken> {
    return this.#accountOf(who).take({ amount, toFloor: false });
  }

  /** Takes tokens, or what is left where that is less. */
  takeToFloor(who: string, amount: number): Taken | Promise<Taken> {
    return this.#accountOf(who).take({ amount, toFloor: true });
  }

  /** Gives tokens back that were taken for nothing. Never lifts what is left over the capacity. */
  giveBack(who: string, amount: number): Taken {
    return this.#accountOf(who).giveBack(amount);
  }

  #accountOf(who: string): Account {
    const known = this.#accounts.get(who);
    if (known !== undefined) return known;
    const account = new Account({ limit: this.limit, store: this.#store, clock: this.#clock }, [
      "limit",
      this.#id,
      shortHash(who),
    ]);
    this.#accounts.set(who, account);
    return account;
  }
}

/** Nobody's id or address lies in the store; as JSON, lone surrogates stay what they are. */
function shortHash(who: string): string {
  return createHash("sha256").update(JSON.stringify(who)).digest("base64url").slice(0, 22);
}

interface Ground {
  readonly limit: Limit;
  readonly store: LimitStore;
  readonly clock: Clock;
}

/** What one process knows of one caller. */
class Account implements Holder {
  readonly #ground: Ground;
  readonly #key: Key;
  /** What the store had when it was last asked: others can only have taken from it since. */
  #seen: Bucket;
  /** Tokens that were taken from the store and not spent yet. */
  #held = 0;
  /** Of a clock that never jumps. */
  #askedAt = -Infinity;
  #heardAt = -Infinity;
  #isLeasing = false;
  #isUsed = false;

  constructor(ground: Ground, key: Key) {
    this.#ground = ground;
    this.#key = key;
    this.#seen = fullBucket(ground.limit, ground.clock.now());
  }

  take(demand: Demand): Taken | Promise<Taken> {
    const { clock } = this.#ground;
    const shared = this.#refill();
    if (this.#held + tiny >= demand.amount) {
      this.#held -= demand.amount;
      this.#isUsed = true;
      return this.#taken(demand.amount, shared);
    }
    // What refills meanwhile is counted here as well; what others give back is seen a second later.
    const isKnown = clock.elapsedMs() - this.#heardAt < memoryMs;
    if (isKnown && !demand.toFloor && shared.tokens + this.#held + tiny < demand.amount) {
      return { isGranted: false, amount: 0, left: this.#left(shared) };
    }
    return this.#ask(demand);
  }

  giveBack(amount: number): Taken {
    const shared = this.#refill();
    this.#held = Math.min(this.#held + amount, this.#ground.limit.capacity - shared.tokens);
    if (this.#held > 0) this.#ground.store.watch(this);
    return { isGranted: true, amount: -amount, left: this.#left(shared) };
  }

  returnIdle(): boolean {
    this.#refill();
    if (this.#held <= 0) return false;
    if (this.#isUsed) {
      this.#isUsed = false;
      return true;
    }
    void this.returnAll();
    return false;
  }

  async returnAll(): Promise<void> {
    this.#refill();
    if (this.#held > 0) await this.#ask({ amount: 0, toFloor: false });
  }

  /**
   * What is known of the store now. Together with what is held it is never more than the capacity,
   * so that what is held grows worthless as the bucket refills, or with the end of its window.
   */
  #refill(): Bucket {
    const { limit, clock } = this.#ground;
    const shared = limit.refill(this.#seen, clock.now());
    this.#held = Math.max(0, Math.min(this.#held, limit.capacity - shared.tokens));
    return shared;
  }

  async #ask(demand: Demand): Promise<Taken> {
    const { limit, store, clock } = this.#ground;
    if (store.isDown) return this.#takeAlone(demand);
    const now = clock.elapsedMs();
    // One request alone takes what it needs; only who comes again and again is worth a share.
    const takesShare = !this.#isLeasing && now - this.#askedAt < memoryMs;
    if (takesShare) this.#isLeasing = true;
    this.#askedAt = now;
    const [held, since] = [this.#held, this.#seen];
    this.#held = 0;
    try {
      const drawn = await store.update(
        this.#key,
        (value) => draw(value, { ...demand, held, since, takesShare }, limit, clock.now()),
      );
      this.#seen = drawn.bucket;
      this.#heardAt = clock.elapsedMs();
      this.#held += drawn.share;
      if (this.#held > 0) store.watch(this);
      return { isGranted: drawn.isGranted, amount: drawn.amount, left: this.#left(drawn.bucket) };
    } catch (error) {
      // Observed by the store. What may have gone back is not held any longer.
      if (error instanceof StoreError && error.kind === "unavailable") this.#held += held;
      return this.#takeAlone(demand);
    } finally {
      if (takesShare) this.#isLeasing = false;
    }
  }

  /** By the contract a limit goes on without its store: each process then limits by itself. */
  #takeAlone({ amount, toFloor }: Demand): Taken {
    const shared = this.#refill();
    const tokens = shared.tokens + this.#held;
    this.#held = 0;
    const isGranted = toFloor || tokens + tiny >= amount;
    const rest = isGranted ? Math.max(0, tokens - amount) : tokens;
    this.#seen = { tokens: rest, at: shared.at };
    return { isGranted, amount: tokens - rest, left: this.#seen };
  }

  #taken(amount: number, shared: Bucket): Taken {
    return { isGranted: true, amount, left: this.#left(shared) };
  }

  #left({ tokens, at }: Bucket): Bucket {
    return { tokens: tokens + this.#held, at };
  }
}

/** So long what the store said is believed, where it says that nothing is left. */
const memoryMs = 1_000;

interface Draft extends Demand {
  /** What goes back first, and the bucket that it was taken from. */
  readonly held: number;
  readonly since: Bucket;
  readonly takesShare: boolean;
}

interface Drawn {
  readonly isGranted: boolean;
  readonly amount: number;
  readonly share: number;
  readonly bucket: Bucket;
}

/** What a caller's record becomes. */
function draw(value: unknown, draft: Draft, limit: Limit, now: number): KeyChange<Drawn> {
  const { amount, toFloor, held, since, takesShare } = draft;
  const stored = isBucket(value) ? limit.refill(value, now) : fullBucket(limit, now);
  const back = held > 0 && limit.isSameSpan(stored, since) ? held : 0;
  const tokens = Math.min(limit.capacity, stored.tokens + back);
  const isGranted = toFloor || tokens + tiny >= amount;
  const rest = isGranted ? Math.max(0, tokens - amount) : tokens;
  const share = takesShare && isGranted ? shareOf(rest, amount) : 0;
  const bucket = { tokens: rest - share, at: stored.at };
  const result = { isGranted, amount: tokens - rest, share, bucket };
  // A clock that was put right must be written down, or it would be put right each time anew.
  const isSetBack = isBucket(value) && stored.at < value.at;
  if (!isGranted && back === 0 && !isSetBack) return { result };
  return { result, record: { value: bucket, expireInMs: keepMs(bucket, limit, now) } };
}

function isBucket(value: unknown): value is Bucket {
  return typeof value === "object" && value !== null && "tokens" in value && "at" in value &&
    typeof value.tokens === "number" && typeof value.at === "number";
}

/**
 * A quarter of what four processes may take each; nothing near the limit, where every token counts.
 * Enough for 32 requests wherever more than 512 of them are left.
 */
function shareOf(left: number, amount: number): number {
  const share = Math.min(left / 16, 256 * amount);
  return share < 2 * amount ? 0 : share;
}

/** Without a record a bucket is full, which it is by then. */
function keepMs(bucket: Bucket, limit: Limit, now: number): number | undefined {
  const waitMs = limit.waitMs(bucket, limit.capacity, now);
  return waitMs > longestKeepMs ? undefined : Math.max(1, Math.ceil(waitMs));
}

const longestKeepMs = 10 * 366 * 86_400_000;
