import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { Buffer } from "node:buffer";
import { createHash, createHmac } from "node:crypto";
import { solve } from "../../src/client/pow/solve.ts";
import type { FingerprintedRequest } from "../../src/guard/pow/request_fingerprint.ts";
import { Problem } from "../../src/problem/problem.ts";
import { base64urlLetters } from "../../src/protocol/pow_protocol.ts";
import { powHeaders } from "../../src/protocol/pow_protocol.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { difficulty, facts, powBench, secret, solutionHeaders, withToken } from "./pow_support.ts";

Deno.test("a solution is taken once, and then never again", async () => {
  const bench = powBench();
  const headers = await bench.solved();
  assertEquals(await bench.verifySolution(headers, facts, difficulty), null);
  assertEquals(await bench.verifySolution(headers, facts, difficulty), "replayed");
});

Deno.test("a challenge is the token that the protocol describes, byte for byte", () => {
  const system = systemRuntime(() => {});
  const bench = powBench({
    runtime: {
      ...system,
      clock: { ...system.clock, now: () => 1_800_000_000_000 },
      random: { bytes: (length) => new Uint8Array(length).fill(7) },
    },
  });
  const headers = bench.issueChallenge(facts, 20);
  // Written out here once more, with the platform's functions.
  const fields = [
    facts.method,
    facts.path,
    facts.query,
    `"ada"`,
    createHash("sha256").update(facts.body).digest(),
  ].map((field) => {
    const bytes = Buffer.from(field);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  });
  const payload = Buffer.concat([
    Buffer.from([1, 20]),
    Buffer.from((1_800_000_120_000).toString(16).padStart(12, "0"), "hex"),
    Buffer.alloc(16, 7),
    createHash("sha256").update(Buffer.concat(fields)).digest().subarray(0, 24),
  ]);
  const code = createHmac("sha256", secret).update(payload).digest("base64url");
  assertEquals(headers, {
    "service-challenge-type": "pow",
    "service-pow-challenge": `${payload.toString("base64url")}.${code}`,
    "service-pow-difficulty": "20",
    "service-pow-algorithm": "sha256",
  });
});

Deno.test("two challenges for one request are not the same", () => {
  const bench = powBench();
  assertNotEquals(bench.token(), bench.token());
});

Deno.test("no other letter at any position of a token is accepted", async () => {
  const bench = powBench();
  const headers = await bench.solved();
  const token = headers.get(powHeaders.challenge) ?? "";
  let refused = 0;
  for (let at = 0; at < token.length; at++) {
    for (const letter of [...base64urlLetters, ".", "=", "+", "/", " ", "%"]) {
      if (letter === token[at]) continue;
      const changed = withToken(headers, () => token.slice(0, at) + letter + token.slice(at + 1));
      const refusal = bench.checkSolution(changed, facts, difficulty);
      assert(refusal === "malformed" || refusal === "forged", `${at} ${letter}: ${refusal}`);
      refused++;
    }
  }
  assert(refused > 7000);
  assertEquals(await bench.verifySolution(headers, facts, difficulty), null);
});

const spellings: Readonly<Record<string, (token: string) => string>> = {
  "with padding": (token) => `${token}=`,
  "with padding inside": (token) => token.replace(".", "=."),
  "with a blank inside": (token) => token.replace(".", ". "),
  "cut short": (token) => token.slice(0, -1),
  "with a letter more": (token) => `${token}A`,
  "without its code": (token) => token.split(".")[0] ?? "",
  "with two codes": (token) => `${token}.${token.split(".")[1]}`,
  "sent twice": (token) => `${token}, ${token}`,
  "of nothing": () => "",
  "of ten million letters": () => "A".repeat(10_000_000),
};

for (const [name, change] of Object.entries(spellings)) {
  Deno.test(`a token ${name} is malformed`, async () => {
    const bench = powBench();
    const headers = withToken(await bench.solved(), change);
    assertEquals(await bench.verifySolution(headers, facts, difficulty), "malformed");
  });
}

Deno.test("no bit of the payload can be changed", async () => {
  const bench = powBench();
  const headers = await bench.solved();
  const [payload = "", code = ""] = (headers.get(powHeaders.challenge) ?? "").split(".");
  for (let bit = 0; bit < 48 * 8; bit++) {
    const bytes = Buffer.from(payload, "base64url");
    bytes[bit >> 3]! ^= 0x80 >> (bit & 7);
    const changed = withToken(headers, () => `${bytes.toString("base64url")}.${code}`);
    assertEquals(bench.checkSolution(changed, facts, difficulty), "forged", `bit ${bit}`);
  }
});

