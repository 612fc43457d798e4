/**
 * The cost of identifying the caller: `deno task bench:identity [seconds per turn] [turns]`.
 * Compares reads by key with a JSON Web Token, with a session cookie, and without authenticators,
 * in alternating turns. Also measures one identification alone.
 */
import { sign } from "@hono/hono/jwt";
import { createCredentials } from "../src/auth/authenticator.ts";
import { parseUser } from "../src/auth/authorize.ts";
import { jwtAuth } from "../exports/auth.ts";
import { systemRuntime } from "../src/runtime/system_runtime.ts";
import type { AuthenticatorDependencies } from "../src/identity/authenticator_dependencies.ts";
import { median } from "./figures.ts";
import { measure } from "./load.ts";
import { type BenchServer, startServer } from "./start_server.ts";

const seconds = Number(Deno.args[0] ?? 3);
const turns = Number(Deno.args[1] ?? 7);
const sides = ["without", "token", "session"] as const;
type Side = typeof sides[number];

const exp = Math.floor(Date.now() / 1_000) + 3_600;
const claims = { sub: "ada", email: "ada@example.com", iss: "https://id.example.com/", aud: "api" };
const secret = "a secret for the tokens of the benchmark";
const token = await sign({ ...claims, exp }, secret, "HS256");

await using servers = new AsyncDisposableStack();
const bare = servers.use(await startServer("open"));
const identified = servers.use(await startServer("identified"));
const session = await sessionOf(identified);
const requests: Record<Side, { readonly server: BenchServer; readonly header: string }> = {
  without: { server: bare, header: "" },
  token: { server: identified, header: `authorization: Bearer ${token}\r\n` },
  session: { server: identified, header: `cookie: session=${session}\r\n` },
};

console.log(
  `${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${turns} × ${seconds} s`,
);
const figures: Record<Side, number[]> = { without: [], token: [], session: [] };
const costs: Record<Side, number[]> = { without: [], token: [], session: [] };
for (let turn = -1; turn < turns; turn++) {
  // The order alternates, so that a drift of the machine affects all sides equally.
  for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
    const { server, header } = requests[side];
    const before = server.cpuSeconds() ?? 0;
    const rate = await measure({
      port: server.port,
      connections: 32,
      durationMs: turn < 0 ? 1_000 : seconds * 1_000,
      status: 200,
      request: (n) =>
        `GET /api/notes/${1 + n * 7919 % 10_000} HTTP/1.1\r\nhost: localhost\r\n${header}\r\n`,
    });
    if (turn < 0) continue;
    figures[side].push(rate);
    costs[side].push(((server.cpuSeconds() ?? 0) - before) / (rate * seconds) * 1e6);
  }
}
for (const side of sides.slice(1)) {
  const [rate, base] = [median(figures[side]), median(figures.without)];
  const [cost, baseCost] = [median(costs[side]), median(costs.without)];
  const ratio = rate / base;
  console.log(
    `get by id      without ${Math.round(base)}/s, with a ${side} ${Math.round(rate)}/s, ` +
      `ratio ${ratio.toFixed(2)} (at least 0.9: ${ratio >= 0.9 ? "yes" : "NO"}); ` +
      `processor time ${baseCost.toFixed(1)} and ${cost.toFixed(1)} µs, ` +
      `ratio ${(baseCost / cost).toFixed(2)}`,
  );
}
await measureIdentification();

async function sessionOf({ port }: BenchServer): Promise<string> {
  const user = { email: "ada@example.com", password: "a password of many words" };
  const answer = await fetch(`http://127.0.0.1:${port}/api/auth/signup`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...user, transport: "bearer" }),
  });
  return (await answer.json()).token;
}

/** Measures only the identification by a known token, without the rest of a request. */
async function measureIdentification(): Promise<void> {
  const runtime = systemRuntime(() => {});
  // The cast is safe: only authenticators with a store need the other members.
  const authenticator = await jwtAuth({ secret }).open(
    { runtime } as AuthenticatorDependencies as never,
  );
  const credentials = createCredentials([authenticator], parseUser);
  const request = new Request("http://localhost/", {
    headers: { authorization: `Bearer ${token}` },
  });
  await credentials.identify(request);
  const rounds = 1_000_000;
  const start = performance.now();
  for (let n = 0; n < rounds; n++) credentials.identify(request);
  const nanoseconds = (performance.now() - start) / rounds * 1e6;
  console.log(
    `identification ${Math.round(nanoseconds)} ns for a token that is known ` +
      `(at most 1,000: ${nanoseconds <= 1_000 ? "yes" : "NO"})`,
  );
}
