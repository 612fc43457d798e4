import type { FingerprintedRequest } from "../../src/guard/pow/request_fingerprint.ts";
import {
  createProofOfWork,
  type ProofOfWork,
  type ProofOfWorkOptions,
} from "../../src/guard/pow/proof_of_work.ts";
import { solve } from "../../src/client/pow/solve.ts";
import { powHeaders } from "../../src/protocol/pow_protocol.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { Problem } from "../../src/problem/problem.ts";
import type { Observation, PowRefusal } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

/** A request that the tests demand work for. */
export const facts: FingerprintedRequest = {
  method: "POST",
  path: "/api/notes/Caf%C3%A9",
  query: "limit=1&filter=a",
  body: new TextEncoder().encode(`{"title":"a"}`),
  userId: "ada",
};

export const secret = "a secret for the tests only";
export const difficulty = 8;

/** A service's side under test, with a clock that is moved by hand. */
export interface Bench extends ProofOfWork {
  readonly observations: readonly Observation[];
  now: number;
  /** Uses a solution. Resolves to null, or to the reason of the refusal. */
  verifySolution(
    headers: Headers,
    of: FingerprintedRequest,
    difficulty: number,
  ): Promise<PowRefusal | null>;
  /** A fresh challenge. */
  token(of?: FingerprintedRequest, difficulty?: number): string;
  /** The headers of a request with a fresh challenge, solved. */
  solved(of?: FingerprintedRequest, difficulty?: number): Promise<Headers>;
}

export function powBench(parts: Partial<ProofOfWorkOptions> = {}): Bench {
  const observations: Observation[] = [];
  const system = systemRuntime((observation) => observations.push(observation));
  const clock = { ...system.clock, now: () => bench.now };
  const pow = createProofOfWork({
    secrets: [secret],
    challengeTtlMs: 120_000,
    store: createMemoryKeyValue(clock),
    runtime: { ...system, clock },
    ...parts,
  });
  const bench: Bench = {
    ...pow,
    observations,
    now: 1_800_000_000_000,
    async verifySolution(headers, of, bits) {
      const solution = pow.checkSolution(headers, of, bits);
      if (typeof solution === "string") return solution;
      try {
        await pow.requireSolution(headers, of, bits);
        return null;
      } catch (error) {
        if (error instanceof Problem) return "replayed";
        throw error;
      }
    },
    token(of = facts, bits = difficulty) {
      return pow.issueChallenge(of, bits)[powHeaders.challenge] ?? "";
    },
    async solved(of = facts, bits = difficulty) {
      const token = bench.token(of, bits);
      return solutionHeaders(token, await solve({ token, difficulty: bits }));
    },
  };
  return bench;
}

export function solutionHeaders(token: string, nonce: string): Headers {
  return new Headers([[powHeaders.challenge, token], [powHeaders.nonce, nonce]]);
}

/** The same headers with another token. */
export function withToken(headers: Headers, change: (token: string) => string): Headers {
  const token = headers.get(powHeaders.challenge) ?? "";
  return solutionHeaders(change(token), headers.get(powHeaders.nonce) ?? "");
}