const otherRequests: Readonly<Record<string, Partial<FingerprintedRequest>>> = {
  "another method": { method: "PUT" },
  "a method in small letters": { method: "post" },
  "a path in other letters": { path: "/api/notes/caf%C3%A9" },
  "an escape in small letters": { path: "/api/notes/Caf%c3%a9" },
  "a letter escaped": { path: "/api/notes/%43af%C3%A9" },
  "a trailing slash": { path: "/api/notes/Caf%C3%A9/" },
  "the query in another order": { query: "filter=a&limit=1" },
  "an ampersand more": { query: "limit=1&filter=a&" },
  "no query": { query: "" },
  "a piece moved from the query to the path": {
    path: "/api/notes/Caf%C3%A9l",
    query: "imit=1&filter=a",
  },
  "a blank more in the body": { body: new TextEncoder().encode(`{"title": "a"}`) },
  "no body": { body: new Uint8Array() },
  "another user": { userId: "Ada" },
  "no user": { userId: null },
};

for (const [name, change] of Object.entries(otherRequests)) {
  Deno.test(`a solution is not taken for a request with ${name}`, async () => {
    const bench = powBench();
    const headers = await bench.solved();
    const other = { ...facts, ...change };
    assertEquals(await bench.verifySolution(headers, other, difficulty), "other-request");
    // It was not used up by the attempt.
    assertEquals(await bench.verifySolution(headers, facts, difficulty), null);
  });
}

Deno.test("no user is not the user named null, and a lone surrogate is not its replacement", () => {
  const bench = powBench();
  const ids = [null, "null", `"null"`, "", "\ud800", "\ufffd", `\\ud800`, "\udfff"];
  for (const issuedTo of ids) {
    const token = bench.token({ ...facts, userId: issuedTo }, 0);
    for (const userId of ids) {
      const refusal = bench.checkSolution(solutionHeaders(token, "a"), { ...facts, userId }, 0);
      assertEquals(refusal === "other-request", issuedTo !== userId);
    }
  }
});

Deno.test("a request of any length has a fingerprint of its own", () => {
  const bench = powBench();
  for (const length of [1_000, 4_000, 5_000, 100_000]) {
    const long = { ...facts, query: "é".repeat(length) };
    const headers = solutionHeaders(bench.token(long, 0), "a");
    assertEquals(typeof bench.checkSolution(headers, long, 0), "object");
    const other = { ...long, query: `${"é".repeat(length - 1)}e` };
    assertEquals(bench.checkSolution(headers, other, 0), "other-request");
  }
});

Deno.test("a challenge is good until it expires, give or take five seconds between two clocks", async () => {
  for (
    const [laterMs, refusal] of [
      [-5_000, null],
      [-5_001, "malformed"],
      [120_000, null],
      [125_000, null],
      [125_001, "expired"],
      [300_000, "expired"],
    ] as const
  ) {
    const bench = powBench();
    const headers = await bench.solved();
    bench.now += laterMs;
    assertEquals(await bench.verifySolution(headers, facts, difficulty), refusal, `${laterMs} ms`);
  }
});

Deno.test("a used challenge is not taken after its claim has gone from memory and store", async () => {
  const bench = powBench();
  const headers = await bench.solved();
  assertEquals(await bench.verifySolution(headers, facts, difficulty), null);
  for (const laterMs of [120_000, 125_000, 125_001, 200_000, 10_000_000]) {
    bench.now = 1_800_000_000_000 + laterMs;
    assertNotEquals(await bench.verifySolution(headers, facts, difficulty), null);
  }
});

Deno.test("the difficulty is that of the payload, and it must suffice now", async () => {
  const bench = powBench();
  const headers = await bench.solved(facts, 8);
  headers.set(powHeaders.difficulty, "32");
  assertEquals(await bench.verifySolution(headers, facts, 9), "too-easy");
  assertEquals(await bench.verifySolution(headers, facts, 8), null);
  const harder = await bench.solved(facts, 10);
  assertEquals(await bench.verifySolution(harder, facts, 1), null);
});

Deno.test("a nonce that lacks one bit is refused", () => {
  const bench = powBench();
  let exact = 0;
  for (let i = 0; i < 2_000; i++) {
    const token = bench.token(facts, 5);
    const zeros = zeroBitsOf(token, "n");
    const refusal = bench.checkSolution(solutionHeaders(token, "n"), facts, 5);
    assertEquals(refusal === "unsolved", zeros < 5);
    if (zeros === 4 || zeros === 5) exact++;
  }
  assert(exact > 20, "both sides of the boundary came up");
});

