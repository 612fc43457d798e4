/**
 * The cost of metrics: `deno task bench:observability [seconds per turn] [turns] [base] [side]`.
 * Compares a service with `observability` and a service without it, in alternating turns. With
 * `observed logged`, compares a service with the log of requests and a service with metrics only. The result is the
 * ratio of medians. Even two equal services differ by 2 %, so many short turns are more exact than
 * a few long turns.
 */
import { median } from "./figures.ts";
import { measure } from "./load.ts";
import { createRequest, getRequest, listRequest } from "./note_requests.ts";
import { startServer } from "./start_server.ts";

const seconds = Number(Deno.args[0] ?? 1);
const turns = Number(Deno.args[1] ?? 15);
const target = 0.95;
const [base = "ours", other = "observed"] = Deno.args.slice(2);

const scenarios = [
  { name: "get by id", status: 200, request: getRequest },
  { name: "list of 20", status: 200, request: listRequest },
  { name: "create", status: 201, request: createRequest },
] as const;

await using servers = new AsyncDisposableStack();
const started = [
  servers.use(await startServer(base)),
  servers.use(await startServer(other)),
] as const;
console.log(
  `${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${turns} × ${seconds} s`,
);
for (const { name, status, request } of scenarios) {
  const figures: readonly [number[], number[]] = [[], []];
  const costs: readonly [number[], number[]] = [[], []];
  for (let turn = -1; turn < turns; turn++) {
    // The order alternates, so that a drift of the machine affects both sides equally.
    for (const side of turn % 2 === 0 ? [0, 1] as const : [1, 0] as const) {
      const { port, cpuSeconds } = started[side];
      const before = cpuSeconds() ?? 0;
      const durationMs = turn < 0 ? 1_000 : seconds * 1_000;
      const rate = await measure({ port, connections: 32, durationMs, status, request });
      if (turn < 0) continue;
      figures[side].push(rate);
      costs[side].push(((cpuSeconds() ?? 0) - before) / (rate * durationMs) * 1e9);
    }
  }
  const [baseRate, rate] = [median(figures[0]), median(figures[1])];
  const [baseCost, cost] = [median(costs[0]), median(costs[1])];
  const ratio = rate / baseRate;
  console.log(
    `${name.padEnd(10)} ${base} ${Math.round(baseRate)}/s, ${other} ${Math.round(rate)}/s, ` +
      `ratio ${ratio.toFixed(3)} (at least ${target}: ${ratio >= target ? "yes" : "NO"}); ` +
      `processor time ${baseCost.toFixed(1)} and ${cost.toFixed(1)} µs, ` +
      `ratio ${(baseCost / cost).toFixed(3)}`,
  );
}
