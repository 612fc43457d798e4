import { assert, assertEquals, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import type { SolveOptions } from "../../../src/client/pow/find_nonce.ts";
import { solve } from "../../../src/client/pow/solve.ts";

Deno.test("solve finds a nonce for every difficulty up to 19", async () => {
  for (let difficulty = 0; difficulty <= 19; difficulty++) {
    await assertIsSolved(difficulty, {});
  }
});

Deno.test("a challenge that cannot be solved in time is refused at once", async () => {
  for (const difficulty of [33, -1, 1.5, NaN, Infinity]) {
    await assertRejects(() => solve({ token: "token", difficulty }), RangeError);
  }
});

Deno.test("solve ends with the signal's reason, before and while it searches", async () => {
  const reason = new Error("enough");
  const impossible = { token: "token", difficulty: 32 };
  await assertRejects(
    () => solve(impossible, { signal: AbortSignal.abort(reason) }),
    Error,
    "enough",
  );
  for (const workers of [0, 1]) {
    const stopping = new AbortController();
    const searching = solve(impossible, { signal: stopping.signal, workers });
    // Macrotasks run during the search: it yields to others.
    for (let i = 0; i < 20; i++) await turn();
    stopping.abort(reason);
    await assertRejects(() => searching, Error, "enough");
  }
});

Deno.test("solve works where WebAssembly is forbidden", async () => {
  const compile = WebAssembly.compile;
  WebAssembly.compile = () => Promise.reject(new WebAssembly.CompileError("forbidden"));
  try {
    await assertIsSolved(19, {});
  } finally {
    WebAssembly.compile = compile;
  }
});

Deno.test("solve works where workers cannot be made", async () => {
  const tried: string[] = [];
  await assertIsSolved(19, {
    workers: 3,
    makeWorker: (script) => {
      tried.push(script);
      throw new Error("forbidden");
    },
  });
  assertEquals(tried.length, 1);
});

const badScripts = {
  "fails when it starts": () => `throw new Error("broken")`,
  "fails at its first order": () => `onmessage = () => { throw new Error("broken"); }`,
  "never says a word": () => `onmessage = () => {}`,
  "fails in the middle of its work": (script: string) =>
    script.replace("memory.set(input);", `throw new Error("broken");`),
  "gives a wrong nonce": (script: string) =>
    script.replace("const index = scan", "const index = 5; scan"),
};

for (const [name, spoil] of Object.entries(badScripts)) {
  Deno.test(`one worker that ${name} does not end the search, nor do all of them`, async () => {
    for (const spoiled of [1, 3]) {
      let made = 0;
      await assertIsSolved(19, {
        workers: 3,
        makeWorker: (script) => startWorker(made++ < spoiled ? spoil(script) : script),
      });
      assertEquals(made, 3);
    }
  });
}

async function assertIsSolved(difficulty: number, options: SolveOptions): Promise<void> {
  const token = crypto.randomUUID();
  const nonce = await solve({ token, difficulty }, options);
  assert(zeroBitsOf(token, nonce) >= difficulty);
}

function startWorker(script: string): Worker {
  return new Worker(`data:text/javascript,${encodeURIComponent(script)}`, { type: "module" });
}

function zeroBitsOf(token: string, nonce: string): number {
  return Math.clz32(createHash("sha256").update(`${token}:${nonce}`).digest().readUInt32BE(0));
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