Deno.test("a challenge has one use, not one for each nonce that solves it", async () => {
  const bench = powBench();
  const token = bench.token(facts, 2);
  const nonces = [..."abcdefghijklmnopqrstuvwxyz"].filter((nonce) => zeroBitsOf(token, nonce) >= 2);
  assert(nonces.length > 1);
  const verdicts = await Promise.all(
    nonces.map((nonce) => bench.verifySolution(solutionHeaders(token, nonce), facts, 2)),
  );
  assertEquals(verdicts.filter((refusal) => refusal === null).length, 1);
});

const nonces: Readonly<Record<string, string>> = {
  "empty": "",
  "longer than 64 letters": "a".repeat(65),
  "of ten million letters": "a".repeat(10_000_000),
  "with a colon": "a:b",
  "of two headers": "a, b",
  "outside of ASCII": "é",
};

for (const [name, nonce] of Object.entries(nonces)) {
  Deno.test(`a nonce ${name} is malformed`, () => {
    const bench = powBench();
    const headers = solutionHeaders(bench.token(facts, 0), nonce);
    assertEquals(bench.checkSolution(headers, facts, 0), "malformed");
  });
}

Deno.test("half a solution is malformed, and none at all is absent", () => {
  const bench = powBench();
  const token = bench.token();
  const check = (headers: Headers) => bench.checkSolution(headers, facts, difficulty);
  assertEquals(check(new Headers({ [powHeaders.challenge]: token })), "malformed");
  assertEquals(check(new Headers({ [powHeaders.nonce]: "a" })), "malformed");
  assertEquals(check(new Headers()), "absent");
});

Deno.test("secrets rotate: the first signs, all verify, and one that is removed does not", async () => {
  const [old, current] = ["the old secret of the tests", "the new secret of the tests"];
  const before = powBench({ secrets: [old] });
  const between = powBench({ secrets: [current, old] });
  const after = powBench({ secrets: [current] });
  const headers = await before.solved();
  assertEquals(await after.verifySolution(headers, facts, difficulty), "forged");
  assertEquals(await between.verifySolution(headers, facts, difficulty), null);
  const newer = await between.solved();
  assertEquals(await before.verifySolution(newer, facts, difficulty), "forged");
  assertEquals(await after.verifySolution(newer, facts, difficulty), null);
});

Deno.test("a token that the secret signed is still refused for a version or difficulty we do not make", () => {
  const bench = powBench();
  const payload = Buffer.from(bench.token(facts, 0).split(".")[0] ?? "", "base64url");
  const changes = [[0, 0], [0, 2], [1, 33], [1, 255], [2, 255]] as const;
  for (const [place, value] of changes) {
    const changed = Buffer.from(payload);
    changed[place] = value;
    const code = createHmac("sha256", secret).update(changed).digest("base64url");
    const headers = solutionHeaders(`${changed.toString("base64url")}.${code}`, "a");
    assertEquals(bench.checkSolution(headers, facts, 0), "malformed", `${place}: ${value}`);
  }
});

Deno.test("all refusals look alike, and an observation names the reason", async () => {
  const bench = powBench();
  const good = await bench.solved();
  await bench.requireSolution(good, facts, difficulty);
  const refused = {
    absent: new Headers(),
    malformed: withToken(good, (token) => token.slice(1)),
    forged: withToken(await bench.solved(), (token) => `${token.slice(0, -2)}AA`),
    replayed: good,
    "too-easy": await bench.solved(facts, 1),
    unsolved: solutionHeaders(bench.token(facts, 32), "a"),
  };
  for (const [reason, headers] of Object.entries(refused)) {
    const seen = bench.observations.length;
    const problem = await assertRejects(
      () => bench.requireSolution(headers, facts, difficulty),
      Problem,
    );
    assertEquals(problem.toBody(), {
      type: "/__service/problems/proof-of-work-required",
      title: "Proof of work is required",
      status: 428,
      detail: "This request needs proof of work",
      code: "PROOF_OF_WORK_REQUIRED",
    });
    const token = problem.headers[powHeaders.challenge] ?? "";
    assertEquals(Object.keys(problem.headers), Object.keys(bench.issueChallenge(facts, 8)));
    const observed = bench.observations.slice(seen);
    const expected = reason === "absent" ? [] : [{ kind: "proof_of_work_refused", reason }];
    assertEquals(observed as readonly unknown[], expected);
    // The fresh challenge is one for this request.
    const nonce = await solve({ token, difficulty });
    await bench.requireSolution(solutionHeaders(token, nonce), facts, difficulty);
  }
});

function zeroBitsOf(token: string, nonce: string): number {
  return Math.clz32(createHash("sha256").update(`${token}:${nonce}`).digest().readUInt32BE(0));
}
