import { scrypt } from "node:crypto";
import { availableParallelism } from "node:os";
import { timingSafeEqual } from "@std/crypto/timing-safe-equal";
import { Problem } from "../../problem/problem.ts";
import { base64ToBytes, bytesToBase64 } from "../../protocol/byte_text.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** The cost parameters of scrypt (RFC 7914, 2). */
export interface ScryptCost {
  /** The cost factor, a power of two. Doubling it doubles time and memory. */
  readonly N: number;
  /** The block size. Memory grows in proportion to it. */
  readonly r: number;
  /** The number of sequential repetitions. */
  readonly p: number;
}

/** Hashes and verifies passwords. Each call takes a tenth of a second or more. */
export type Passwords = ReturnType<typeof createPasswords>;

/** Replaces scrypt, for tables with hashes of another kind. */
export interface PasswordHasher {
  /** Returns the hash to store. It contains everything that `verify` needs. */
  hash(password: string): Promise<string>;
  /** Returns true if the password matches the hash, and false if `hash` is not a valid hash. */
  verify(password: string, hash: string): Promise<boolean>;
}

/** If there are several processors, hashing leaves one of them free for other requests. */
export function createPasswords(
  given: PasswordHasher | ScryptCost,
  runtime: Pick<Runtime, "clock" | "random">,
) {
  const hasher: PasswordHasher = "verify" in given ? given : {
    async hash(password) {
      const salt = runtime.random.bytes(16);
      return formatHash({ cost: given, salt, key: await deriveKey(password, salt, given) });
    },
    async verify(password, hash) {
      const stored = parseHash(hash);
      if (stored === null) return false;
      return timingSafeEqual(await deriveKey(password, stored.salt, stored.cost), stored.key);
    },
  };
  const inTurn = hashQueue(runtime);
  let fake: Promise<string> | null = null;
  return {
    hash: (password: string, identity: string) =>
      inTurn(identity, () => hasher.hash(normalized(password))),
    /** `hash` is null for a missing account. The check then takes as long as for any hash. */
    verify: (password: string, hash: string | null, identity: string) =>
      inTurn(identity, async () => {
        const fakeHash = await (fake ??= hasher.hash(bytesToBase64(runtime.random.bytes(32))));
        const isHash = hash !== null &&
          ("verify" in given ? hash !== "" : parseHash(hash) !== null);
        return await hasher.verify(normalized(password), isHash ? hash : fakeHash) && isHash;
      }),
    isOutdated: (hash: string) => !("verify" in given) && isCheaper(hash, given),
  };
}

/** Unifies characters that can be typed in several ways (NIST SP 800-63B, 3.1.1.2). */
function normalized(password: string): string {
  return password.normalize("NFKC");
}

const keyBytes = 32;

function deriveKey(password: string, salt: Uint8Array, cost: ScryptCost): Promise<Uint8Array> {
  const { N, r, p } = cost;
  // Node allows scrypt 32 MiB of memory by default, which is too little for a higher cost.
  const maxmem = 256 * N * r + 1024 * 1024;
  return new Promise((resolve, reject) => {
    scrypt(password, salt, keyBytes, { N, r, p, maxmem }, (error, key) => {
      if (error === null) resolve(new Uint8Array(key));
      else reject(error);
    });
  });
}

interface StoredHash {
  readonly cost: ScryptCost;
  readonly salt: Uint8Array;
  readonly key: Uint8Array;
}

/** Formats a hash in the PHC string format: `$scrypt$ln=14,r=8,p=5$salt$key`. */
function formatHash({ cost: { N, r, p }, salt, key }: StoredHash): string {
  const [left, right] = [salt, key].map((bytes) => bytesToBase64(bytes).replace(/=+$/, ""));
  return `$scrypt$ln=${Math.log2(N)},r=${r},p=${p}$${left}$${right}`;
}

function parseHash(text: string): StoredHash | null {
  const [, ln, r, p, salt = "", key = ""] =
    /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{43})$/
      .exec(text) ?? [];
  const cost = { N: 2 ** Number(ln), r: Number(r), p: Number(p) };
  const isPossible = cost.N >= 2 && cost.N <= 2 ** 20 && cost.r >= 1 && cost.r <= 32 &&
    cost.p >= 1 && cost.p <= 16;
  return isPossible ? { cost, salt: padded(salt), key: padded(key) } : null;
}

function padded(text: string): Uint8Array {
  return base64ToBytes(text.padEnd(Math.ceil(text.length / 4) * 4, "="));
}

function isCheaper(hash: string, wanted: ScryptCost): boolean {
  const stored = parseHash(hash);
  if (stored === null) return true;
  const work = ({ N, r, p }: ScryptCost) => N * r * p;
  return work(stored.cost) < work(wanted);
}

/** Maximum number of passwords that wait to be hashed. One processor needs a minute for them. */
const maxWaiting = 256;
/** Maximum time in the queue, in milliseconds. After it, the client has probably given up. */
const maxWaitMs = 30_000;

/** Returns a queue for hashing. It serves IP addresses in turn, and rejects with a 503 if full. */
function hashQueue({ clock }: Pick<Runtime, "clock">) {
  const turns = new Semaphore(Math.max(1, availableParallelism() - 1), maxWaiting);
  return async <T>(identity: string, work: () => Promise<T>): Promise<T> => {
    if (turns.isFull || turns.isFullFor(identity)) throw overloaded();
    const since = clock.elapsedMs();
    return await turns.run(() => {
      if (clock.elapsedMs() - since > maxWaitMs) throw overloaded();
      return work();
    }, identity);
  };
}

function overloaded(): Problem {
  return new Problem("overloaded", "Cannot check a password now: too many wait for that", {
    headers: { "retry-after": "5" },
  });
}
