/**
 * Proof of work: `deno task bench:pow [rounds]`. Compares the check of a solution without the
 * store, a hand-written check and altcha-lib, and measures a compression of SHA-256. Then measures the
 * searches. The turns alternate and the best turn counts, so other work on the machine
 * does not matter.
 */
import { createChallenge, solveChallenge, verifySolution } from "altcha-lib/v1";
import { nonceRange } from "../src/client/pow/nonce_range.ts";
import { createPlainScan } from "../src/client/pow/plain_scan.ts";
import { compileSimdScan, createSimdScan } from "../src/client/pow/simd_scan.ts";
import { solve } from "../src/client/pow/solve.ts";
import { createProofOfWork } from "../src/guard/pow/proof_of_work.ts";
import { powHeaders } from "../src/protocol/pow_protocol.ts";
import { compress } from "../src/protocol/sha256.ts";
import { createMemoryKeyValue } from "../src/kv/memory_key_value.ts";
import { systemRuntime } from "../src/runtime/system_runtime.ts";
import { naiveIssue, naiveVerify } from "./naive_pow.ts";

const rounds = Number(Deno.args[0] ?? 300);
const secret = "a secret for the benchmark only";
const difficulty = 10;
const facts = {
  method: "GET",
  path: "/api/notes",
  query: "filter=status%3D%3Dpublished&limit=20",
  body: new Uint8Array(),
  userId: "user-1",
};

const runtime = systemRuntime(() => {});
const store = createMemoryKeyValue(runtime.clock);
const pow = createProofOfWork({ secrets: [secret], challengeTtlMs: 120_000, store, runtime });
const token = pow.issueChallenge(facts, difficulty)[powHeaders.challenge] ?? "";
const ours = await solved(token);
const forged = new Headers(ours);
forged.set(powHeaders.challenge, `${token.slice(0, 70)}AAAA${token.slice(74)}`);
const naive = await solved(naiveIssue(facts, difficulty, secret));
const altcha = await altchaPayload();

const state = new Int32Array(8);
const schedule = new Int32Array(64);

const best = new Map<string, number>();
const range = nonceRange(token, 0);
const plain = createPlainScan();
const module = await compileSimdScan();
const simd = module === null ? null : await createSimdScan(module);

for (let round = 0; round < rounds; round++) {
  turn("check of a solution", 300, () => {
    if (typeof pow.checkSolution(ours, facts, difficulty) === "string") throw new Error("refused");
  });
  turn("check of a forged one", 300, () => {
    if (pow.checkSolution(forged, facts, difficulty) !== "forged") throw new Error("not forged");
  });
  turn("issue of a challenge", 300, () => void pow.issueChallenge(facts, difficulty));
  turn("by hand, node:crypto", 100, () => {
    if (!naiveVerify(naive, facts, secret)) throw new Error("refused");
  });
  await turnOfPromises("altcha-lib", 50, async () => {
    if (!await verifySolution(altcha, secret)) throw new Error("refused");
  });
  turn("a compression", 2_000, () => compress(state, schedule));
  search("search, plain", 16_384, plain);
  if (simd !== null) search("search, vectors", 65_536, simd);
}

for (const [name, perMs] of best) {
  console.log(
    `${name.padEnd(24)} ${Math.round(perMs * 1000).toLocaleString("en").padStart(12)} /s`,
  );
}
const ratio = (one: string, other: string) => (best.get(one) ?? NaN) / (best.get(other) ?? NaN);
say("times the hand-written one", ratio("check of a solution", "by hand, node:crypto"), "> 0.5");
say("times altcha-lib", ratio("check of a solution", "altcha-lib"), "> 1");
say("vectors over plain", ratio("search, vectors", "search, plain"), "> 2.7");

function turn(name: string, count: number, work: () => void): void {
  const started = performance.now();
  for (let i = 0; i < count; i++) work();
  note(name, count, performance.now() - started);
}

async function turnOfPromises(
  name: string,
  count: number,
  work: () => Promise<void>,
): Promise<void> {
  const started = performance.now();
  for (let i = 0; i < count; i++) await work();
  note(name, count, performance.now() - started);
}

function search(name: string, to: number, scan: typeof plain): void {
  const started = performance.now();
  // A solution is rare: one range in 65,536 contains a solution of this difficulty.
  scan(range, { difficulty: 32, from: 0, to });
  note(name, to, performance.now() - started);
}

function note(name: string, count: number, elapsedMs: number): void {
  best.set(name, Math.max(best.get(name) ?? 0, count / elapsedMs));
}

function say(what: string, value: number, target: string): void {
  console.log(`${value.toFixed(2).padStart(8)} × ${what} (target ${target})`);
}

async function solved(token: string): Promise<Headers> {
  const nonce = await solve({ token, difficulty });
  return new Headers([[powHeaders.challenge, token], [powHeaders.nonce, nonce]]);
}

async function altchaPayload(): Promise<string> {
  const challenge = await createChallenge({ hmacKey: secret, maxnumber: 100, expires: later() });
  const { promise } = solveChallenge(challenge.challenge, challenge.salt, "SHA-256", 100);
  const solution = await promise;
  if (solution === null) throw new Error("altcha-lib found no solution");
  return btoa(JSON.stringify({ ...challenge, number: solution.number }));
}

function later(): Date {
  return new Date(Date.now() + 600_000);
}
