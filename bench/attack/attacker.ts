/**
 * An attacker in a separate process: `attacker.ts PORT SECONDS CONNECTIONS NAME`. Prints `ready` at
 * the start, and finally the number of each result as JSON.
 */
import { type Attack, attacks, type Sent } from "./attacks.ts";

/** The number of responses with each status; `closed` or `refused` for connections without one. */
export type Got = Readonly<Record<string, number>>;

const changeEveryMs = 200;
const encoder = new TextEncoder();
const got = new Map<string, number>();
let turns = 0;

if (import.meta.main) {
  const [port, seconds, connections, name] = Deno.args;
  const attack = attacks.find((one) => one.name === name);
  if (attack === undefined) throw new Error(`There is no attack "${name}"`);
  console.log("ready");
  setTimeout(() => {
    console.log(JSON.stringify(Object.fromEntries(got)));
    Deno.exit(0);
  }, Number(seconds) * 1_000);
  for (let at = 0; at < Number(connections); at++) void run(attack, Number(port));
  if (attack.change !== undefined) void change(attack.change, Number(port));
}

function count(what: string): void {
  got.set(what, (got.get(what) ?? 0) + 1);
}

/** Sends requests on one connection until the process ends. */
async function run(attack: Attack, port: number): Promise<never> {
  const { use, request } = attack;
  for (;;) {
    try {
      if (use === "reads") count(await ask(request(turns++), port));
      else if (use === "leaves") await leave(request(turns++), port);
      else if (use === "trickles") await trickle(request(turns++), port);
      else await hold(use, request(turns++), port);
    } catch (error) {
      count(error instanceof Deno.errors.ConnectionRefused ? "refused" : "closed");
      await pause(50);
    }
  }
}

async function change(request: (turn: number) => Sent, port: number): Promise<never> {
  for (let turn = 0;; turn++) {
    await pause(changeEveryMs);
    count(`change ${await ask(request(turn), port).catch(() => "failed")}`);
  }
}

async function ask({ method = "GET", path, headers = {}, body }: Sent, port: number) {
  const url = `http://127.0.0.1:${port}${path}`;
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  if (answer.body !== null) { for await (const _ of answer.body); }
  return String(answer.status);
}

/** Sends a request and disconnects without reading the response. */
async function leave({ path }: Sent, port: number) {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(encoder.encode(`${headOf(path)}\r\n`));
  await pause(5);
  count("left");
}

/** Holds a connection until the service closes or refuses it. */
async function hold(
  use: Exclude<Attack["use"], "reads" | "leaves" | "trickles">,
  { path }: Sent,
  port: number,
) {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = headOf(path);
  await connection.write(encoder.encode(use === "half-sent" ? head : `${head}\r\n`));
  if (use === "half-sent") count("open");
  // Reads only `HTTP/1.1 200`. The kernel receives more bytes only while its buffers have room.
  const first = new Uint8Array(12);
  const length = await connection.read(first);
  if (length === null) return count("closed");
  const status = new TextDecoder().decode(first.subarray(9, length));
  count(status);
  if (status !== "200") return await pause(5);
  if (use === "never reads") return await new Promise<never>(() => {});
  const buffer = new Uint8Array(64 * 1024);
  while (await connection.read(buffer) !== null);
  count("ended");
}

/** Sends a body slowly. Rejects when the service closes the connection. */
async function trickle({ method, path, headers = {} }: Sent, port: number) {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  connection.setNoDelay(true);
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = `${method} ${path} HTTP/1.1\r\nhost: bench\r\n${fields}`;
  await connection.write(encoder.encode(`${head}transfer-encoding: chunked\r\n\r\n`));
  count("open");
  const chunk = encoder.encode("1\r\n[\r\n");
  for (;;) {
    await connection.write(chunk);
    await pause(0);
  }
}

/** Returns the request head without the empty line at its end. */
function headOf(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: bench\r\n`;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
